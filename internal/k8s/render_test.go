package k8s_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

func helloTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "ignored",
			Labels:      map[string]string{"app": "hello", batchv1.ControllerUidLabel: "job-uid", batchv1.JobNameLabel: "hello-1"},
			Annotations: map[string]string{"note": "kept"},
			Finalizers:  []string{"example.com/archive"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "ignored", UID: "ignored",
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			InitContainers: []corev1.Container{{Name: "prepare", Image: "busybox"}},
			Containers: []corev1.Container{
				{Name: "hello", Image: "busybox", Command: []string{"echo", "Hello"}},
				{Name: "own", Image: "busybox", Env: []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}},
			},
		},
	}
}

func helloJob(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "job-uid"},
		Spec:       batchv1.JobSpec{Template: helloTemplate()},
	}
}

func TestRenderPodOfNonIndexedJob(t *testing.T) {
	owner := helloJob("hello-1")
	before := owner.DeepCopy()
	pod := k8s.RenderPod(owner, job.Create{Name: names.Pod("hello-1", "job-uid", 1), Attempt: 1})
	golden(t, "pod-nonindexed", pod)
	pod.Labels["app"], pod.Spec.Containers[0].Command[0] = "changed", "changed"
	if owner.Spec.Template.Labels["app"] != before.Spec.Template.Labels["app"] ||
		owner.Spec.Template.Spec.Containers[0].Command[0] != "echo" {
		t.Error("the Pod shares memory with the Job's template")
	}
}

func TestRenderPodOfIndexedJob(t *testing.T) {
	golden(t, "pod-indexed", k8s.RenderPod(helloJob("hello-1"), job.Create{Name: "hello-1-3-abcde", Attempt: 4, Index: ptr.To(int32(3))}))
}

func TestRenderPodWithABackoffLimitPerIndex(t *testing.T) {
	owner := helloJob("hello-1")
	owner.Spec.BackoffLimitPerIndex = ptr.To(int32(3))
	create := job.Create{Name: "hello-1-3-abcde", Attempt: 4, Index: ptr.To(int32(3)), Failures: 2, Ignored: 1}
	golden(t, "pod-indexed-again", k8s.RenderPod(owner, create))

	create.Failures, create.Ignored = 0, 0
	first := k8s.RenderPod(owner, create)
	if _, ok := first.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]; ok || first.Annotations[batchv1.JobIndexFailureCountAnnotation] != "0" {
		t.Errorf("annotations of the index's first Pod: %v", first.Annotations)
	}
	if _, ok := owner.Spec.Template.Annotations[batchv1.JobIndexFailureCountAnnotation]; ok {
		t.Error("the Pod shares memory with the Job's template")
	}
}

func TestRenderPodLeavesFailuresOutWithoutALimitPerIndex(t *testing.T) {
	pod := k8s.RenderPod(helloJob("hello-1"), job.Create{Name: "x", Index: ptr.To(int32(0)), Failures: 2})
	if count, ok := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; ok {
		t.Errorf("failure count %q", count)
	}
}

func TestRenderPodKeepsAFinalizerThatIsThere(t *testing.T) {
	owner := helloJob("hello-1")
	owner.Spec.Template.Finalizers = []string{names.TrackingFinalizer}
	pod := k8s.RenderPod(owner, job.Create{Name: "hello-1-abcde"})
	if len(pod.Finalizers) != 1 {
		t.Errorf("finalizers %v, want the tracking finalizer once", pod.Finalizers)
	}
}

func TestRenderPodOfLongNamedIndexedJob(t *testing.T) {
	pod := k8s.RenderPod(helloJob(strings.Repeat("a", 63)), job.Create{Name: "x", Index: ptr.To(int32(12))})
	if want := strings.Repeat("a", 54) + "-12-"; pod.GenerateName != want {
		t.Errorf("generateName %q (%d characters), want %q", pod.GenerateName, len(pod.GenerateName), want)
	}
}

func helloCronJob() *ostinatov1.CronJob {
	return &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello", UID: "cron-uid"},
		Spec: ostinatov1.CronJobSpec{
			Schedule: "30 10 * * *",
			TimeZone: ptr.To("America/New_York"),
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Name:        "ignored",
					Labels:      map[string]string{"app": "hello"},
					Annotations: map[string]string{"note": "kept", names.ScheduledTimestampAnnotation: "overwritten"},
					Finalizers:  []string{"example.com/ignored"},
				},
				Spec: batchv1.JobSpec{
					BackoffLimit: ptr.To(int32(2)),
					Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
						RestartPolicy: corev1.RestartPolicyOnFailure,
						Containers:    []corev1.Container{{Name: "hello", Image: "busybox"}},
					}},
				},
			},
		},
	}
}

var due = time.Date(2026, 1, 2, 15, 30, 0, 0, time.UTC)

const helloWorkflow = "temporal-namespace/job/default/hello-29456130"

func TestRenderJobOfScheduledRun(t *testing.T) {
	start := schedule.Start{Name: names.ScheduledJob("hello", due), Scheduled: due}
	golden(t, "job-scheduled", k8s.RenderJob(helloCronJob(), start, helloWorkflow))
}

func TestRenderJobOfManualRun(t *testing.T) {
	start := schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: due, Manual: true, Note: "try"}
	golden(t, "job-manual", k8s.RenderJob(helloCronJob(), start, helloWorkflow))
}

// The run of a past time sees that time, in an annotation and, where the CronJob names one,
// in a variable. A container's own variable of that name stays.
func TestRenderJobOfABackfilledRunWithItsTimeInAVariable(t *testing.T) {
	cronJob := helloCronJob()
	cronJob.Spec.ScheduledTimeVariable = ptr.To("SCHEDULED_TIME")
	pod := &cronJob.Spec.JobTemplate.Spec.Template.Spec
	pod.InitContainers = []corev1.Container{{Name: "prepare", Image: "busybox"}}
	pod.Containers = append(pod.Containers,
		corev1.Container{Name: "refers", Image: "busybox", Env: []corev1.EnvVar{{Name: "FILE", Value: "/out/$(SCHEDULED_TIME)"}}},
		corev1.Container{Name: "own", Image: "busybox", Env: []corev1.EnvVar{{Name: "SCHEDULED_TIME", Value: "mine"}}},
	)
	before := cronJob.DeepCopy()
	start := schedule.Start{
		Name: names.BackfilledJob("hello", "cron-uid", 7, due), Scheduled: due, Manual: true, Backfill: 7, Sequence: 7, Note: "backfill",
	}
	golden(t, "job-backfilled", k8s.RenderJob(cronJob, start, helloWorkflow))
	if !reflect.DeepEqual(cronJob, before) {
		t.Error("the Job shares memory with the CronJob's template")
	}
}

func TestRenderJobLeavesAnotherManager(t *testing.T) {
	cronJob := helloCronJob()
	cronJob.Spec.JobTemplate.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
	rendered := k8s.RenderJob(cronJob, schedule.Start{Name: "hello-1", Scheduled: due}, helloWorkflow)
	if *rendered.Spec.ManagedBy != "kueue.x-k8s.io/multikueue" || claim.Ours(rendered, true) {
		t.Errorf("managedBy %q, want the template's", *rendered.Spec.ManagedBy)
	}
	if link, ok := rendered.Annotations[names.WorkflowAnnotation]; ok {
		t.Errorf("a Job of another manager is linked to workflow %q", link)
	}
}

func TestRenderJobWritesTheTimeInTheZone(t *testing.T) {
	tests := map[string]struct {
		zone *string
		want string
	}{
		"no zone is UTC":      {nil, "2026-01-02T15:30:00Z"},
		"unknown zone is UTC": {ptr.To("Mars/Olympus"), "2026-01-02T15:30:00Z"},
		"zone":                {ptr.To("Asia/Kolkata"), "2026-01-02T21:00:00+05:30"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cronJob := helloCronJob()
			cronJob.Spec.TimeZone = test.zone
			rendered := k8s.RenderJob(cronJob, schedule.Start{Name: "hello-1", Scheduled: due}, helloWorkflow)
			if got := rendered.Annotations[names.ScheduledTimestampAnnotation]; got != test.want {
				t.Errorf("annotation %q, want %q", got, test.want)
			}
		})
	}
}

// TestAJobHasThePendingDeadlineOfItsCronJob: the field outweighs the annotation of the template.
func TestAJobHasThePendingDeadlineOfItsCronJob(t *testing.T) {
	cronJob := &ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
	cronJob.Spec.JobTemplate.Annotations = map[string]string{names.PendingDeadlineAnnotation: "600"}
	for seconds, want := range map[int64]string{0: "600", 90: "90"} {
		if cronJob.Spec.PendingDeadlineSeconds = nil; seconds > 0 {
			cronJob.Spec.PendingDeadlineSeconds = ptr.To(seconds)
		}
		rendered := k8s.RenderJob(cronJob, schedule.Start{Name: "hello-1"}, "")
		if got := rendered.Annotations[names.PendingDeadlineAnnotation]; got != want {
			t.Errorf("%d: annotation %q, want %q", seconds, got, want)
		}
	}
}

// TestAJobKeepsEvidenceOfSuccessesIfItsCronJobSaysSo.
func TestAJobKeepsEvidenceOfSuccessesIfItsCronJobSaysSo(t *testing.T) {
	cronJob := &ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
	for successes, want := range map[bool]string{false: "", true: "true"} {
		cronJob.Spec.Evidence.Successes = successes
		if got := k8s.RenderJob(cronJob, schedule.Start{Name: "hello-1"}, "").Annotations[names.EvidenceSuccessesAnnotation]; got != want {
			t.Errorf("annotation %q, want %q", got, want)
		}
	}
}
