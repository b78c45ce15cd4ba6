package failure

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

// The API server is away for 30 s, across the end of a Pod, a trigger, a scheduled
// time and a suspension by signal. All of it takes effect when it is back, once.
func TestAPIServerDown(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	due := minuteAfter(preparations)
	until(t, due.Add(-preparations))
	run := startRunIn(t, namespace, record, "steady", 15)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "triggered", harness.Yearly, harness.JobSpec()))
	stack.AddCronJob(t, harness.NewCronJob(namespace, "suspended", harness.Yearly, harness.JobSpec()))
	stack.AddCronJob(t, harness.NewCronJob(namespace, "minutely", harness.Minutely, harness.JobSpec()))
	strict := harness.NewCronJob(namespace, "strict", harness.Minutely, harness.JobSpec())
	strict.Spec.StartingDeadlineSeconds = ptr.To(int64(5))
	stack.AddCronJob(t, strict)

	if err := stack.Stack.ControlPlane.StopAPIServer(); err != nil {
		t.Fatal(err)
	}
	down := time.Now()
	if !down.Before(due) {
		t.Fatalf("the preparations took until %s, too late for the run of %s", down, due)
	}
	stack.Signal(t, harness.CronJobWorkflow(namespace, "triggered"), protocol.TriggerSignal, nil)
	stack.Signal(t, harness.CronJobWorkflow(namespace, "suspended"), protocol.SuspendSignal, nil)
	until(t, down.Add(outage))
	if err := stack.Stack.ControlPlane.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The built-in controllers back off for up to a minute; nothing here is about them.
	if err := stack.Stack.ControlPlane.StartControllerManager(t.Context(), controlplane.ControllerManagerOptions{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	if err := restartBridge(t.Context()); err != nil {
		t.Fatal(err)
	}

	run.podEnded(t)
	run.finishesOnce(t, harness.AfterOutage)
	ranOnce(t, record, "minutely", due)
	harness.Eventually(t, harness.AfterOutage, func(context.Context) error {
		if jobs := record.Jobs("triggered"); len(jobs) != 1 {
			return fmt.Errorf("the trigger made %d Jobs", len(jobs))
		}
		return nil
	})
	finishesOnce(t, record, namespace, record.Jobs("triggered")[0].Name, harness.AfterOutage)
	harness.Eventually(t, harness.AfterOutage, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "suspended")
		if err != nil {
			return err
		}
		if cronJob.Spec.Suspend == nil || !*cronJob.Spec.Suspend {
			return fmt.Errorf("spec.suspend is %v", cronJob.Spec.Suspend)
		}
		return suspended(ctx, namespace, "suspended")
	})
	harness.Eventually(t, harness.AfterOutage, func(ctx context.Context) error { return missed(ctx, namespace, "strict", due) })
	if jobs := record.Scheduled("strict")[due.UTC()]; len(jobs) != 0 {
		t.Errorf("the run that was missed has the Job %s", jobs[0].Name)
	}
	survivors(t, stack.Workers())
}
