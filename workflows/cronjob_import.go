package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// handleImports serves the update "restore-ledger".
func (c *runningCronJob) handleImports(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, protocol.RestoreLedgerUpdate, c.restoreLedger, workflow.UpdateHandlerOptions{
		Validator:   func(_ workflow.Context, request protocol.RestoreLedgerRequest) error { return request.Validate() },
		Description: "Gives the ledger back rows of an export, which `ostinato import` sends",
	})
}

// restoreLedger answers the update.
func (c *runningCronJob) restoreLedger(
	ctx workflow.Context, request protocol.RestoreLedgerRequest,
) (answer protocol.RestoreLedgerAnswer, err error) {
	why, err := c.unreadable(ctx)
	if request.UID != c.reference.UID {
		why = "the CronJob has another uid: " + c.reference.UID
	}
	if why != "" || err != nil {
		return answer, cmp.Or(err, errors.New(why))
	}
	done, dropped := false, c.dropped
	c.asked = append(c.asked, func(now time.Time) {
		state, said := schedule.Import(c.state, request.Rows, now)
		answer, done = said, true
		if !request.DryRun {
			c.state = state
		}
	})
	// A cancellation of the workflow stops nothing.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err = workflow.Await(ctx, func() bool { return done || c.gone || c.dropped != dropped })
	if !done && err == nil {
		err = errors.New(askAgain)
	}
	return answer, err
}
