package deploy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
)

// What admission can't see of a template, status says at each generation, with the rights
// that the manifests give, and long before the run.
func TestATemplateThatTheAPIServerWouldRefuse(t *testing.T) {
	namespace := stack.Namespace(t)
	cronJob := harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec())
	container := &cronJob.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	stack.AddCronJob(t, cronJob)
	judged(t, namespace, metav1.ConditionFalse, 1, `volumeMounts[0].name: Not found: "data"`)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "yearly", "InvalidTemplate")
	})

	mend := `[{"op": "remove", "path": "/spec/jobTemplate/spec/template/spec/containers/0/volumeMounts"}]`
	if _, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), "yearly", types.JSONPatchType, []byte(mend), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	judged(t, namespace, metav1.ConditionTrue, 2, "")
	reasons, err := stack.EventReasons(t.Context(), namespace, "CronJob", "yearly")
	if err != nil || reasons["InvalidTemplate"] != 1 {
		t.Errorf("Events %v %v", reasons, err)
	}
	if jobs, err := stack.Jobs(t.Context(), namespace); err != nil || len(jobs) != 0 {
		t.Errorf("a dry run has left %d Jobs %v", len(jobs), err)
	}
}

// A quota is looked at last, so that all else of the Job has been checked.
func TestAUsedUpQuotaIsNoFaultOfTheTemplate(t *testing.T) {
	namespace := stack.Namespace(t)
	stack.AddQuota(t, namespace, "none", corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")})
	_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: harness.JobSpec(),
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Fatalf("a dry run with a used-up quota: %v", err)
	}
	stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec()))
	judged(t, namespace, metav1.ConditionTrue, 1, "")
}

func judged(t *testing.T, namespace string, status metav1.ConditionStatus, generation int64, says string) {
	t.Helper()
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "yearly")
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionTemplateValid)
		if condition == nil || condition.Status != status || condition.ObservedGeneration != generation || !strings.Contains(condition.Message, says) {
			return fmt.Errorf("condition %+v", condition)
		}
		return nil
	})
}
