package activities_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// leaveUnanswered makes the fake API server carry out a request and answer it with the error.
func (s *stage) leaveUnanswered(verb, resource string, err error) {
	chain := slices.Clone(s.kubernetes.ReactionChain)
	var once sync.Once
	s.kubernetes.PrependReactor(verb, resource, func(action clienttesting.Action) (handled bool, _ runtime.Object, _ error) {
		once.Do(func() {
			handled = true
			for _, reactor := range chain {
				if !reactor.Handles(action) {
					continue
				}
				if done, _, failed := reactor.React(action); done {
					if failed != nil {
						s.t.Errorf("%s %s: %v", verb, resource, failed)
					}
					return
				}
			}
		})
		return handled, nil, err
	})
}

// TestEventsOfAWriteThatWasNotAnswered: what an attempt finds done is told of by whoever did
// it, unless that is this process and it has never learned what came of it.
func TestEventsOfAWriteThatWasNotAnswered(t *testing.T) {
	completed := &batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached"), condition(batchv1.JobComplete, "CompletionsReached"),
	}}
	prune := protocol.CronJobRequest{CronJob: cronJobRef, Deletes: []schedule.Delete{{Name: "old", UID: "old-uid"}}}
	replace := protocol.CronJobRequest{CronJob: cronJobRef, Deletes: []schedule.Delete{{Name: "running", UID: "running-uid", Replaced: true}}}
	tests := map[string]struct {
		objects        []runtime.Object
		cronJob        *ostinatov1.CronJob
		verb, resource string
		activity       string
		request        any
		want           string
	}{
		"create of a Pod": {
			objects: []runtime.Object{helloJob()}, verb: "create", resource: "pods", activity: protocol.ReconcileJobActivity,
			request: protocol.JobRequest{Job: jobRef, Creates: creates(1)},
			want:    "Normal SuccessfulCreate Created pod: " + names.Pod(jobName, jobUID, 1),
		},
		"create of one of many Pods": {
			objects: []runtime.Object{helloJob()}, verb: "create", resource: "pods", activity: protocol.CreatePodsActivity,
			request: protocol.CreatePodsRequest{Job: jobRef, Creates: creates(1)},
			want:    "Normal SuccessfulCreate Created pod: " + names.Pod(jobName, jobUID, 1),
		},
		"delete of a Pod": {
			objects: []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod}, verb: "delete", resource: "pods",
			activity: protocol.ReconcileJobActivity, request: protocol.JobRequest{Job: jobRef, Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}},
			want: "Normal SuccessfulDelete Deleted pod: a",
		},
		"status of a Job": {
			objects: []runtime.Object{helloJob()}, verb: "update", resource: "jobs/status", activity: protocol.ReconcileJobActivity,
			request: protocol.JobRequest{Job: jobRef, Status: completed, Events: []event.Event{event.Normal("Completed", "Job completed")}},
			want:    "Normal Completed Job completed",
		},
		"create of a Job": {
			cronJob: helloCronJob(), verb: "create", resource: "jobs", activity: protocol.ReconcileCronJobActivity,
			request: protocol.CronJobRequest{CronJob: cronJobRef, Start: start()},
			want:    "Normal SuccessfulCreate Created job " + start().Name,
		},
		"delete of a Job, for the history limit": {
			objects: []runtime.Object{finishedCronJobsJob("old", batchv1.JobComplete)}, cronJob: helloCronJob(),
			verb: "delete", resource: "jobs", activity: protocol.ReconcileCronJobActivity, request: prune,
			want: "Normal SuccessfulDelete Deleted job old",
		},
		"delete of a Job, which is replaced": {
			objects: []runtime.Object{cronJobsJob("running")}, cronJob: concurrent(batchv1.ReplaceConcurrent),
			verb: "delete", resource: "jobs", activity: protocol.ReconcileCronJobActivity, request: replace,
			want: "Normal SuccessfulDelete Deleted job running",
		},
	}
	failures := map[string]error{
		"time was up":       context.DeadlineExceeded,
		"connection lost":   errors.New("connection lost"),
		"time was up there": apierrors.NewTimeoutError("request did not complete within the allotted time", 0),
		"etcd did not say":  &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: "etcdserver: request timed out"}},
	}
	for name, test := range tests {
		for why, failure := range failures {
			play := func(t *testing.T, fail func(s *stage, verb, resource string, err error)) {
				t.Helper()
				var cronJobs []*ostinatov1.CronJob
				if test.cronJob != nil {
					cronJobs = append(cronJobs, test.cronJob)
				}
				s := newStage(t, test.objects, cronJobs)
				fail(s, test.verb, test.resource, failure)
				var events []string
				for range 3 {
					if _, err := s.environment().ExecuteActivity(test.activity, s.planned(test.request)); err != nil {
						t.Log(err)
					}
					events = append(events, s.recorded()...)
				}
				events = slices.DeleteFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning Failed") })
				if !slices.Equal(events, []string{test.want}) {
					t.Errorf("events %q, want %q", events, test.want)
				}
			}
			t.Run(name+"/"+why+"/carried out", func(t *testing.T) { play(t, (*stage).leaveUnanswered) })
			t.Run(name+"/"+why+"/not carried out", func(t *testing.T) {
				play(t, func(s *stage, verb, resource string, err error) { s.refuse(verb, resource, 1, err) })
			})
		}
	}
}

// TestWhatAnotherDeletedIsNotToldOf: nor what a request makes up about a delete that was not
// answered.
func TestWhatAnotherDeletedIsNotToldOf(t *testing.T) {
	webhook := apierrors.NewInternalError(errors.New("failed calling webhook"))
	pod := func(name string) protocol.JobRequest {
		return protocol.JobRequest{Job: jobRef, Deletes: []job.Delete{{Name: name, UID: "a-uid"}}}
	}
	run := func(name string) protocol.CronJobRequest {
		return protocol.CronJobRequest{CronJob: cronJobRef, Deletes: []schedule.Delete{{Name: name, UID: "a-uid"}}}
	}
	tests := map[string]struct {
		resource, activity string
		err                error
		first, second      any
	}{
		"a Pod that a webhook kept": {"pods", protocol.ReconcileJobActivity, webhook, pod("a"), pod("a")},
		"a Job that a webhook kept": {"jobs", protocol.ReconcileCronJobActivity, webhook, run("a"), run("a")},
		"a Pod by a made-up name":   {"pods", protocol.ReconcileJobActivity, context.DeadlineExceeded, pod("a"), pod("made-up")},
		"a Job by a made-up name":   {"jobs", protocol.ReconcileCronJobActivity, context.DeadlineExceeded, run("a"), run("made-up")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod, finishedCronJobsJob("a", batchv1.JobComplete)}
			s := newStage(t, objects, []*ostinatov1.CronJob{helloCronJob()})
			s.refuse("delete", test.resource, 1, test.err)
			if _, err := s.environment().ExecuteActivity(test.activity, s.planned(test.first)); err != nil {
				t.Log(err)
			}
			if err := s.kubernetes.Tracker().Delete(resourceOf(test.resource), namespace, "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.environment().ExecuteActivity(test.activity, s.planned(test.second)); err != nil {
				t.Error(err)
			}
			if events := s.recorded(); slices.ContainsFunc(events, func(event string) bool { return strings.Contains(event, "SuccessfulDelete") }) {
				t.Errorf("events %q", events)
			}
		})
	}
}

func resourceOf(resource string) schema.GroupVersionResource {
	if resource == "jobs" {
		return batchv1.SchemeGroupVersion.WithResource(resource)
	}
	return corev1.SchemeGroupVersion.WithResource(resource)
}

func TestAStatusThatWasNotAnsweredIsCountedOnce(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	s.leaveUnanswered("update", "jobs/status", context.DeadlineExceeded)
	request := protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached"), condition(batchv1.JobComplete, "CompletionsReached"),
	}}}
	if _, err := run[protocol.JobResult](s, protocol.ReconcileJobActivity, request); err == nil {
		t.Error("no error of a status that was not answered")
	}
	for range 2 {
		must[protocol.JobResult](s, protocol.ReconcileJobActivity, request)
	}
	if count := s.metric("job_controller_job_pods_finished_total", "NonIndexed", "succeeded"); count != 1 {
		t.Errorf("%v finished Pods counted", count)
	}
	if count := s.metric("job_controller_jobs_finished_total", "NonIndexed", "CompletionsReached", "succeeded"); count != 1 {
		t.Errorf("%v finished Jobs counted", count)
	}
}
