package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

var pods = schema.GroupResource{Resource: "pods"}

func creates(count int) []job.Create {
	var list []job.Create
	for attempt := range int64(count) {
		list = append(list, job.Create{Name: names.Pod(jobName, jobUID, attempt+1), Attempt: attempt + 1})
	}
	return list
}

func indexedCreate(index int32, attempt int64) job.Create {
	return job.Create{Name: names.IndexedPod(jobName, jobUID, index, attempt), Attempt: attempt, Index: &index}
}

func condition(kind batchv1.JobConditionType, reason string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason}
}

func TestFirstReconcileCreatesThePodAndWritesTheStatus(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	start := metav1.Now().Rfc3339Copy()
	request := protocol.JobRequest{Job: jobRef, Creates: creates(1), Status: &batchv1.JobStatus{StartTime: &start, Active: 1}}
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)

	name := names.Pod(jobName, jobUID, 1)
	if len(result.Created) != 1 || result.Created[0].Name != name || result.Created[0].UID != name+"-uid" {
		t.Errorf("created %+v", result.Created)
	}
	if want := []string{"create pods " + name, "update jobs/status " + jobName}; !slices.Equal(s.writes(), want) {
		t.Errorf("writes %v, want %v", s.writes(), want)
	}
	if stored := s.job(jobName); stored.Status.Active != 1 || !stored.Status.StartTime.Equal(&start) {
		t.Errorf("status %+v", stored.Status)
	}
	if want := []string{"Normal SuccessfulCreate Created pod: " + name}; !slices.Equal(s.recorded(), want) {
		t.Errorf("events differ from %v", want)
	}
}

func TestRepeatedReconcileFindsItsPodAndSaysNothing(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	request := protocol.JobRequest{Job: jobRef, Creates: creates(3), Status: &batchv1.JobStatus{Active: 3}}
	first := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	s.recorded()
	second := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	if !slices.Equal(first.Created, second.Created) || len(second.Created) != 3 {
		t.Errorf("created %v, then %v", first.Created, second.Created)
	}
	if events := s.recorded(); len(events) != 0 {
		t.Errorf("events of a repetition: %v", events)
	}
}

func TestLastReconcileWritesTheStatusAndThenReleases(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodSucceeded).Pod}, nil)
	status := &batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached"), condition(batchv1.JobComplete, "CompletionsReached"),
	}}
	request := protocol.JobRequest{
		Job: jobRef, Status: status, Releases: []job.Release{{Name: "a", UID: "a-uid"}, {Name: "gone", UID: "gone-uid"}},
		Events: []event.Event{event.Normal("Completed", "Job completed")},
	}
	for range 2 {
		must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	}
	if finalizers := s.pod("a").Finalizers; !slices.Equal(finalizers, []string{"example.com/archive"}) {
		t.Errorf("finalizers %v, want the other one kept", finalizers)
	}
	if writes := s.writes(); writes[0] != "update jobs/status hello-1" {
		t.Errorf("the status does not come first: %v", writes)
	}
	// Once, although the whole was done twice.
	if events := s.recorded(); !slices.Equal(events, []string{"Normal Completed Job completed"}) {
		t.Errorf("events %v", events)
	}
	if count := s.metric("job_controller_job_pods_finished_total", "NonIndexed", "succeeded"); count != 1 {
		t.Errorf("%v finished Pods counted", count)
	}
	if count := s.metric("job_controller_jobs_finished_total", "NonIndexed", "CompletionsReached", "succeeded"); count != 1 {
		t.Errorf("%v finished Jobs counted", count)
	}
}

// The API server judges quota before it looks whether the name is taken.
func TestAPodThatAnAttemptWithoutAnAnswerMadeIsFoundBehindAQuota(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	request := protocol.JobRequest{Job: jobRef, Creates: creates(1)}
	made := must[protocol.JobResult](s, protocol.CarryOutActivity, request).Created
	s.recorded()
	s.refuse("create", "pods", -1, apierrors.NewForbidden(pods, "x", errors.New("exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1")))
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, request); result.Refused != nil || !slices.Equal(result.Created, made) {
		t.Errorf("result %+v, want %v created", result, made)
	}
	if events := s.recorded(); len(events) != 0 {
		t.Errorf("events %v", events)
	}
	other := protocol.JobRequest{Job: jobRef, Creates: creates(2)[1:]}
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, other); result.Refused == nil || len(result.Created) != 0 {
		t.Errorf("a Pod that is not there: %+v", result)
	}
}

// A lost workflow task forgets the plan that ended the Job. The next task has heard of more when it decides the same, and is told that
// the Job has ended.
func TestTheEndOfAJobIsAnnouncedOnce(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	status := batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached"), condition(batchv1.JobComplete, "CompletionsReached"),
	}}
	for failed := range int32(2) {
		status.Failed = failed
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
			Job: jobRef, Status: status.DeepCopy(), Events: []event.Event{event.Normal("Completed", "Job completed")},
		})
		if ended := result.Unfounded != ""; ended != (failed > 0) {
			t.Errorf("with %d failures: unfounded %q", failed, result.Unfounded)
		}
	}
	if stored := s.job(jobName); stored.Status.Failed != 0 {
		t.Errorf("a status comes after the last one: %+v", stored.Status)
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Normal Completed Job completed"}) {
		t.Errorf("events %v", events)
	}
}

func TestGoneJobGetsNothing(t *testing.T) {
	recreated := helloJob()
	recreated.UID = "new-uid"
	for name, objects := range map[string][]runtime.Object{"absent": nil, "re-created": {recreated}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects, nil)
			request := protocol.JobRequest{Job: jobRef, Creates: creates(1), Status: &batchv1.JobStatus{Active: 1}}
			if result := must[protocol.JobResult](s, protocol.CarryOutActivity, request); !result.Gone || len(s.writes()) != 0 {
				t.Errorf("result %+v, writes %v", result, s.writes())
			}
		})
	}
}

func TestNoPodIsCreatedForAJobThatEnds(t *testing.T) {
	deleting, finished := helloJob(), helloJob()
	deleting.DeletionTimestamp = ptr.To(metav1.NewTime(scheduled))
	deleting.Finalizers = []string{"foregroundDeletion"}
	finished.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, "")}
	for name, object := range map[string]*batchv1.Job{"deleting": deleting, "finished": finished} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{object}, nil)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1)})
			if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed || result.Current == nil || result.CurrentSpec == nil || len(s.writes()) != 0 {
				t.Errorf("result %+v, writes %v", result, s.writes())
			}
		})
	}
}

func terminatingNamespace() error {
	err := apierrors.NewForbidden(pods, "x", errors.New("namespace default is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func TestRefusedCreateIsData(t *testing.T) {
	tests := map[string]struct {
		err    error
		reason string
		silent bool
	}{
		"quota":                 {apierrors.NewForbidden(pods, "x", errors.New("exceeded quota")), ledger.Forbidden, false},
		"invalid":               {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), ledger.Invalid, false},
		"bad request":           {apierrors.NewBadRequest("no"), ledger.RefusedOtherwise, false},
		"namespace terminating": {terminatingNamespace(), ledger.NamespaceTerminating, true},
		"namespace gone":        {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default"), ledger.NamespaceTerminating, true},
		// These may be one Pod's alone, and must not hold up the whole Job.
		"webhook that is away":     {apierrors.NewInternalError(errors.New(`failed calling webhook "x"`)), ledger.RefusedOtherwise, false},
		"webhook that says 500":    {apierrors.NewInternalError(errors.New(`admission webhook "x" denied the request: no`)), ledger.RefusedOtherwise, false},
		"a quota that others used": {apierrors.NewConflict(corev1.Resource("resourcequotas"), "x", errors.New("modified")), ledger.RefusedOtherwise, false},
		"what may have made it":    {apierrors.NewInternalError(errors.New("etcd")), ledger.ServerError, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{helloJob()}, nil)
			s.refuse("create", "pods", -1, test.err)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
				Job: jobRef, Creates: creates(4), Status: &batchv1.JobStatus{Active: 4},
				Events: []event.Event{event.Normal("Resumed", "Job resumed")},
			})
			if result.Refused == nil || result.Refused.Reason != test.reason || len(result.Created) != 0 {
				t.Errorf("result %+v", result)
			}
			if len(s.writes()) != 1 {
				t.Errorf("writes %v, want the one create", s.writes())
			}
			events := s.recorded()
			if test.silent && len(events) != 0 || !test.silent && !slices.Equal(events, []string{"Warning FailedCreate Error creating: " + test.err.Error()}) {
				t.Errorf("events %v", events)
			}
		})
	}
}

func TestOutageIsAnErrorThatIsRetried(t *testing.T) {
	tests := map[string]struct {
		err   error
		delay time.Duration
		kind  string
	}{
		"no connection":       {errors.New("connection refused"), 0, activities.KubernetesErrorType},
		"unavailable":         {apierrors.NewServiceUnavailable("starting"), 0, activities.KubernetesAnswerErrorType},
		"too many requests":   {apierrors.NewTooManyRequests("later", 7), 7 * time.Second, activities.KubernetesAnswerErrorType},
		"timeout":             {apierrors.NewTimeoutError("slow", 3), 3 * time.Second, activities.KubernetesAnswerErrorType},
		"credentials expired": {apierrors.NewUnauthorized("expired"), 0, activities.KubernetesAnswerErrorType},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{helloJob()}, nil)
			s.refuse("create", "pods", -1, test.err)
			_, err := run[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1)})
			var application *temporal.ApplicationError
			if !errors.As(err, &application) || application.NonRetryable() || application.Type() != test.kind {
				t.Fatalf("error %v", err)
			}
			if application.NextRetryDelay() != test.delay {
				t.Errorf("delay %v, want %v", application.NextRetryDelay(), test.delay)
			}
		})
	}
}

func TestCreateThatMeetsAForeignPod(t *testing.T) {
	foreign := helloPod(names.Pod(jobName, jobUID, 1), corev1.PodRunning).Uncontrolled()
	s := newStage(t, []runtime.Object{helloJob(), foreign.Pod}, nil)
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1)})
	if result.Refused == nil || result.Refused.Reason != ledger.ForeignObject {
		t.Errorf("result %+v", result)
	}
	if events := s.recorded(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning FailedCreate ") {
		t.Errorf("events %v", events)
	}
}

// A plan that is forgotten has created the Pod, which nobody watches any more.
func TestCreateThatMeetsAPodOfItsOwn(t *testing.T) {
	released := helloPod(names.Pod(jobName, jobUID, 1), corev1.PodSucceeded)
	released.Finalizers = nil
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"runs":                    {helloPod(names.Pod(jobName, jobUID, 1), corev1.PodRunning).Pod, false},
		"ended":                   {helloPod(names.Pod(jobName, jobUID, 1), corev1.PodSucceeded).Pod, false},
		"ended, and was released": {released.Pod, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{helloJob(), test.pod}, nil)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1)})
			if len(result.Created) != 1 || result.Created[0].Released != test.want {
				t.Errorf("created %+v, want released %t", result.Created, test.want)
			}
		})
	}
}

// Another controller has counted Pods since the plan was made: it is not carried out.
func TestAPlanThatAnotherControllerHasOvertaken(t *testing.T) {
	by := func(manager string) *batchv1.Job {
		owner := helloJob()
		owner.Status.Succeeded = 4
		owner.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:succeeded":{}}}`),
		}}
		return owner
	}
	for name, test := range map[string]struct {
		owner    *batchv1.Job
		base     *job.Base
		overtake bool
	}{
		"another has counted":           {by("kube-controller-manager"), &job.Base{Succeeded: 2}, true},
		"another had counted before":    {by("kube-controller-manager"), &job.Base{Succeeded: 4}, false},
		"a plan that was forgotten has": {by(k8s.JobFieldManager), &job.Base{Succeeded: 2}, false},
		"a look, which plans with none": {by("kube-controller-manager"), nil, false},
		"the fields are nobody's":       {by(""), &job.Base{Succeeded: 4}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{test.owner.DeepCopy()}, nil)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1), Base: test.base})
			if overtaken := result.Unplanned && result.Current != nil && result.Current.Succeeded == 4 && result.CurrentSpec != nil; overtaken != test.overtake {
				t.Errorf("result %+v", result)
			}
			if created := len(s.writes()) > 0; created == test.overtake {
				t.Errorf("writes %v", s.writes())
			}
		})
	}
}

// TestRefusalsOfABatch: what was created is reported, and the first refusal of the
// batch; a name that is taken is the least of them.
func TestRefusalsOfABatch(t *testing.T) {
	requests := creates(7)
	quota := apierrors.NewForbidden(pods, "x", errors.New("exceeded quota"))
	tests := map[string]struct {
		taken, forbidden []int
		reason           string
	}{
		"one name taken":                 {[]int{4}, nil, ledger.ForeignObject},
		"a name taken before a quota":    {[]int{3}, []int{5}, ledger.Forbidden},
		"a name taken after a quota":     {[]int{5}, []int{3}, ledger.Forbidden},
		"all of the batch are forbidden": {nil, []int{3, 4, 5, 6}, ledger.Forbidden},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			owned := objects(helloJob())
			for _, i := range test.taken {
				owned = append(owned, helloPod(requests[i].Name, corev1.PodRunning).Uncontrolled().Pod)
			}
			s := newStage(t, owned, nil)
			s.kubernetes.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				name := action.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName()
				forbidden := slices.ContainsFunc(test.forbidden, func(i int) bool { return requests[i].Name == name })
				return forbidden, nil, quota
			})
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: requests})
			refused := len(test.taken) + len(test.forbidden)
			if result.Refused == nil || result.Refused.Reason != test.reason || len(result.Created) != len(requests)-refused {
				t.Errorf("created %d, refused %+v", len(result.Created), result.Refused)
			}
			events := slices.DeleteFunc(s.recorded(), func(event string) bool { return !strings.HasPrefix(event, "Warning FailedCreate Error creating: ") })
			if len(events) != refused {
				t.Errorf("%d refusals, events %q", refused, events)
			}
		})
	}
}

func TestPodWithoutLabelsIsRefused(t *testing.T) {
	unlabelled := helloJob()
	unlabelled.Spec.Template.Labels = nil
	s := newStage(t, objects(unlabelled), nil)
	const message = "unable to create pods, no labels"
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1), Status: &batchv1.JobStatus{Active: 1}})
	if result.Refused == nil || result.Refused.Message != message || result.Refused.Reason != ledger.Invalid {
		t.Errorf("%+v", result)
	}
	if events := s.recorded(); !slices.Equal(events, []string{"Warning FailedCreate Error creating: " + message}) {
		t.Errorf("events %q", events)
	}
	// A Pod of a completion index has a label.
	unlabelled = indexedJob(1)
	unlabelled.Spec.Template.Labels = nil
	s = newStage(t, objects(unlabelled), nil)
	result = must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: []job.Create{indexedCreate(0, 1)}})
	if result.Refused != nil || len(result.Created) != 1 {
		t.Errorf("result %+v", result)
	}
}

func TestSlowStartEndsAtTheFirstRefusal(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	admitted := 2
	s.kubernetes.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if admitted > 0 {
			admitted--
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(pods, "x", errors.New("exceeded quota"))
	})
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(100)})
	// Batches of 1 and 2: the third create is refused, and nothing follows.
	if len(result.Created) != 2 || result.Refused == nil || len(s.writes()) != 3 {
		t.Errorf("created %d, refused %v, %d requests", len(result.Created), result.Refused, len(s.writes()))
	}
}

func TestStatusThatIsRefused(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodSucceeded).Pod}, nil)
	s.refuse("update", "jobs", -1, apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, jobName, nil))
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
		Job: jobRef, Status: &batchv1.JobStatus{Succeeded: 1}, Releases: []job.Release{{Name: "a", UID: "a-uid"}},
		Events: []event.Event{event.Normal("Completed", "Job completed")},
	})
	if result.Current == nil || result.CurrentSpec == nil || result.CurrentSpec.Parallelism != *helloJob().Spec.Parallelism {
		t.Errorf("the Job as it is: %+v, %+v", result.Current, result.CurrentSpec)
	}
	if result.StatusRefused == "" || len(s.pod("a").Finalizers) != 2 || len(s.recorded()) != 0 {
		t.Errorf("result %+v, finalizers %v", result, s.pod("a").Finalizers)
	}
}
