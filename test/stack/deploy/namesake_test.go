package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// Whoever moves a manifest by its apiVersion gets a second object, and the first goes on
// creating Jobs until it is suspended or deleted.
func TestANativeCronJobOfTheSameNameIsWarnedOf(t *testing.T) {
	namespace := stack.Namespace(t)
	natives := stack.Kubernetes.BatchV1().CronJobs(namespace)
	_, err := natives.Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "report"},
		Spec:       batchv1.CronJobSpec{Schedule: harness.Yearly, JobTemplate: batchv1.JobTemplateSpec{Spec: harness.JobSpec()}},
	}, metav1.CreateOptions{})
	fatal(t, err)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "report", harness.Yearly, harness.JobSpec()))
	namesakeIs(t, namespace, metav1.ConditionTrue, "kubectl -n "+namespace+" delete cronjobs.batch report")
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "report", "NativeCronJobActive")
	})

	// The worker writes the whole status, and leaves the bridge's condition where it is.
	stack.Trigger(t, namespace, "report")
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "report")
		if err == nil && (len(cronJob.Status.RecentRuns) == 0 || cronJob.Status.RecentRuns[0].Result != "Complete") {
			err = fmt.Errorf("status %+v", cronJob.Status)
		}
		return err
	})
	namesakeIs(t, namespace, metav1.ConditionTrue, "")

	_, err = natives.Patch(t.Context(), "report", types.MergePatchType, []byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{})
	fatal(t, err)
	namesakeIs(t, namespace, metav1.ConditionFalse, "suspended")
	_, err = natives.Patch(t.Context(), "report", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	fatal(t, err)
	namesakeIs(t, namespace, metav1.ConditionTrue, "")
	fatal(t, natives.Delete(t.Context(), "report", metav1.DeleteOptions{}))
	namesakeIs(t, namespace, metav1.ConditionFalse, "There is no batch/v1 CronJob")
}

func namesakeIs(t *testing.T, namespace string, status metav1.ConditionStatus, says string) {
	t.Helper()
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "report")
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionNativeCronJobActive)
		if condition == nil || condition.Status != status || !strings.Contains(condition.Message, says) {
			return fmt.Errorf("condition %+v", condition)
		}
		return nil
	})
}

// Whoever has the bridge's token changes no field of a status but that condition.
func TestTheBridgesTokenWritesOneCondition(t *testing.T) {
	clients, err := deployment.Clients(t.Context(), stack.Stack, deployment.BridgeAccount)
	fatal(t, err)
	namespace := stack.Namespace(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "report", harness.Yearly, harness.JobSpec()))
	patch := func(ctx context.Context, status string) error {
		_, err := clients.CronJobs.CronJobs(namespace).Patch(ctx, "report", types.MergePatchType,
			[]byte(`{"status":`+status+`}`), metav1.PatchOptions{DryRun: dryRun}, "status")
		return err
	}
	now := metav1.Now().Rfc3339Copy()
	time, err := json.Marshal(now)
	fatal(t, err)
	values := map[string]string{
		"active":                `[{"kind":"Job","name":"forged"}]`,
		"activeCount":           `7`,
		"lastScheduleTime":      string(time),
		"lastSuccessfulTime":    string(time),
		"observedGeneration":    `7`,
		"nextScheduleTime":      string(time),
		"next":                  `"Suspended"`,
		"accountedUntil":        string(time),
		"queued":                `7`,
		"recentRuns":            `[{"scheduledTime":` + string(time) + `,"outcome":"Started"}]`,
		"lastOutcome":           `"Started"`,
		"lastResult":            `"Complete"`,
		"lastFailureTime":       string(time),
		"consecutiveFailures":   `7`,
		"medianDurationSeconds": `7`,
		"conditions":            `[{"type":"Suspended","status":"True","reason":"Forged","message":"","lastTransitionTime":` + string(time) + `}]`,
		"workflow":              `{"namespace":"default","id":"forged"}`,
		"revision":              `1000`,
		"planDigest":            `"forged"`,
	}
	for field := range reflect.TypeFor[ostinatov1.CronJobStatus]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, known := values[name]
		if !known {
			t.Errorf("no value to forge status.%s with: add one here, and the field to the admission policy ostinato-bridge-cronjobs", name)
			continue
		}
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
			if err := patch(ctx, `{"`+name+`":`+value+`}`); !apierrors.IsForbidden(err) {
				return fmt.Errorf("status.%s is not protected: %w", name, err)
			}
			return nil
		})
	}
	condition := metav1.Condition{
		Type: ostinatov1.ConditionNativeCronJobActive, Status: metav1.ConditionTrue, Reason: "NativeCronJobActive", LastTransitionTime: now,
	}
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		read, err := clients.CronJobs.CronJobs(namespace).Get(ctx, cronJob.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("the bridge can't read the CronJob: %w", err)
		}
		if err := k8s.ApplyCronJobConditions(ctx, clients.CronJobs, read, condition); err != nil {
			return fmt.Errorf("the bridge can't write its own condition: %w", err)
		}
		return nil
	})
	if _, err := clients.CronJobs.CronJobs(namespace).Patch(t.Context(), "report", types.MergePatchType,
		[]byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{DryRun: dryRun}); !apierrors.IsForbidden(err) {
		t.Errorf("the bridge's token edits a spec: %v", err)
	}
}
