package k8s_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// nativeCronJob is the CronJob hello as one of batch/v1.
func nativeCronJob() *batchv1.CronJob {
	own := helloCronJob()
	return &batchv1.CronJob{
		ObjectMeta: own.ObjectMeta,
		Spec: batchv1.CronJobSpec{
			Schedule: own.Spec.Schedule, TimeZone: own.Spec.TimeZone, JobTemplate: own.Spec.JobTemplate,
		},
	}
}

// The two kinds have the same fields: a field that batch/v1 gets one day must not be
// forgotten.
func TestEveryFieldOfANativeSpecIsTaken(t *testing.T) {
	native := nativeCronJob()
	native.Spec.StartingDeadlineSeconds = new(int64(7))
	native.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent
	native.Spec.Suspend = new(true)
	native.Spec.SuccessfulJobsHistoryLimit = new(int32(5))
	native.Spec.FailedJobsHistoryLimit = new(int32(0))
	spec := reflect.ValueOf(native.Spec)
	for i := range spec.NumField() {
		if spec.Field(i).IsZero() {
			t.Errorf("the test does not set %s", spec.Type().Field(i).Name)
		}
	}
	cronJob := k8s.FromNative(native)
	got, err := json.Marshal(cronJob.Spec)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(native.Spec)
	if err != nil || string(got) != string(want) {
		t.Errorf("spec %s, want %s: %v", got, want, err)
	}
	if !k8s.IsNative(cronJob) || k8s.IsNative(helloCronJob()) || cronJob.UID != native.UID {
		t.Errorf("not the native CronJob: %+v", cronJob)
	}
}

func TestStatusOfANativeCronJob(t *testing.T) {
	native := nativeCronJob()
	native.Generation = 4
	stored := fake.NewClientset(native)
	store := k8s.NativeCronJobs(stored)
	status := &ostinatov1.CronJobStatus{
		Active:             []corev1.ObjectReference{{Kind: "Job", Name: "hello-1", UID: "job-uid"}},
		LastScheduleTime:   new(metav1.NewTime(due)),
		LastSuccessfulTime: new(metav1.NewTime(due.Add(-time.Hour))),
		NextScheduleTime:   new(metav1.NewTime(due.Add(time.Hour))),
		ObservedGeneration: 4,
		Conditions:         []metav1.Condition{{Type: ostinatov1.ConditionScheduleValid, Status: metav1.ConditionTrue}},
		Workflow:           &ostinatov1.WorkflowReference{Namespace: "temporal-namespace", ID: "batch-cronjob/default/hello"},
	}
	if _, err := store.WriteStatus(t.Context(), k8s.FromNative(native), status); err != nil {
		t.Fatal(err)
	}
	patches := 0
	for _, action := range stored.Actions() {
		if patch, ok := action.(clienttesting.PatchActionImpl); ok {
			patches++
			var sent map[string]any
			if err := json.Unmarshal(patch.Patch, &sent); err != nil || patch.GetSubresource() != "status" {
				t.Errorf("patch of %q: %v", patch.GetSubresource(), err)
			}
			golden(t, "native-cronjob-status", sent)
		}
	}
	if patches != 1 {
		t.Errorf("%d patches, want 1: notes and status go together", patches)
	}
	read, err := k8s.GetCronJob(t.Context(), store, "default", "hello", "cron-uid")
	if err != nil {
		t.Fatal(err)
	}
	want := *status
	want.Conditions = nil
	if got, want := encoded(t, read.Status), encoded(t, want); got != want {
		t.Errorf("read back %s, want %s", got, want)
	}

	// What the next status leaves out is removed, but for the lastScheduleTime.
	if _, err := store.WriteStatus(t.Context(), read, &ostinatov1.CronJobStatus{ObservedGeneration: 5}); err != nil {
		t.Fatal(err)
	}
	read, err = k8s.GetCronJob(t.Context(), store, "default", "hello", "cron-uid")
	if err != nil {
		t.Fatal(err)
	}
	kept := ostinatov1.CronJobStatus{ObservedGeneration: 5, LastScheduleTime: status.LastScheduleTime}
	if got, want := encoded(t, read.Status), encoded(t, kept); got != want {
		t.Errorf("read back %s, want %s", got, want)
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A built-in controller that went on has started a later run than the next one of the
// notes. What they say of a workflow and its generation is old then. An object that is made
// from a copy has the notes of another.
func TestNotesThatDoNotCount(t *testing.T) {
	noted := func(uid, next, last string) *ostinatov1.CronJob {
		native := nativeCronJob()
		native.Annotations = map[string]string{
			names.ObservedUIDAnnotation: uid, names.ObservedGenerationAnnotation: "3", names.NextScheduleTimeAnnotation: next,
			names.WorkflowAnnotation: "default/batch-cronjob/default/hello",
		}
		if at, err := time.Parse(time.RFC3339, last); err == nil {
			native.Status.LastScheduleTime = new(metav1.NewTime(at))
		}
		return k8s.FromNative(native)
	}
	for name, test := range map[string]struct {
		uid, next, last string
		counts          bool
	}{
		"the last run came before": {"cron-uid", "2026-01-02T15:31:00Z", "2026-01-02T15:30:00Z", true},
		"no run yet":               {"cron-uid", "2026-01-02T15:31:00Z", "", true},
		"suspended":                {"cron-uid", "", "2026-01-02T15:30:00Z", true},
		"no time":                  {"cron-uid", "tomorrow", "2026-01-02T15:30:00Z", true},
		"it was started":           {"cron-uid", "2026-01-02T15:31:00Z", "2026-01-02T15:31:00Z", false},
		"later ones were":          {"cron-uid", "2026-01-02T15:31:00Z", "2026-01-02T15:40:00Z", false},
		"of another object":        {"copied-uid", "2026-01-02T15:31:00Z", "", false},
		"of nobody":                {"", "2026-01-02T15:31:00Z", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			status := noted(test.uid, test.next, test.last).Status
			if counts := status.ObservedGeneration == 3 && status.Workflow != nil; counts != test.counts {
				t.Errorf("status %+v", status)
			}
			if !test.counts && (status.NextScheduleTime != nil || status.Workflow != nil || status.ObservedGeneration != 0) {
				t.Errorf("part of the notes counts: %+v", status)
			}
		})
	}
}

// Whoever may edit a CronJob may write 256 KiB into its annotations. Its status goes into workflows.
func TestNotesThatOstinatoHasNotWrittenDoNotCount(t *testing.T) {
	for name, workflow := range map[string]string{
		"an ID that is too long":       "default/" + strings.Repeat("x", schedule.MaxStatusWorkflowID+1),
		"a namespace that is too long": strings.Repeat("x", schedule.MaxStatusName+1) + "/batch-cronjob/default/hello",
		"no namespace":                 "hello",
	} {
		t.Run(name, func(t *testing.T) {
			native := nativeCronJob()
			native.Annotations = map[string]string{names.WorkflowAnnotation: workflow}
			if found := k8s.FromNative(native).Status.Workflow; found != nil {
				t.Errorf("a workflow with an ID of %d bytes in a namespace of %d", len(found.ID), len(found.Namespace))
			}
		})
	}
}

func TestAnAbsentNativeCronJobIsGone(t *testing.T) {
	if _, err := k8s.GetCronJob(t.Context(), k8s.NativeCronJobs(fake.NewClientset()), "default", "hello", "cron-uid"); !errors.Is(err, k8s.ErrGone) {
		t.Errorf("absent: error %v, want gone", err)
	}
}

// A Job of a native CronJob is what kube-controller-manager makes of it (parity 1.7).
func TestRenderJobOfANativeCronJob(t *testing.T) {
	start := schedule.Start{Name: names.ScheduledJob("hello", due), Scheduled: due}
	golden(t, "job-native", k8s.RenderJob(k8s.FromNative(nativeCronJob()), start, helloWorkflow))

	marked := nativeCronJob()
	marked.Spec.JobTemplate.Spec.ManagedBy = new(names.JobController)
	rendered := k8s.RenderJob(k8s.FromNative(marked), start, helloWorkflow)
	if *rendered.Spec.ManagedBy != names.JobController || rendered.Annotations[names.WorkflowAnnotation] != helloWorkflow {
		t.Errorf("a template that names Ostinato: %v, annotations %v", *rendered.Spec.ManagedBy, rendered.Annotations)
	}
}

// A CronJob of batch/v1 has no field for the variable.
func TestANativeCronJobNamesTheVariableOfItsTimeByAnnotation(t *testing.T) {
	native := nativeCronJob()
	if k8s.FromNative(native).Spec.ScheduledTimeVariable != nil {
		t.Error("a variable that nobody has asked for")
	}
	native.Annotations = map[string]string{names.ScheduledTimeVariableAnnotation: "RUN_AT"}
	rendered := k8s.RenderJob(k8s.FromNative(native), schedule.Start{Name: "hello-1", Scheduled: due}, helloWorkflow)
	if env := rendered.Spec.Template.Spec.Containers[0].Env; len(env) != 1 || env[0].Name != "RUN_AT" || env[0].Value != "2026-01-02T15:30:00Z" {
		t.Errorf("environment %+v", env)
	}
}
