package workflows

import (
	"cmp"
	"errors"
	"fmt"
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
	if mistake == "" && c.unread {
		// The handler waits for what the times count from.
		return nil
	}
	if mistake == "" && !asked.Cancel {
		mistake = schedule.TimesBetween(c.spec, c.state, asked.From, asked.To).Mistake
	}
	if mistake == "" && !asked.Cancel && !asked.DryRun {
		mistake = schedule.NoRoom(c.state, len(c.askedBackfills))
	}
	if mistake != "" {
		return errors.New(mistake)
	}
	return nil
}

// backfill answers the update, after asking whether the object takes backfills.
func (c *runningCronJob) backfill(ctx workflow.Context, request protocol.BackfillRequest) (answer protocol.BackfillAnswer, err error) {
	asked := schedule.BackfillRequest(request)
	asked.Note, asked.By = trimNote(asked.Note), trimNote(asked.By)
	question := protocol.FindRunsRequest{CronJob: c.reference, Backfill: true}
	unreadable, err := c.unreadable(ctx)
	if unreadable || err != nil {
		return answer, cmp.Or(err, refusedBackfill(whyUnreadable))
	}
	result, err := perform(ctx, takesBackfill, "ask "+c.reference.Name+" for a backfill", question, callOptions{})
	switch {
	case err != nil:
		return answer, refusedBackfill("the API server can't be asked for the CronJob: " + shortError(err))
	case result.Gone:
		return answer, refusedBackfill("the CronJob is gone")
	case result.Refused != "":
		return answer, refusedBackfill(result.Refused)
	case asked.Cancel:
		for _, backfill := range c.state.Backfills {
			answer.Cancelled += len(backfill.Times)
		}
		answer.Accepted, answer.Cancelled = true, answer.Cancelled+len(slices.Concat(c.askedBackfills...))
		c.asked = append(c.asked, func(time.Time) { c.state = schedule.CancelBackfills(c.state) })
		return answer, nil
	}
	spec, found := c.spec, c.times(ctx, asked)
	if found.Mistake != "" {
		return answer, refusedBackfill(found.Mistake)
	}
	if !asked.DryRun {
		if full := schedule.NoRoom(c.state, len(c.askedBackfills)); full != "" {
			return answer, refusedBackfill(full)
		}
		c.asked = append(c.asked, func(now time.Time) { c.state = schedule.AddBackfill(c.state, spec, asked, found.Times, now) })
		c.askedBackfills = append(c.askedBackfills, found.Times)
	}
	return protocol.BackfillAnswerOf(found.Times, asked.DryRun), nil
}

func refusedBackfill(why string) error {
	return temporal.NewNonRetryableApplicationError(why, protocol.BackfillRefusedErrorType, nil)
}

// times records the times of a range: a replay with other time zone data has the same.
func (c *runningCronJob) times(ctx workflow.Context, request schedule.BackfillRequest) schedule.BackfillTimes {
	recorded := workflow.SideEffect(ctx, func(workflow.Context) any {
		return schedule.TimesBetween(c.spec, c.state, request.From, request.To)
	})
	var found protocol.BackfillTimes
	if err := recorded.Get(&found); err != nil {
		// As in evaluated.
		panic(fmt.Errorf("read recorded times of a backfill of CronJob %s/%s: %w", c.reference.Namespace, c.reference.Name, err))
	}
	return schedule.BackfillTimes(found)
}
