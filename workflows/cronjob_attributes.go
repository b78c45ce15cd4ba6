package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// Search attributes that say how a CronJob is.
var (
	suspendedAttribute  = temporal.NewSearchAttributeKeyBool(protocol.CronJobSuspendedAttribute)
	lastResultAttribute = temporal.NewSearchAttributeKeyKeyword(protocol.CronJobLastResultAttribute)
	nextRunAttribute    = temporal.NewSearchAttributeKeyTime(protocol.CronJobNextRunAttribute)
)

// attribute sets the search attributes that say how the CronJob is, beside the write of a status. That costs an event, so it is
// done once a run, at its end: until then the next run is the active one. A suspension is shown at once.
func (c *runningCronJob) attribute(ctx workflow.Context) {
	if !c.statusAttributes {
		return
	}
	known := workflow.GetTypedSearchAttributes(ctx)
	shown, isShown := known.GetBool(suspendedAttribute)
	if isShown && shown == c.spec.Suspend && !c.runsEnded {
		return
	}
	c.runsEnded = false
	var updates []temporal.SearchAttributeUpdate
	if !isShown || shown != c.spec.Suspend {
		updates = append(updates, suspendedAttribute.ValueSet(c.spec.Suspend))
	}
	last, _ := known.GetKeyword(lastResultAttribute)
	if ended := string(c.state.LastEnded()); ended != "" && ended != last {
		updates = append(updates, lastResultAttribute.ValueSet(ended))
	}
	next := c.state.NextTime(c.spec)
	switch due, isKnown := known.GetTime(nextRunAttribute); {
	case next.IsZero() && isKnown:
		updates = append(updates, nextRunAttribute.ValueUnset())
	case !next.IsZero() && !next.Equal(due):
		updates = append(updates, nextRunAttribute.ValueSet(next.UTC()))
	}
	if len(updates) == 0 {
		return
	}
	// The only error is that of attributes that can't be encoded, and these can.
	_ = workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
