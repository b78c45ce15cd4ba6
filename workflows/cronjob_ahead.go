package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/schedule"
)

// ahead returns the plan that starts the next run, where it is time to prepare that. The
// activity holds it until the time of the run. What is evaluated for it is kept only if
// the plan is carried out.
func (c *runningCronJob) ahead(ctx workflow.Context, now time.Time) (schedule.Plan, bool) {
	due, ok := schedule.Ahead(c.state, c.spec, now)
	if !ok {
		return schedule.Plan{}, false
	}
	return schedule.DecideAhead(c.evaluated(ctx, c.state, due), c.spec, due)
}
