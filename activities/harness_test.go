package activities_test

import (
	"cmp"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/fixture"
	"ostinato.dev/ostinato/internal/fixture/asking"
	"ostinato.dev/ostinato/internal/job"
	k8sfake "ostinato.dev/ostinato/internal/k8s/fake"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

var (
	jobRef     = protocol.ObjectReference{Namespace: namespace, Name: jobName, UID: jobUID}
	cronJobRef = protocol.ObjectReference{Namespace: namespace, Name: "hello", UID: "cron-uid"}
	scheduled  = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
)

// stage is a fake cluster with the activities on it.
type stage struct {
	t          *testing.T
	kubernetes *fake.Clientset
	cronJobs   *k8sfake.CronJobs
	events     *record.FakeRecorder
	registry   *prometheus.Registry
	options    activities.Options
	activities *activities.Activities
	// by is the workflow that asks: the object's own, unless a test says otherwise.
	by func(request any) asking.Workflow
}

type option func(*activities.Options)

func takingOver(options *activities.Options) { options.TakeOverJobs = true }

func withClock(clock clock.WithTicker) option {
	return func(options *activities.Options) { options.Clock = clock }
}

// newStage returns a stage with the objects on it. The fake API server gives
// created objects a UID and a creation time, as the real one does.
func newStage(t *testing.T, objects []runtime.Object, cronJobs []*ostinatov1.CronJob, with ...option) *stage {
	t.Helper()
	s := &stage{
		t:          t,
		kubernetes: fake.NewClientset(objects...),
		cronJobs:   k8sfake.NewCronJobs(cronJobs...),
		events:     record.NewFakeRecorder(1000),
		registry:   prometheus.NewRegistry(),
		by:         asking.Own,
	}
	k8sfake.Identify(s.kubernetes, scheduled.Add(3*time.Second))
	// The fake API server answers a JSON patch whose test fails with an error of no kind.
	patch := clienttesting.ObjectReaction(s.kubernetes.Tracker())
	s.kubernetes.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		handled, object, err := patch(action)
		if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			err = apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", corev1.Resource("pods"), "", err.Error(), 0, false)
		}
		return handled, object, err
	})
	s.options = activities.Options{
		Kubernetes: s.kubernetes, CronJobs: s.cronJobs, Namespace: "temporal-namespace",
		Events:  activities.Recorders{CronJobs: s.events, Jobs: s.events},
		Metrics: activities.NewMetrics(s.registry), AcceptSignals: steering.All(),
	}
	for _, apply := range with {
		apply(&s.options)
	}
	s.activities = activities.New(s.options)
	return s
}

func (s *stage) environment() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Minute)
	environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by)}})
	s.activities.RegisterControl(environment)
	s.activities.RegisterBulk(environment)
	s.activities.RegisterWatch(environment)
	return environment
}

// run executes an activity by its name, as a worker would. A request without a digest is
// one that was planned for the object as it is.
func run[Result any](s *stage, activity string, request any) (Result, error) {
	return runIn[Result](s, s.environment(), activity, request)
}

func (s *stage) planned(request any) any {
	digest := ""
	if owner, err := s.kubernetes.Tracker().Get(batchv1.SchemeGroupVersion.WithResource("jobs"), namespace, jobName); err == nil {
		digest = job.SpecOf(owner.(*batchv1.Job)).Digest()
	}
	switch request := request.(type) {
	case protocol.JobRequest:
		request.Digest = cmp.Or(request.Digest, digest)
		return request
	case protocol.TerminatePodsRequest:
		request.Digest = cmp.Or(request.Digest, digest)
		return request
	case protocol.StartRunRequest:
		request.Digest = cmp.Or(request.Digest, s.digestOf(request.CronJob))
		return request
	case protocol.WriteStatusRequest:
		request.Digest = cmp.Or(request.Digest, s.digestOf(request.CronJob))
		return request
	case protocol.FindRunsRequest:
		request.Digest = cmp.Or(request.Digest, s.digestOf(request.CronJob))
		return request
	}
	return request
}

// digestOf returns the digest of a stored CronJob's spec; empty where there is none.
func (s *stage) digestOf(reference protocol.ObjectReference) string {
	if cronJob := s.cronJobs.Stored(reference.Namespace, reference.Name); cronJob != nil {
		return schedule.SpecOf(cronJob).Digest()
	}
	return ""
}

// runIn is run in an environment that was prepared.
func runIn[Result any](s *stage, environment *testsuite.TestActivityEnvironment, activity string, request any) (result Result, err error) {
	value, err := environment.ExecuteActivity(activity, s.planned(request))
	if err != nil {
		return result, err
	}
	return result, value.Get(&result)
}

// must is run for activities that are to succeed.
func must[Result any](s *stage, activity string, request any) Result {
	s.t.Helper()
	result, err := run[Result](s, activity, request)
	if err != nil {
		s.t.Fatalf("%s: %v", activity, err)
	}
	return result
}

// recorded drains the Events, in the form "Type Reason message".
func (s *stage) recorded() []string {
	var events []string
	for {
		select {
		case event := <-s.events.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

func (s *stage) pod(name string) *corev1.Pod {
	s.t.Helper()
	return fixture.StoredPod(s.t, s.kubernetes, name)
}

func (s *stage) tracked(name string) bool { return claim.Tracked(s.pod(name)) }

func (s *stage) job(name string) *batchv1.Job {
	s.t.Helper()
	job, err := s.kubernetes.BatchV1().Jobs(namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatalf("get Job %s: %v", name, err)
	}
	return job
}

// refuse makes the fake API server answer a request with an error, times times.
func (s *stage) refuse(verb, resource string, times int, err error) {
	var mutex sync.Mutex
	s.kubernetes.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if times == 0 {
			return false, nil, nil
		}
		times--
		return true, nil, err
	})
}

// writes lists the changing requests as "verb resource[/subresource] name".
func (s *stage) writes() []string {
	var writes []string
	for _, action := range append(s.kubernetes.Actions(), s.cronJobs.Actions()...) {
		resource := action.GetResource().Resource
		if action.GetSubresource() != "" {
			resource += "/" + action.GetSubresource()
		}
		switch action := action.(type) {
		case clienttesting.CreateAction:
			// An update is one too.
			writes = append(writes, action.GetVerb()+" "+resource+" "+action.GetObject().(metav1.Object).GetName())
		case clienttesting.PatchAction:
			writes = append(writes, "patch "+resource+" "+action.GetName())
		case clienttesting.DeleteAction:
			writes = append(writes, "delete "+resource+" "+action.GetName())
		}
	}
	return writes
}

func (s *stage) metric(name string, values ...string) float64 {
	s.t.Helper()
	return fixture.Metric(s.t, s.registry, name, values...)
}
