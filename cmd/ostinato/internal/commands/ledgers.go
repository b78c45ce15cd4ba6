package commands

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/ledger"
)

// readLedger reads up to limit rows of a CronJob, newest first: from its status where that has them, else from Temporal.
func (p *person) readLedger(ctx context.Context, cronJob *ostinatov1.CronJob, limit int, since, until time.Time) answer.Ledger {
	known := answer.Ledger{Rows: cronJob.Status.RecentRuns, Whole: len(cronJob.Status.RecentRuns) < statusRows}
	if unlisted(cronJob) == 0 && (known.Whole || limit <= len(known.Rows) && since.IsZero() || enough(known.Rows, since)) {
		return known
	}
	workflows, err := p.workflows(ctx)
	if err == nil {
		var rows []ostinatov1.RecentRun
		var whole bool
		if rows, whole, err = workflows.Ledger(ctx, cronJob, question(limit, since, until)); err == nil {
			return answer.Ledger{Rows: rows, Whole: whole}
		}
		err = p.giveUp(err)
	}
	known.Unseen = fmt.Sprintf("Only the last %d rows could be read, from the object's status: %s. Set TEMPORAL_ADDRESS or --temporal-address to see more.", len(known.Rows), cmp.Or(reason(err), "no answer"))
	return known
}

// readHistory is readLedger with the last suspensions, which no status has.
func (p *person) readHistory(ctx context.Context, cronJob *ostinatov1.CronJob, limit int, since, until time.Time) answer.Ledger {
	known := p.readLedger(ctx, cronJob, limit, since, until)
	if !answer.WasSuspended(cronJob) || known.Unseen != "" {
		return known
	}
	workflows, err := p.workflows(ctx)
	if err == nil {
		known.Suspensions, err = workflows.Suspensions(ctx, cronJob)
		err = p.giveUp(err)
	}
	if err != nil {
		known.Unseen = fmt.Sprintf("Who has suspended and resumed it could not be read: %s.", reason(err))
	}
	return known
}

// giveUp lets nothing ask Temporal again that can't be reached: each of a thousand questions would wait for its answer. It
// returns the error that was the first to say so, or the given one where that is about something else.
func (p *person) giveUp(err error) error {
	if !ask.Unreachable(err) {
		return err
	}
	p.found.Lock()
	defer p.found.Unlock()
	if p.found.away == nil {
		p.found.workflows, p.found.away = nil, err
	}
	return p.found.away
}

// ledgersAtATime is how many CronJobs' rows are read from Temporal at a time.
const ledgersAtATime = 20

// readFailures reads the rows of each CronJob that may have failed since a time, and notes which could not be read.
func (p *person) readFailures(ctx context.Context, cronJobs []ostinatov1.CronJob, since time.Time) (failures []answer.Failure) {
	known := make([]answer.Ledger, len(cronJobs))
	var group errgroup.Group
	group.SetLimit(ledgersAtATime)
	for n := range cronJobs {
		known[n].Rows = cronJobs[n].Status.RecentRuns
		if answer.MayHaveFailed(&cronJobs[n], since) {
			group.Go(func() error {
				known[n] = p.readLedger(ctx, &cronJobs[n], maxFailed, since, time.Time{})
				return nil
			})
		}
	}
	_ = group.Wait() // what could not be read is in the ledgers
	p.noteUnseen(cronJobs, known)
	for n := range cronJobs {
		failures = append(failures, answer.Failures(&cronJobs[n], known[n].Rows, since)...)
	}
	return failures
}

// noteUnseen says which CronJobs have rows that could not be read, in one line for each reason.
func (p *person) noteUnseen(cronJobs []ostinatov1.CronJob, known []answer.Ledger) {
	var reasons []string
	names := map[string][]string{}
	for n := range cronJobs {
		if why := known[n].Unseen; why != "" {
			if len(names[why]) == 0 {
				reasons = append(reasons, why)
			}
			names[why] = append(names[why], cronJobs[n].Namespace+"/"+cronJobs[n].Name)
		}
	}
	for _, why := range reasons {
		who := names[why][0]
		if more := len(names[why]) - 1; more > 0 {
			who = fmt.Sprintf("%s and %d more CronJobs", who, more)
		}
		p.note("%s: %s", who, why)
	}
}

// statusRows is how many rows a status has at most.
const statusRows = 10

// enough reports whether rows, newest first, reach back to a time.
func enough(rows []ostinatov1.RecentRun, since time.Time) bool {
	return !since.IsZero() && len(rows) > 0 && rows[len(rows)-1].ScheduledTime.Time.Before(since)
}

// unlisted is how many runs wait that the rows of the status do not have: triggers and times of backfills.
func unlisted(cronJob *ostinatov1.CronJob) (count int64) {
	count = int64(cronJob.Status.Queued)
	for _, row := range cronJob.Status.RecentRuns {
		if ledger.Outcome(row.Outcome) == ledger.Queued {
			count -= max(row.Count, 1)
		}
	}
	return max(count, 0)
}
