package workflows

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// takeTrigger asks the planner for a manual run. If the argument can't be read, it is not known what it asks for.
func (c *runningCronJob) takeTrigger(ctx workflow.Context, received message) {
	read := argumentOf(ctx, received)
	request := schedule.TriggerRequest{
		Note: read.Note, Overlap: batchv1.ConcurrencyPolicy(read.overlap),
		Asked: ledger.Asked{By: read.By, Through: ledger.ThroughSignal}, Caller: received.caller,
	}
	if read.unread != "" {
		c.state = schedule.RefuseTrigger(c.state, request, "the signal's argument can't be read: "+read.unread+
			`; want text, or JSON such as {"overlap": "Queue", "note": "once more", "by": "ada"}`, workflow.Now(ctx))
		return
	}
	c.state = schedule.AddTrigger(c.state, request, workflow.Now(ctx))
}

// handleTriggers serves the update "trigger".
func (c *runningCronJob) handleTriggers(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, protocol.TriggerUpdate, c.trigger, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, request protocol.TriggerRequest) error {
			mistake := schedule.OverlapMistake(request.Overlap)
			if request.Cancel && request.Overlap != "" {
				mistake = "cancel takes back all triggers that wait: send it without overlap"
			}
			if mistake != "" {
				return errors.New(mistake)
			}
			return nil
		},
		Description: `Starts a run now: {"overlap": policy, "note": text, "by": name}, or takes back those that wait: {"cancel": true}. Answers {"job": name, "runs": "now", "queued" or "refused", "reason": text}`,
	})
}

// askAgain is the answer to what was dropped.
const askAgain = "the CronJob's status is later than the workflow, which begins anew from it: ask again"

// trigger answers the update once it is known what becomes of the run.
func (c *runningCronJob) trigger(ctx workflow.Context, request protocol.TriggerRequest) (answer protocol.TriggerAnswer, err error) {
	asked := schedule.TriggerRequest{
		Note: trimNote(request.Note), Overlap: request.Overlap,
		Asked: ledger.Asked{By: trimNote(request.By), Through: ledger.ThroughUpdate}, Caller: callerOf(ctx),
	}
	why, err := c.unreadable(ctx)
	if why != "" || err != nil {
		return protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: why}, err
	}
	if request.Cancel {
		return c.cancelTriggers(ctx)
	}
	// sequence is the trigger's number; 0 until the main loop has taken it.
	var sequence int64
	dropped := c.dropped
	c.asked = append(c.asked, func(now time.Time) {
		c.state = schedule.AddTrigger(c.state, asked, now)
		sequence = c.state.TriggerSequence
	})
	// A cancellation of the workflow stops nothing.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err = workflow.Await(ctx, func() (known bool) {
		if sequence != 0 {
			answer, known = schedule.Answer(c.state, sequence)
		} else if c.dropped != dropped {
			answer, known = protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: askAgain}, true
		}
		if !known && c.gone {
			answer, known = protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: "the CronJob is gone"}, true
		}
		return known
	})
	return answer, err
}

// cancelTriggers takes back the triggers that have not started, after asking whether the object takes triggers.
func (c *runningCronJob) cancelTriggers(ctx workflow.Context) (answer protocol.TriggerAnswer, err error) {
	dropped := c.dropped
	question := protocol.FindRunsRequest{CronJob: c.reference, Basis: c.state.Basis, Trigger: true}
	result, err := perform(ctx, takesBackfill, "ask "+c.reference.Name+" for its triggers", question, callOptions{})
	why := ""
	switch {
	case err != nil:
		why = "the API server can't be asked for the CronJob: " + shortError(err)
	case result.Gone:
		why = "the CronJob is gone"
	case result.Refused != "":
		why = result.Refused
	case result.Overtaken, c.dropped != dropped:
		why = askAgain
	}
	if why != "" {
		return protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: why}, nil
	}
	done := false
	c.asked = append(c.asked, func(time.Time) {
		c.state, answer.Cancelled = schedule.CancelTriggers(c.state)
		done = true
	})
	// A cancellation of the workflow stops nothing.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err = workflow.Await(ctx, func() bool { return done || c.gone || c.dropped != dropped })
	if answer.Runs = schedule.RunsNone; !done {
		answer.Runs, answer.Reason = schedule.RunsRefused, askAgain
	}
	return answer, err
}
