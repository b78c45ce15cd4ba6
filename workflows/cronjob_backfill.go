package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// handleBackfills serves the update "backfill".
func (c *runningCronJob) handleBackfills(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, protocol.BackfillUpdate, c.backfill, workflow.UpdateHandlerOptions{
		Validator:   c.validateBackfill,
		Description: `Runs past times of the schedule: {"from": time, "to": time, "parallelism": number, "overlap": policy, "dryRun": bool} or {"cancel": true}`,
	})
}

// validateBackfill refuses what can't be carried out. Replays don't call it, so it may read time zone data.
//
//workflowcheck:ignore what a validator says is never replayed.
func (c *runningCronJob) validateBackfill(ctx workflow.Context, request protocol.BackfillRequest) error {
	asked := schedule.BackfillRequest(request)
	mistake := asked.Mistake(c.spec, workflow.Now(ctx))
	if mistake == "" && !asked.Cancel && !c.unread {
		// Before the CronJob was read it is not known what the times count from: the handler waits for that.
		mistake = c.whyNot(asked, schedule.TimesBetween(c.spec, c.state, asked.From, asked.To))
	}
	if mistake != "" {
		return errors.New(mistake)
	}
	return nil
}

// whyNot says why a backfill of these times can't be added; empty if it can.
func (c *runningCronJob) whyNot(asked schedule.BackfillRequest, found schedule.BackfillTimes) string {
	if found.Mistake != "" || asked.DryRun {
		return found.Mistake
	}
	return schedule.NoRoom(c.state, len(c.askedBackfills))
}

// backfill answers the update, after asking whether the object takes backfills.
func (c *runningCronJob) backfill(ctx workflow.Context, request protocol.BackfillRequest) (answer protocol.BackfillAnswer, err error) {
	asked := schedule.BackfillRequest(request)
	asked.Note, asked.By = trimNote(asked.Note), trimNote(asked.By)
	why, err := c.unreadable(ctx)
	if why != "" || err != nil {
		return answer, cmp.Or(err, refusedBackfill(why))
	}
	dropped := c.dropped
	question := protocol.FindRunsRequest{CronJob: c.reference, Basis: c.state.Basis, Backfill: true}
	result, err := perform(ctx, takesBackfill, "ask "+c.reference.Name+" for a backfill", question, callOptions{})
	switch {
	case err != nil:
		return answer, refusedBackfill("the API server can't be asked for the CronJob: " + shortError(err))
	case result.Gone:
		return answer, refusedBackfill("the CronJob is gone")
	case result.Refused != "":
		return answer, refusedBackfill(result.Refused)
	case result.Overtaken && !c.looked(ctx, dropped):
		return answer, refusedBackfill(whyUnreadable)
	case c.dropped != dropped:
		return answer, refusedBackfill(askAgain)
	case asked.Cancel:
		for _, backfill := range c.state.Backfills {
			answer.Cancelled += len(backfill.Times)
		}
		answer.Accepted, answer.Cancelled = true, answer.Cancelled+len(slices.Concat(c.askedBackfills...))
		c.asked = append(c.asked, func(time.Time) { c.state = schedule.CancelBackfills(c.state) })
		return answer, nil
	}
	spec, found, user := c.spec, c.times(ctx, asked), ""
	if result.CallerHeader {
		user = callerOf(ctx)
	}
	if mistake := c.whyNot(asked, found); mistake != "" {
		return answer, refusedBackfill(mistake)
	}
	if !asked.DryRun {
		c.asked = append(c.asked, func(now time.Time) {
			c.state = schedule.AddBackfill(c.state, spec, asked, user, found.Times, now)
		})
		c.askedBackfills = append(c.askedBackfills, found.Times)
	}
	return protocol.BackfillAnswerOf(found.Times, asked.DryRun), nil
}

// looked has the main loop look at the CronJob, whose status is later than the state: because of a write that is under way, or since
// the state is of the past, and what was heard is dropped. It reports whether that is known.
func (c *runningCronJob) looked(ctx workflow.Context, dropped int) bool {
	asked := false
	c.asked = append(c.asked, func(time.Time) { c.stale, asked = true, true })
	// The only error is that of a cancelled workflow, which goes on.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(ctx, func() bool {
		known := asked && !c.stale && !c.unread
		return known || c.gone || c.dropped != dropped || c.pause.failures+c.behind.failures > 0
	})
	return c.dropped != dropped || !c.gone && !c.stale && !c.unread
}

func refusedBackfill(why string) error {
	return temporal.NewNonRetryableApplicationError(why, protocol.BackfillRefusedErrorType, nil)
}

// times records the times of a range: a replay with other time zone data has the same.
func (c *runningCronJob) times(ctx workflow.Context, request schedule.BackfillRequest) schedule.BackfillTimes {
	found := workflow.SideEffect(ctx, func(workflow.Context) any {
		return schedule.TimesBetween(c.spec, c.state, request.From, request.To)
	})
	return schedule.BackfillTimes(recorded[protocol.BackfillTimes](found))
}
