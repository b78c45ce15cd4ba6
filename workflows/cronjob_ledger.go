package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// pageRows is how many rows the ledger query answers with unless it says, mostPageRows
	// how many at most.
	pageRows     = 50
	mostPageRows = 300
)

// ScheduledTimesMetric counts scheduled times and triggers by outcome. The SDK adds _total.
const ScheduledTimesMetric = "ostinato_cronjob_scheduled_times"

// ledger answers the ledger query.
func (c *runningCronJob) ledger(question protocol.LedgerQuestion) (protocol.LedgerPage, error) {
	asked := schedule.Question(question)
	if mistake := asked.Mistake(); mistake != "" {
		return protocol.LedgerPage{}, errors.New(mistake)
	}
	if asked.Limit <= 0 {
		asked.Limit = pageRows
	}
	asked.Limit = min(asked.Limit, mostPageRows)
	page := schedule.PageOf(c.state, asked)
	answer := protocol.LedgerPage{Rows: []protocol.LedgerRow{}, Before: page.Before, Dropped: page.Dropped}
	for _, entry := range page.Rows {
		row := protocol.LedgerRow{LedgerEntry: entry}
		if !entry.Ended.IsZero() {
			row.Duration = entry.Duration().Round(time.Second).String()
		}
		answer.Rows = append(answer.Rows, row)
	}
	return answer, nil
}

// tally counts the outcomes that are new. The SDK's handler counts nothing during a
// replay, so each counts once unless the workflow task that settled it is repeated.
func (c *runningCronJob) tally(ctx workflow.Context) {
	var tallies []schedule.Tally
	c.state, tallies = schedule.Tallied(c.state)
	for _, tally := range tallies {
		tags := map[string]string{"outcome": string(tally.Outcome)}
		workflow.GetMetricsHandler(ctx).WithTags(tags).Counter(ScheduledTimesMetric).Inc(tally.Times)
	}
}
