package tenant

import (
	"context"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// forgedLateness is how late a run is said to have been.
	forgedLateness = 119 * time.Second
	// overdue is how late a run is when the bridge nudges its workflow: the grace and a period of the watchdog.
	overdue = 15*time.Second + 10*time.Second + harness.Slack
)

// TestLatenessThatATenantClaimsMakesNobodyPatient: a tenant makes a Job as his CronJob's controller would have made it, two
// minutes late. The workflow of another namespace's CronJob is stuck, and is nudged when it is overdue as ever.
func TestLatenessThatATenantClaimsMakesNobodyPatient(t *testing.T) {
	tenant, other := stack.Namespace(t), stack.Namespace(t)
	forging := stack.AddCronJob(t, harness.NewCronJob(tenant, "forging", harness.Minutely, harness.JobSpec(harness.RunSeconds(1))))
	stack.AddCronJob(t, harness.NewCronJob(other, "stuck", harness.Minutely, harness.JobSpec(harness.RunSeconds(1))))
	forgeRun(t, forging, time.Now().Add(-forgedLateness))

	worker := stack.Workers()[0].PID()
	hold(t, worker, syscall.SIGSTOP)
	defer hold(t, worker, syscall.SIGCONT)
	cronJob, err := stack.CronJob(t.Context(), other, "stuck")
	if err != nil {
		t.Fatal(err)
	}
	due := cronJob.Status.NextScheduleTime.Time
	var nudged time.Time
	harness.Eventually(t, time.Until(due)+overdue, func(ctx context.Context) error {
		events, err := stack.History(ctx, harness.CronJobWorkflow(other, "stuck"))
		if err != nil {
			return err
		}
		nudged, err = signalled(events, protocol.CronJobSpecSignal, due)
		return err
	})
	t.Logf("nudged %s after it was due", nudged.Sub(due).Round(time.Second))
}

// forgeRun creates the Job of a run.
func forgeRun(t *testing.T, cronJob *ostinatov1.CronJob, at time.Time) {
	t.Helper()
	at = at.UTC().Truncate(time.Second)
	run := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            names.ScheduledJob(cronJob.Name, at),
			Annotations:     map[string]string{names.ScheduledTimestampAnnotation: at.Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, ostinatov1.GroupVersion.WithKind("CronJob"))},
		},
		Spec: harness.JobSpec(harness.RunSeconds(1)),
	}
	if _, err := stack.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(t.Context(), run, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
