package workflows

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A timer that the server has lost never fires: it must not be taken for the next run's.
func TestAnAlarmThatIsLostIsDisarmed(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestWorkflowEnvironment()
	cancelled := 0
	environment.SetOnTimerCanceledListener(func(string) { cancelled++ })
	environment.ExecuteWorkflow(func(ctx workflow.Context) error {
		now := workflow.Now(ctx)
		var a alarm
		if a.lost(now) {
			t.Error("an alarm that is not armed is lost")
		}
		a.set(ctx, now.Add(time.Hour), "next run")
		if a.lost(now.Add(30 * time.Minute)) {
			t.Error("lost before its time")
		}
		if !a.lost(now.Add(61*time.Minute)) || a.timer != nil {
			t.Errorf("not lost after its time: %+v", a)
		}
		a.set(ctx, now.Add(time.Hour), "next run")
		if err := workflow.Sleep(ctx, 2*time.Hour); err != nil {
			return err
		}
		if a.lost(workflow.Now(ctx)) {
			t.Error("lost although it has gone off")
		}
		return nil
	})
	if err := environment.GetWorkflowError(); err != nil || cancelled != 1 {
		t.Errorf("error %v, %d timers cancelled, want 1", err, cancelled)
	}
}
