package workflows_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
)

func saysCancelled(one event.Event) bool { return one.Reason == event.WorkflowCancelled }

// A workflow that waits after calls that failed carries the Event into the run that follows.
func TestCronJobThatIsCancelledInAPauseContinuesAsNewAtOnce(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.All {
			return nil, nil
		}
		return nil, temporal.NewNonRetryableApplicationError("forbidden", "Forbidden", nil)
	}
	const cancelled = 10*time.Minute + 500*time.Millisecond
	k.after(cancelled, k.environment.CancelWorkflow)
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("*/20 * * * *", allow)}))
	if now := k.environment.Now(); !now.Equal(cronStart.Add(cancelled)) {
		t.Errorf("continued at %s", now)
	}
	if next.State == nil || !slices.ContainsFunc(next.State.Outbox, saysCancelled) {
		t.Errorf("goes on with %+v", next.State)
	}
}

// What was received and could not be carried out goes on with it.
func TestCronJobThatIsCancelledInAPauseKeepsWhatItWasAsked(t *testing.T) {
	k := newCronJobKube(t)
	k.refuseSuspend = errors.New("connection refused")
	k.signal(time.Minute, protocol.SuspendSignal, protocol.SignalNote{By: "ada"})
	k.after(12*time.Minute, k.environment.CancelWorkflow)
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("*/20 * * * *", allow)}))
	if len(next.Wishes) != 1 || !next.Wishes[0].Suspend || !slices.ContainsFunc(next.State.Outbox, saysCancelled) {
		t.Errorf("goes on with wishes %+v and Events %+v", next.Wishes, next.State.Outbox)
	}
}
