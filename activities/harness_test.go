package activities_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
	k8sfake "ostinato.dev/ostinato/internal/testing/fake"
	"ostinato.dev/ostinato/internal/testing/fixture"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
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
	// made says that requests are as they come: nothing is noted or named as counted for them.
	made bool
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
	if counted, ok := request.(protocol.JobRequest); ok {
		request = s.counting(counted)
	}
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
		if request.Termination == job.TerminateForVerdict && request.Status == nil && !s.made {
			request.Status, request.Verdict = s.decided(), verdictFor(batchv1.JobReasonBackoffLimitExceeded)
		}
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

// counting has a request count what its status says: the Pods that it releases, and others that have ended. Without a status the Job
// notes the released ones. A Job that succeeds by the status wants no more than that.
func (s *stage) counting(request protocol.JobRequest) protocol.JobRequest {
	resource := batchv1.SchemeGroupVersion.WithResource("jobs")
	stored, err := s.kubernetes.Tracker().Get(resource, namespace, jobName)
	if err != nil || s.made || len(request.Counted) > 0 {
		return request
	}
	owner := stored.(*batchv1.Job).DeepCopy()
	var uids []string
	succeeded, failed := -owner.Status.Succeeded, -owner.Status.Failed
	if request.Status != nil {
		succeeded, failed = succeeded+request.Status.Succeeded, failed+request.Status.Failed
	}
	count := func(name, uid string, fate job.Fate) {
		switch fate {
		case job.PodSucceeded:
			succeeded--
		case job.PodFailed:
			failed--
		}
		uids = append(uids, uid)
		request.Counted = append(request.Counted, job.Counted{Name: name, UID: uid, Fate: fate})
	}
	for _, release := range request.Releases {
		fate := job.PodUncounted
		pod, err := s.kubernetes.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), namespace, release.Name)
		if err != nil {
			uids = append(uids, release.UID)
			continue
		}
		if pod := pod.(*corev1.Pod); claim.Ended(pod) {
			fate = job.Fate(pod.Status.Phase)
		}
		count(release.Name, release.UID, fate)
	}
	succeeds := request.Status != nil && slices.ContainsFunc(request.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobSuccessCriteriaMet
	})
	if succeeds && owner.Spec.Completions != nil {
		owner.Spec.Completions = &request.Status.Succeeded
	}
	_, noted := owner.Annotations[names.CountedAnnotation]
	if delete(owner.Annotations, names.CountedAnnotation); request.Status == nil {
		metav1.SetMetaDataAnnotation(&owner.ObjectMeta, names.CountedAnnotation, strings.Join(uids, ","))
	}
	if succeeds || noted || request.Status == nil && len(uids) > 0 {
		if err := s.kubernetes.Tracker().Update(resource, owner, namespace); err != nil {
			s.t.Fatal(err)
		}
	}
	ended := func(fate job.Fate, index string) {
		pod := helloPod(fmt.Sprintf("counted-%d", rand.Int()), corev1.PodPhase(fate)).Released().Unseen().Annotated(batchv1.JobCompletionIndexAnnotation, index)
		if err := s.kubernetes.Tracker().Add(pod.Pod); err != nil {
			s.t.Fatal(err)
		}
		count(pod.Name, string(pod.UID), fate)
	}
	if request.Status != nil {
		for index := range int32(20) {
			if job.ParseIndexes(request.Status.CompletedIndexes).Contains(index) && !job.ParseIndexes(owner.Status.CompletedIndexes).Contains(index) {
				ended(job.PodSucceeded, strconv.Itoa(int(index)))
			}
			if job.ParseIndexes(ptr.Deref(request.Status.FailedIndexes, "")).Contains(index) {
				ended(job.PodFailed, strconv.Itoa(int(index)))
			}
		}
	}
	for succeeded > 0 || failed > 0 {
		if succeeded > 0 {
			ended(job.PodSucceeded, "")
		} else {
			ended(job.PodFailed, "")
		}
	}
	return request
}

// decided has the Job say that it fails, so that its Pods may be ended for that. It returns the status.
func (s *stage) decided() *batchv1.JobStatus {
	resource := batchv1.SchemeGroupVersion.WithResource("jobs")
	stored, err := s.kubernetes.Tracker().Get(resource, namespace, jobName)
	if err != nil {
		return &batchv1.JobStatus{}
	}
	owner := stored.(*batchv1.Job).DeepCopy()
	owner.Status.Conditions = append(owner.Status.Conditions, condition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded))
	if err := s.kubernetes.Tracker().Update(resource, owner, namespace); err != nil {
		s.t.Fatal(err)
	}
	return &owner.Status
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
