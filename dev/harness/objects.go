package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/internal/names"
)

// JobOption changes a Job that a test builds.
type JobOption func(*batchv1.JobSpec)

// RunSeconds makes the Pods run so long on a simulated node.
func RunSeconds(seconds int) JobOption {
	return podAnnotation(node.AnnotationRunSeconds, strconv.Itoa(seconds))
}

// ExitCode makes the Pods' container end with the code on a simulated node.
func ExitCode(code int) JobOption {
	return podAnnotation(node.AnnotationExitCode, strconv.Itoa(code))
}

// FailEvery makes the Pods of every n-th completion index fail so many times on a simulated node before one succeeds; the
// Job has to have a backoffLimitPerIndex.
func FailEvery(n, times int) JobOption {
	return func(spec *batchv1.JobSpec) {
		ExitCode(1)(spec)
		podAnnotation(node.AnnotationFailEvery, strconv.Itoa(n))(spec)
		podAnnotation(node.AnnotationFailTimes, strconv.Itoa(times))(spec)
	}
}

// HoldIndex makes the Pod of a completion index run on a simulated node until LetGo.
func HoldIndex(index int) JobOption {
	return podAnnotation(node.AnnotationHoldIndex, strconv.Itoa(index))
}

// RunUntilEnded makes the Pods run on a simulated node until End.
func RunUntilEnded() JobOption {
	const longerThanAnyTest = 24 * time.Hour
	return podAnnotation(node.AnnotationRunUntil, time.Now().UTC().Add(longerThanAnyTest).Format(time.RFC3339))
}

// podAnnotation sets an annotation of the Pods.
func podAnnotation(key, value string) JobOption {
	return func(spec *batchv1.JobSpec) {
		if spec.Template.Annotations == nil {
			spec.Template.Annotations = map[string]string{}
		}
		spec.Template.Annotations[key] = value
	}
}

// PodAnnotation sets an annotation of the Pods.
func PodAnnotation(key, value string) JobOption { return podAnnotation(key, value) }

// BackoffLimit sets spec.backoffLimit.
func BackoffLimit(limit int32) JobOption {
	return func(spec *batchv1.JobSpec) { spec.BackoffLimit = &limit }
}

// Parallelism sets spec.parallelism.
func Parallelism(parallelism int32) JobOption {
	return func(spec *batchv1.JobSpec) { spec.Parallelism = &parallelism }
}

// Completions sets spec.completions.
func Completions(completions int32) JobOption {
	return func(spec *batchv1.JobSpec) { spec.Completions = &completions }
}

// RestartPolicy sets the template's restartPolicy.
func RestartPolicy(policy corev1.RestartPolicy) JobOption {
	return func(spec *batchv1.JobSpec) { spec.Template.Spec.RestartPolicy = policy }
}

// soonGone is the grace period of Pods, in seconds. The namespace controller lets half of it pass before it looks again at what
// is left in a deleted namespace: with the default of thirty, every package would wait a quarter of a minute at its end.
const soonGone = 2

// JobSpec builds a Job's spec with one container and restartPolicy Never.
func JobSpec(options ...JobOption) batchv1.JobSpec {
	spec := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		Containers:                    []corev1.Container{{Name: "main", Image: "busybox:1.28", Command: []string{"/bin/sh", "-c", "date"}}},
		TerminationGracePeriodSeconds: ptr.To(int64(soonGone)),
	}}}
	for _, option := range options {
		option(&spec)
	}
	return spec
}

// CronJobOption changes a CronJob that a test builds.
type CronJobOption func(*ostinatov1.CronJob)

// Yearly is a schedule that is not due while a test runs: its runs are triggered.
const Yearly = "0 0 1 1 *"

// Minutely is due every minute.
const Minutely = "* * * * *"

// NewCronJob builds a CronJob.
func NewCronJob(namespace, name, schedule string, job batchv1.JobSpec, options ...CronJobOption) *ostinatov1.CronJob {
	cronJob := &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       ostinatov1.CronJobSpec{Schedule: schedule, JobTemplate: batchv1.JobTemplateSpec{Spec: job}},
	}
	for _, option := range options {
		option(cronJob)
	}
	return cronJob
}

// Policy sets spec.concurrencyPolicy.
func Policy(policy batchv1.ConcurrencyPolicy) CronJobOption {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Spec.ConcurrencyPolicy = policy }
}

// CreateCronJob creates a CronJob and fails the test when it is refused.
func (h *Harness) CreateCronJob(t *testing.T, cronJob *ostinatov1.CronJob) *ostinatov1.CronJob {
	t.Helper()
	created, err := h.CronJobs.CronJobs(cronJob.Namespace).Create(t.Context(), cronJob, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create CronJob %s: %v", cronJob.Name, err)
	}
	return created
}

// CreateJob creates a Job managed by Ostinato.
func (h *Harness) CreateJob(t *testing.T, namespace, name string, spec batchv1.JobSpec) *batchv1.Job {
	t.Helper()
	spec.ManagedBy = ptr.To(names.JobController)
	created, err := h.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create Job %s: %v", name, err)
	}
	return created
}

// CronJob reads a CronJob.
func (h *Harness) CronJob(ctx context.Context, namespace, name string) (*ostinatov1.CronJob, error) {
	return h.CronJobs.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Jobs lists a namespace's Jobs, oldest first.
func (h *Harness) Jobs(ctx context.Context, namespace string) ([]batchv1.Job, error) {
	list, err := h.Kubernetes.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return list.Items, nil
}

// Pods lists a namespace's Pods.
func (h *Harness) Pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	list, err := h.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// JobHas returns nil when the Job has the condition with status True.
func (h *Harness) JobHas(ctx context.Context, namespace, name string, condition batchv1.JobConditionType) error {
	job, err := h.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if HasCondition(job, condition) {
		return nil
	}
	return fmt.Errorf("job %s is not %s: %+v", name, condition, job.Status)
}

// HasCondition tells whether the Job has the condition with status True.
func HasCondition(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// EventReasons counts the reasons of the Events on an object.
func (h *Harness) EventReasons(ctx context.Context, namespace, kind, name string) (map[string]int, error) {
	events, err := h.Kubernetes.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	reasons := map[string]int{}
	for _, event := range events.Items {
		if event.InvolvedObject.Kind == kind && event.InvolvedObject.Name == name {
			reasons[event.Reason] += max(int(event.Count), 1)
		}
	}
	return reasons, nil
}

// HasEvent returns nil when the object has an Event with the reason.
func (h *Harness) HasEvent(ctx context.Context, namespace, kind, name, reason string) error {
	reasons, err := h.EventReasons(ctx, namespace, kind, name)
	if err != nil {
		return err
	}
	if reasons[reason] == 0 {
		return fmt.Errorf("%s %s has no Event %s, only %v", kind, name, reason, slices.Sorted(maps.Keys(reasons)))
	}
	return nil
}
