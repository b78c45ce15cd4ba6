package k8s_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	k8sfake "ostinato.dev/ostinato/internal/testing/fake"
)

// updated returns the object that the last update of a status has sent.
func updated(t *testing.T, actions []clienttesting.Action) runtime.Object {
	t.Helper()
	for _, action := range slices.Backward(actions) {
		if update, ok := action.(clienttesting.UpdateAction); ok && action.GetSubresource() == "status" {
			return update.GetObject()
		}
	}
	t.Fatal("no status was written")
	return nil
}

func condition(kind batchv1.JobConditionType) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Reason", LastTransitionTime: at(1)}
}

func kinds(conditions []batchv1.JobCondition) []batchv1.JobConditionType {
	var result []batchv1.JobConditionType
	for _, condition := range conditions {
		result = append(result, condition.Type)
	}
	return result
}

func TestJobStatusIsWrittenWhole(t *testing.T) {
	job := helloJob("hello-1")
	client := fake.NewClientset(job)
	_, err := k8s.WriteJobStatus(t.Context(), client, job, &batchv1.JobStatus{StartTime: ptr.To(at(1)), Active: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "job-status", updated(t, client.Actions()))
}

func TestJobStatusOfAnIndexedJob(t *testing.T) {
	job := helloJob("hello-1")
	job.Spec.BackoffLimitPerIndex = ptr.To(int32(1))
	client := fake.NewClientset(job)
	stored, err := k8s.WriteJobStatus(t.Context(), client, job, &batchv1.JobStatus{
		Succeeded: 4, Failed: 3, CompletedIndexes: "0-2,4", FailedIndexes: ptr.To("3"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "job-status-indexed", updated(t, client.Actions()))

	// Scaled down: indexes are forgotten.
	stored, err = k8s.WriteJobStatus(t.Context(), client, stored, &batchv1.JobStatus{Succeeded: 0, Failed: 3}, nil)
	if err != nil || stored.Status.CompletedIndexes != "" || stored.Status.FailedIndexes == nil || *stored.Status.FailedIndexes != "" {
		t.Errorf("status %+v, error %v", stored.Status, err)
	}
}

func TestFailedIndexesAreWrittenWithALimitPerIndexOnly(t *testing.T) {
	job := helloJob("hello-1")
	stored, err := k8s.WriteJobStatus(t.Context(), fake.NewClientset(job), job, &batchv1.JobStatus{FailedIndexes: ptr.To("")}, nil)
	if err != nil || stored.Status.FailedIndexes != nil {
		t.Errorf("without a limit: %v, error %v", stored.Status.FailedIndexes, err)
	}
	job.Spec.BackoffLimitPerIndex = ptr.To(int32(0))
	stored, err = k8s.WriteJobStatus(t.Context(), fake.NewClientset(job), job, &batchv1.JobStatus{Active: 1}, nil)
	if err != nil || stored.Status.FailedIndexes == nil {
		t.Errorf("with a limit: none, error %v", err)
	}
}

// TestIndexesOfAnEarlierControllerAreReplaced: kube-controller-manager wrote them
// before the Job was taken over.
func TestIndexesOfAnEarlierControllerAreReplaced(t *testing.T) {
	job := helloJob("hello-1")
	job.Spec.BackoffLimitPerIndex = ptr.To(int32(1))
	job.Status = batchv1.JobStatus{CompletedIndexes: "0-5", FailedIndexes: ptr.To("7")}
	job.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "batch/v1",
		Subresource: "status", FieldsType: "FieldsV1", Time: ptr.To(at(0)),
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:completedIndexes":{},"f:failedIndexes":{}}}`),
	}}
	stored, err := k8s.WriteJobStatus(t.Context(), fake.NewClientset(job), job, &batchv1.JobStatus{}, nil)
	if err != nil || stored.Status.CompletedIndexes != "" || *stored.Status.FailedIndexes != "" {
		t.Errorf("status %+v, error %v", stored.Status, err)
	}
}

// TestReadinessIsPodWatchsWhereTheStatusSaysNothing: as far as it can be right.
func TestReadinessIsPodWatchsWhereTheStatusSaysNothing(t *testing.T) {
	tests := map[string]struct {
		stored, wanted *int32
		active, want   int32
	}{
		"nothing known":         {nil, nil, 2, 0},
		"projected":             {ptr.To(int32(2)), nil, 2, 2},
		"more than are active":  {ptr.To(int32(2)), nil, 1, 1},
		"the planner knows":     {ptr.To(int32(2)), ptr.To(int32(1)), 2, 1},
		"the planner knows: no": {ptr.To(int32(2)), ptr.To(int32(0)), 2, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job := helloJob("hello-1")
			job.Status.Ready = test.stored
			stored, err := k8s.WriteJobStatus(t.Context(), fake.NewClientset(job), job, &batchv1.JobStatus{Active: test.active, Ready: test.wanted}, nil)
			if err != nil || stored.Status.Ready == nil || *stored.Status.Ready != test.want {
				t.Errorf("ready %v, want %d, error %v", stored.Status.Ready, test.want, err)
			}
		})
	}
}

func TestForeignConditionsOfAJobAreKept(t *testing.T) {
	job := helloJob("hello-1")
	job.Status.Conditions = []batchv1.JobCondition{condition("example.com/Checked"), condition(batchv1.JobSuspended)}
	after, err := k8s.WriteJobStatus(t.Context(), fake.NewClientset(job), job,
		&batchv1.JobStatus{Conditions: []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, "example.com/Checked"}
	if got := kinds(after.Status.Conditions); !slices.Equal(got, want) {
		t.Errorf("conditions %v, want %v", got, want)
	}
}

func TestStartTimeIsClearedOnSuspend(t *testing.T) {
	job := helloJob("hello-1")
	client := fake.NewClientset(job)
	running, err := k8s.WriteJobStatus(t.Context(), client, job, &batchv1.JobStatus{StartTime: ptr.To(at(1)), Active: 1}, nil)
	if err != nil || running.Status.StartTime == nil {
		t.Fatalf("start time %v, error %v", running.Status.StartTime, err)
	}
	suspended, err := k8s.WriteJobStatus(t.Context(), client, running, &batchv1.JobStatus{Terminating: ptr.To(int32(1))}, nil)
	if err != nil || suspended.Status.StartTime != nil {
		t.Errorf("start time %v, error %v", suspended.Status.StartTime, err)
	}
}

// TestResidueOfAnEarlierControllerIsRemoved: fields that kube-controller-manager
// wrote before a Job was taken over go away as our own do.
func TestResidueOfAnEarlierControllerIsRemoved(t *testing.T) {
	job := helloJob("hello-1")
	job.Status = batchv1.JobStatus{
		StartTime:               ptr.To(at(1)),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pod-uid"}},
	}
	job.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "batch/v1",
		Subresource: "status", FieldsType: "FieldsV1", Time: ptr.To(at(0)),
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:startTime":{},"f:uncountedTerminatedPods":{"f:succeeded":{"v:\"pod-uid\"":{}}}}}`),
	}}
	client := fake.NewClientset(job)
	if _, err := k8s.WriteJobStatus(t.Context(), client, job, &batchv1.JobStatus{}, nil); err != nil {
		t.Fatal(err)
	}
	stored, err := client.BatchV1().Jobs("default").Get(t.Context(), "hello-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stored.Status.StartTime != nil || len(stored.Status.UncountedTerminatedPods.Succeeded) != 0 {
		t.Errorf("status %+v", stored.Status)
	}
}

func TestCronJobStatusIsWrittenWhole(t *testing.T) {
	cronJob := helloCronJob()
	client := k8sfake.NewCronJobs(cronJob)
	status := &ostinatov1.CronJobStatus{
		Active:             []corev1.ObjectReference{{Kind: "Job", Name: "hello-1"}},
		LastScheduleTime:   ptr.To(metav1.NewTime(due)),
		NextScheduleTime:   ptr.To(metav1.NewTime(due.Add(time.Hour))),
		ObservedGeneration: 2,
		Conditions: []metav1.Condition{{
			Type: ostinatov1.ConditionScheduleValid, Status: metav1.ConditionTrue, Reason: "Parsed", LastTransitionTime: at(1),
		}},
		Workflow: &ostinatov1.WorkflowReference{Namespace: "default", ID: "cronjob/default/hello"},
	}
	if _, err := k8s.OwnCronJobs(client).WriteStatus(t.Context(), cronJob, status); err != nil {
		t.Fatal(err)
	}
	golden(t, "cronjob-status", updated(t, client.Actions()))
	if _, err := k8s.OwnCronJobs(client).WriteStatus(t.Context(), cronJob, &ostinatov1.CronJobStatus{ObservedGeneration: 3}); err != nil {
		t.Fatal(err)
	}
	stored, err := k8s.GetCronJob(t.Context(), k8s.OwnCronJobs(client), "default", "hello", "cron-uid")
	if err != nil {
		t.Fatal(err)
	}
	if stored.Status.Active != nil || stored.Status.LastScheduleTime != nil || stored.Status.ObservedGeneration != 3 {
		t.Errorf("fields that were left out are still there: %+v", stored.Status)
	}
	if stored.Spec.Schedule != cronJob.Spec.Schedule {
		t.Errorf("the spec changed: %+v", stored.Spec)
	}
}

func TestForeignConditionsOfACronJobAreKept(t *testing.T) {
	read := helloCronJob()
	read.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionSuspended}, {Type: "example.com/Checked"}, {Type: "example.com/Audited"}}
	client := k8sfake.NewCronJobs(read)
	status := &ostinatov1.CronJobStatus{Conditions: []metav1.Condition{{Type: ostinatov1.ConditionScheduleValid}}}
	if _, err := k8s.OwnCronJobs(client).WriteStatus(t.Context(), read, status); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, condition := range client.Stored("default", "hello").Status.Conditions {
		got = append(got, condition.Type)
	}
	if want := []string{ostinatov1.ConditionScheduleValid, "example.com/Checked", "example.com/Audited"}; !slices.Equal(got, want) {
		t.Errorf("conditions %v, want %v", got, want)
	}
	if len(status.Conditions) != 1 {
		t.Errorf("the wanted status was changed: %+v", status.Conditions)
	}
}

func TestGoneObjects(t *testing.T) {
	cronJob := helloCronJob()
	if _, err := k8s.GetCronJob(t.Context(), k8s.OwnCronJobs(k8sfake.NewCronJobs()), "default", "hello", "cron-uid"); !errors.Is(err, k8s.ErrGone) {
		t.Errorf("absent CronJob: %v", err)
	}
	if _, err := k8s.GetCronJob(t.Context(), k8s.OwnCronJobs(k8sfake.NewCronJobs(cronJob)), "default", "hello", "old-uid"); !errors.Is(err, k8s.ErrGone) {
		t.Errorf("re-created CronJob: %v", err)
	}
	if _, err := k8s.GetJob(t.Context(), fake.NewClientset(), "default", "hello-1", "job-uid"); !errors.Is(err, k8s.ErrGone) {
		t.Errorf("absent Job: %v", err)
	}
}

// What a status counts and is not released yet is noted in the same request, and no
// longer than the status that counts it stands.
func TestCountedPodsAreNotedWithTheStatus(t *testing.T) {
	object := helloJob("hello-1")
	client := fake.NewClientset(object)
	stored, err := k8s.WriteJobStatus(t.Context(), client, object, &batchv1.JobStatus{Active: 1, Failed: 2}, []job.Counted{{UID: "a-uid", Fate: job.PodFailed}, {UID: "b-uid", Fate: job.PodFailed}, {UID: "terminating"}})
	if err != nil || stored.Annotations[names.CountedAnnotation] != "a-uid,b-uid" || !k8s.NotesAll(stored) {
		t.Fatalf("annotations %v, error %v", stored.Annotations, err)
	}
	if writes := len(client.Actions()); writes != 1 {
		t.Errorf("%d requests, want 1", writes)
	}
	stored, err = k8s.WriteJobStatus(t.Context(), client, stored, &batchv1.JobStatus{Failed: 2}, nil)
	if _, noted := stored.Annotations[names.CountedAnnotation]; noted || err != nil {
		t.Errorf("annotations %v, error %v", stored.Annotations, err)
	}
	var many []job.Counted
	for range 10_000 {
		many = append(many, job.Counted{UID: "01234567-89ab-cdef-0123-456789abcdef", Fate: job.PodFailed})
	}
	stored, err = k8s.WriteJobStatus(t.Context(), client, stored, &batchv1.JobStatus{Failed: 3}, many)
	if size := len(stored.Annotations[names.CountedAnnotation]); err != nil || size == 0 || size > 200<<10 || k8s.NotesAll(stored) {
		t.Errorf("%d bytes, error %v", size, err)
	}
	const others = 200 << 10
	stored.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", others)}
	stored, err = k8s.WriteJobStatus(t.Context(), client, stored, &batchv1.JobStatus{Failed: 4}, many)
	if err == nil {
		err = apivalidation.ValidateAnnotationsSize(stored.Annotations)
	}
	if err != nil || stored.Annotations[names.CountedAnnotation] == "" || k8s.NotesAll(stored) {
		t.Errorf("beside others: %v", err)
	}
	stored.Annotations = map[string]string{"example.com/large": strings.Repeat("x", 256<<10-20)}
	stored, err = k8s.WriteJobStatus(t.Context(), client, stored, &batchv1.JobStatus{Failed: 5}, many)
	if _, noted := stored.Annotations[names.CountedAnnotation]; noted || err != nil || k8s.NotesAll(stored) {
		t.Errorf("noted where there is no room: error %v", err)
	}
}
