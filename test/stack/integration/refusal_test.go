package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

// A schedule or zone that the CRD can't judge ends as a condition and a Warning
// Event that say what is wrong, and an edit heals it.
func TestUnusableSchedules(t *testing.T) {
	t.Parallel()
	zone := "Europe/Nowhere"
	for name, test := range map[string]struct {
		schedule string
		zone     *string
		event    string
	}{
		"interval of centuries": {"@every 9999999h", nil, "UnparseableSchedule"},
		"unknown zone":          {harness.Minutely, &zone, "UnknownTimeZone"},
		"impossible date":       {"0 0 31 2 *", nil, "NeverFires"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			cronJob := harness.NewCronJob(namespace, "broken", test.schedule, harness.JobSpec())
			cronJob.Spec.TimeZone = test.zone
			stack.CreateCronJob(t, cronJob)
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				cronJob, err := stack.CronJob(ctx, namespace, "broken")
				if err != nil {
					return err
				}
				if err := conditionIs(cronJob, ostinatov1.ConditionScheduleValid, false); err != nil {
					return err
				}
				if cronJob.Status.NextScheduleTime != nil {
					return fmt.Errorf("nextScheduleTime is %s", cronJob.Status.NextScheduleTime)
				}
				return stack.HasEvent(ctx, namespace, "CronJob", "broken", test.event)
			})

			patch := []byte(`{"spec":{"schedule":"0 0 1 1 *","timeZone":"Europe/Paris"}}`)
			if _, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), "broken", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				cronJob, err := stack.CronJob(ctx, namespace, "broken")
				if err != nil {
					return err
				}
				if cronJob.Status.NextScheduleTime == nil {
					return errors.New("there is no nextScheduleTime")
				}
				return conditionIs(cronJob, ostinatov1.ConditionScheduleValid, true)
			})
		})
	}
}

// refusedFor is how long a create may have been refused before the reason is taken
// away: its Event was awaited, and the change to be published.
const refusedFor = 2 * harness.Prompt

// A Job that the API server refuses is an Event with the server's words, and a
// run that starts once the template is repaired.
func TestRefusedJobStartsWhenTheTemplateIsRepaired(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "refused", harness.Yearly,
		harness.JobSpec(harness.PodTemplate(func(template *corev1.PodTemplateSpec) {
			template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}))))
	awaitWorkflow(t, namespace, "refused")
	stack.Signal(t, harness.CronJobWorkflow(namespace, "refused"), protocol.TriggerSignal, nil)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "refused", "FailedCreate")
	})
	patch := []byte(`{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"volumes":[{"name":"data","emptyDir":{}}]}}}}}}`)
	if _, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), "refused", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, refusedFor+harness.RunRetry+harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
}

// An exhausted quota is an Event; the run goes on once there is room.
func TestQuota(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resource corev1.ResourceName
		kind     string
	}{
		"for Jobs": {"count/jobs.batch", "CronJob"},
		"for Pods": {corev1.ResourcePods, "Job"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			addQuota(t, namespace, test.resource, 0)
			stack.CreateCronJob(t, harness.NewCronJob(namespace, "squeezed", harness.Yearly, harness.JobSpec()))
			awaitWorkflow(t, namespace, "squeezed")
			stack.Signal(t, harness.CronJobWorkflow(namespace, "squeezed"), protocol.TriggerSignal, nil)
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				return hasEventOfKind(ctx, namespace, test.kind, "FailedCreate", "exceeded quota")
			})
			raiseQuota(t, namespace, test.resource, 5)
			harness.Eventually(t, refusedFor+harness.RunRetry+harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
		})
	}
}

// addQuota limits how many objects of a resource the namespace may have.
func addQuota(t *testing.T, namespace string, name corev1.ResourceName, hard int64) {
	t.Helper()
	stack.AddQuota(t, namespace, "quota", corev1.ResourceList{name: *resource.NewQuantity(hard, resource.DecimalSI)})
}

// raiseQuota returns when the quota controller has published the change.
func raiseQuota(t *testing.T, namespace string, name corev1.ResourceName, hard int64) {
	t.Helper()
	quotas := stack.Kubernetes.CoreV1().ResourceQuotas(namespace)
	patch := fmt.Appendf(nil, `{"spec":{"hard":{%q:"%d"}}}`, name, hard)
	if _, err := quotas.Patch(t.Context(), "quota", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("raise quota: %v", err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		quota, err := quotas.Get(ctx, "quota", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if published, ok := quota.Status.Hard[name]; !ok || published.Value() != hard {
			return fmt.Errorf("published: %v", quota.Status.Hard)
		}
		return nil
	})
}

// hasEventOfKind returns nil when any object of a kind has a Warning with the
// reason and the words.
func hasEventOfKind(ctx context.Context, namespace, kind, reason, words string) error {
	events, err := stack.Kubernetes.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if event.InvolvedObject.Kind == kind && event.Reason == reason && event.Type == corev1.EventTypeWarning && strings.Contains(event.Message, words) {
			return nil
		}
	}
	return fmt.Errorf("no %s has an Event %s with %q", kind, reason, words)
}

// Deleting a namespace in the middle of a run leaves nothing behind: no Pod held
// by the finalizer, no workflow that waits for ever.
func TestNamespaceDeletedMidRun(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "doomed", harness.Minutely, harness.JobSpec(harness.RunSeconds(600))))
	awaitWorkflow(t, namespace, "doomed")
	stack.Signal(t, harness.CronJobWorkflow(namespace, "doomed"), protocol.TriggerSignal, nil)
	var run string
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		if len(jobs) == 0 || jobs[0].Status.Active == 0 {
			return errors.New("no run is active")
		}
		run = jobs[0].Name
		return nil
	})
	if err := stack.Kubernetes.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.NamespaceRemoved, func(ctx context.Context) error {
		_, err := stack.Kubernetes.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err == nil {
			return errors.New("the namespace is still there")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	for _, id := range []string{harness.CronJobWorkflow(namespace, "doomed"), harness.JobWorkflow(namespace, run)} {
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return closed(ctx, id) })
	}
}

func closed(ctx context.Context, workflowID string) error {
	status, err := stack.WorkflowStatus(ctx, workflowID)
	if err != nil {
		return err
	}
	if status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return fmt.Errorf("%s is %s", workflowID, status)
	}
	return nil
}

// Deleting a Job in the middle of its run frees its Pods and ends its workflow;
// the CronJob forgets it and says so.
func TestJobDeletedMidRun(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "owner", harness.Yearly, harness.JobSpec(harness.RunSeconds(600))))
	awaitWorkflow(t, namespace, "owner")
	stack.Signal(t, harness.CronJobWorkflow(namespace, "owner"), protocol.TriggerSignal, nil)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return onlyActive(ctx, namespace, "owner", 1) })
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d Jobs, %v", len(jobs), err)
	}
	background := metav1.DeletePropagationBackground
	if err := stack.Kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), jobs[0].Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return onlyActive(ctx, namespace, "owner", 0) })
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "owner", "MissingJob")
	})
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return closed(ctx, harness.JobWorkflow(namespace, jobs[0].Name)) })
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.Pods(ctx, namespace)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d Pods are left", len(pods))
		}
		return err
	})
}

// A Job whose Pods Kubernetes refuses for good shows it by an Event on the Job.
func TestPodRefusedByAdmission(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := stack.Kubernetes.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	stack.CreateJob(t, namespace, "privileged", harness.JobSpec(func(spec *batchv1.JobSpec) {
		spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	}))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return hasEventOfKind(ctx, namespace, "Job", "FailedCreate", "violates PodSecurity")
	})
	job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), "privileged", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if job.Status.Active != 0 || job.Status.Failed != 0 {
		t.Errorf("a Pod that never existed is counted: %+v", job.Status)
	}
}
