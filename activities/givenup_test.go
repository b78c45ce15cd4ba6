package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// writing is an attempt that writes to Pods, and the write that it begins with.
type writing struct {
	objects  []runtime.Object
	activity string
	request  any
	first    string
}

func writings() map[string]writing {
	running := func(owner *batchv1.Job) []runtime.Object { return objects(owner, helloPod("a", corev1.PodRunning)) }
	ended := objects(helloJob(), helloPod("a", corev1.PodSucceeded))
	return map[string]writing{
		"creates": {objects(helloJob()), protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(2)},
			"create pods " + names.Pod(jobName, jobUID, 1)},
		"a delete": {running(helloJob()), protocol.CarryOutActivity,
			protocol.JobRequest{Job: jobRef, Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}}, "delete pods a"},
		"a removal": {running(helloJob()), protocol.CarryOutActivity,
			protocol.JobRequest{Job: jobRef, Deletes: []job.Delete{{Name: "a", UID: "a-uid", Release: true}}}, "patch pods a"},
		"a release": {ended, protocol.CarryOutActivity,
			protocol.JobRequest{Job: jobRef, Releases: []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}}}, "patch pods a"},
		"a suspension": {running(suspendedJob()), protocol.TerminatePodsActivity,
			protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForSuspension}, "patch pods a"},
		"a verdict": {running(helloJob()), protocol.TerminatePodsActivity,
			protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForVerdict}, "delete pods a"},
		"an adoption": {objects(helloJob(), helloPod("a", corev1.PodRunning).Uncontrolled()), protocol.ListPodsActivity,
			protocol.ListPodsRequest{Job: jobRef}, "patch pods a"},
		"the Pods of a Job that is gone": {[]runtime.Object{helloPod("a", corev1.PodRunning).Pod}, protocol.ReleaseOrphansActivity,
			protocol.ReleaseOrphansRequest{Job: jobRef}, "patch pods a"},
	}
}

// attempt makes one attempt of an activity, which a context gives up.
func (s *stage) attempt(ctx context.Context, request any) (err error) {
	switch request := s.planned(request).(type) {
	case protocol.JobRequest:
		_, err = s.activities.CarryOut(ctx, request)
	case protocol.TerminatePodsRequest:
		_, err = s.activities.TerminatePods(ctx, request)
	case protocol.ListPodsRequest:
		_, err = s.activities.ListPods(ctx, request)
	case protocol.ReleaseOrphansRequest:
		_, err = s.activities.ReleaseOrphans(ctx, request)
	default:
		err = fmt.Errorf("no attempt of %T is known", request)
	}
	return err
}

// slowDown has the API server write when it may.
func (s *stage) slowDown() slowServer {
	api := slowServer{s.kubernetes, make(chan struct{}, 1000), make(chan struct{})}
	s.options.Kubernetes = api
	s.activities = activities.New(s.options)
	return api
}

// The next plan begins with what this attempt has done: nothing of it arrives later.
func TestAnAttemptThatIsGivenUpEndsWithTheAnswersToWhatItHasSent(t *testing.T) {
	for name, test := range writings() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, test.objects, nil)
				api := s.slowDown()
				ctx, giveUp := context.WithCancel(t.Context())
				over := false
				go func() {
					_ = s.attempt(ctx, test.request)
					over = true
				}()
				<-api.asked
				giveUp()
				time.Sleep(20 * time.Second)
				if over {
					t.Error("the attempt ended before its write had an answer")
				}
				close(api.may)
				synctest.Wait()
				if writes := s.writes(); !over || !slices.Equal(writes, []string{test.first}) {
					t.Errorf("over %v, writes %v, want %s alone", over, writes, test.first)
				}
			})
		})
	}
}

// An API server that never answers holds an attempt up no longer than it would work on a request.
func TestAWriteHasABoundOfItsOwn(t *testing.T) {
	for name, test := range writings() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, test.objects, nil)
				api := s.slowDown()
				defer close(api.may)
				ctx, giveUp := context.WithCancel(t.Context())
				go func() {
					<-api.asked
					giveUp()
				}()
				began := time.Now()
				err := s.attempt(ctx, test.request)
				if took := time.Since(began); took != 40*time.Second || err == nil {
					t.Errorf("over after %s: %v", took, err)
				}
			})
		})
	}
}

// A worker stood still, and Temporal has given the attempt to another one: what was planned may be over.
func TestAnAttemptThatTemporalHasGivenUpWritesNoPod(t *testing.T) {
	cases := writings()
	cases["a status"] = writing{objects(helloJob()), protocol.CarryOutActivity,
		protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Active: 1}}, "update jobs/status " + jobName}
	for name, test := range cases {
		for answer, writes := range map[error]bool{nil: true, errors.New("workflow execution already completed"): false} {
			t.Run(fmt.Sprintf("%s, %v", name, answer), func(t *testing.T) {
				s := newStage(t, test.objects, nil, func(o *activities.Options) { o.Heartbeats = &heartbeats{answer: answer} })
				_, err := run[any](s, test.activity, test.request)
				if wrote := s.writes(); slices.Contains(wrote, test.first) != writes || !writes && len(wrote) > 0 {
					t.Errorf("writes %v, error %v", wrote, err)
				}
			})
		}
	}
}

// An admission webhook may take half a minute: the attempt keeps the call for as long, and no other one begins beside it.
func TestAnAttemptThatIsCancelledKeepsItsCallUntilItsWritesHaveAnswers(t *testing.T) {
	const timeout, takes = 5 * time.Second, 30 * time.Second
	for name, test := range writings() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				reports := &cancelling{}
				s := newStage(t, test.objects, nil, func(o *activities.Options) { o.Heartbeats = reports })
				api := s.slowDown()
				go func() {
					<-api.asked
					reports.cancelled.Store(true)
					cancel()
					time.Sleep(takes)
					close(api.may)
				}()
				environment := s.environment()
				environment.SetWorkerOptions(worker.Options{
					BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by), &reporting{timeout: timeout}},
				})
				began := time.Now()
				_, err := runIn[any](s, environment, test.activity, test.request)
				if took := time.Since(began); took < takes || reports.count.Load() <= int32(takes/timeout) {
					t.Errorf("over after %s and %d reports: %v", took, reports.count.Load(), err)
				}
				if writes := s.writes(); !slices.Equal(writes, []string{test.first}) {
					t.Errorf("writes %v, want %s alone", writes, test.first)
				}
			})
		})
	}
}

// Each create takes as long as a webhook may: an attempt ends in time for the answers, and tells what it has made.
func TestAnAttemptEndsInTimeForItsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := helloJob()
		owner.Spec.Parallelism, owner.Spec.Completions = new(int32(500)), new(int32(500))
		s := newStage(t, objects(owner), nil, func(o *activities.Options) { o.Heartbeats = &cancelling{} })
		api := s.slowDown()
		go func() {
			for range api.asked {
				time.AfterFunc(30*time.Second, func() { api.may <- struct{}{} })
			}
		}()
		defer close(api.asked)
		environment := s.environment()
		environment.SetTestTimeout(time.Hour)
		environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by), &reporting{timeout: 10 * time.Second}}})
		began := time.Now()
		result, err := runIn[protocol.JobResult](s, environment, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(500)})
		if err != nil || result.Refused == nil || result.Refused.Reason != ledger.ServerError || len(result.Created) != len(s.writes()) {
			t.Errorf("after %s: %d created, %d sent, refused %v, error %v", time.Since(began), len(result.Created), len(s.writes()), result.Refused, err)
		}
		if took := time.Since(began); took > 10*time.Minute || len(result.Created) < 100 {
			t.Errorf("%d created in %s", len(result.Created), took)
		}
	})
}
