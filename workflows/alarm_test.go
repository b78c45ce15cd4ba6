package workflows

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A timer that the server has lost never fires: it must not be taken for the next run's.
func TestAnAlarmWhoseTimerIsLostIsSetAnew(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestWorkflowEnvironment()
	environment.ExecuteWorkflow(func(ctx workflow.Context) error {
		now := workflow.Now(ctx)
		never, _ := workflow.NewFuture(ctx)
		for name, test := range map[string]struct {
			at   time.Time
			kept bool
		}{
			"before its time": {now.Add(time.Minute), true},
			"after its time":  {now.Add(-time.Minute), false},
		} {
			cancelled := false
			a := alarm{at: test.at, reason: "next run", timer: never, cancel: func() { cancelled = true }}
			a.set(ctx, now.Add(time.Hour), "next run")
			if cancelled == test.kept || (a.timer == never) != test.kept {
				t.Errorf("%s: the timer was cancelled: %v, the alarm is that of %s", name, cancelled, a.at)
			}
			a.stop()
		}
		return nil
	})
	if err := environment.GetWorkflowError(); err != nil {
		t.Error(err)
	}
}
