package answer

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// underWay is a run that has not ended. Since is when its Job was created; zero where that is not known.
type underWay struct {
	Job   string
	Since time.Time
}

func (u underWay) text(clock Clock) string {
	if u.Since.IsZero() {
		return "Job " + u.Job + ", which is active"
	}
	return fmt.Sprintf("Job %s, active for %s", u.Job, Span(clock.Now.Sub(u.Since)))
}

// runsUnderWay are the runs that the status calls active, the oldest first.
func runsUnderWay(cronJob *ostinatov1.CronJob) []underWay {
	status := cronJob.Status
	var runs []underWay
	for _, active := range status.Active {
		run := underWay{Job: active.Name}
		if last := timeOf(status.LastScheduleTime); !last.IsZero() && active.Name == names.ScheduledJob(cronJob.Name, last) {
			run.Since = last
		}
		for _, row := range status.RecentRuns {
			if row.JobName == active.Name && row.StartTime != nil {
				run.Since = row.StartTime.Time
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// blocker is the run that keeps others from starting, of several the oldest; ok is false if another run may start.
func blocker(cronJob *ostinatov1.CronJob) (run underWay, ok bool) {
	spec, runs := schedule.SpecOf(cronJob), runsUnderWay(cronJob)
	capacity := spec.Capacity()
	if capacity == 0 || spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent || int(cronJob.Status.ActiveCount) < capacity || len(runs) == 0 {
		return underWay{}, false
	}
	return runs[0], true
}

// Blocker says which run keeps others from starting, and for how long it has been active; empty if another may start.
func Blocker(clock Clock, cronJob *ostinatov1.CronJob) string {
	run, ok := blocker(cronJob)
	if !ok {
		return ""
	}
	return run.text(clock)
}

// blocked says which times a run keeps from starting; empty if none has been kept yet, or if others wait in a queue for it.
func blocked(clock Clock, cronJob *ostinatov1.CronJob) string {
	run, ok := blocker(cronJob)
	if !ok {
		return ""
	}
	text := run.text(clock) + ", keeps others from starting: "
	for _, row := range cronJob.Status.RecentRuns {
		switch {
		case row.Manual || ledger.Outcome(row.Outcome) != ledger.SkippedOverlap || end(row).Before(run.Since):
		case row.Count > 1:
			return text + fmt.Sprintf("%d times were skipped, the last at %s", row.Count, clock.Short(end(row)))
		default:
			return text + "the run of " + clock.Short(end(row)) + " was skipped"
		}
	}
	due := lastDue(clock, cronJob)
	row := covering(cronJob.Status.RecentRuns, due)
	held := row != nil && ledger.Outcome(row.Outcome) == ledger.Queued
	if !held || !due.After(run.Since) || clock.Now.Sub(due) < overdueAfter || cronJob.Spec.ConcurrencyPolicy == ostinatov1.QueueConcurrent {
		return ""
	}
	return text + "the run of " + clock.Short(due) + " is held back"
}

// lastDue is the last scheduled time that has come; zero if none has.
func lastDue(clock Clock, cronJob *ostinatov1.CronJob) time.Time {
	at, _ := Last(cronJob, clock.Now)
	return at
}

// end is the last time of a row.
func end(row ostinatov1.RecentRun) time.Time {
	if row.Until != nil {
		return row.Until.Time
	}
	return row.ScheduledTime.Time
}

// freed says how to make room for another run.
func (u underWay) freed(cronJob *ostinatov1.CronJob) string {
	return fmt.Sprintf("Another run would wait behind it. Its words: ostinato logs %s --run %s. To end it: ostinato stop %s -n %s",
		cronJob.Name, u.Job, u.Job, cronJob.Namespace)
}

// stuck is the run that is stuck; ok is false if none is.
func stuck(cronJob *ostinatov1.CronJob) (run schedule.StuckRun, ok bool) {
	condition := conditionIs(cronJob, ostinatov1.ConditionRunStuck)
	if condition == nil {
		return schedule.StuckRun{}, false
	}
	return schedule.ParseStuckRun(condition.Message)
}

// stuckFor says that no container of a run starts, and why.
func stuckFor(clock Clock, run schedule.StuckRun) string {
	return fmt.Sprintf("no container of Job %s has started for %s: %s", run.Job, Span(clock.Now.Sub(run.Since)), run.Words)
}

// expected is how long a run may take before it is long.
func expected(cronJob *ostinatov1.CronJob) time.Duration { return schedule.Expected(cronJob) }

// long are the runs that take longer than expected, those left out that are stuck.
func long(clock Clock, cronJob *ostinatov1.CronJob) []underWay {
	held, _ := stuck(cronJob)
	return slices.DeleteFunc(runsUnderWay(cronJob), func(run underWay) bool {
		return run.Job == held.Job || run.Since.IsZero() || clock.Now.Sub(run.Since) <= expected(cronJob)
	})
}

// Words of results that no status has: those of a run that does not end.
const (
	resultStuck = "Stuck"
	resultLong  = "Running, long"
)

// Told returns the rows of a CronJob with what is known of the runs under way: which one is stuck, and which are long.
func Told(clock Clock, cronJob *ostinatov1.CronJob, rows []ostinatov1.RecentRun) []ostinatov1.RecentRun {
	rows = slices.Clone(rows)
	held, isHeld := stuck(cronJob)
	for n := range rows {
		row := &rows[n]
		switch {
		case row.Result != "" || row.JobName == "":
		case isHeld && row.JobName == held.Job:
			row.Result, row.ResultReason = resultStuck, held.Words
		case slices.ContainsFunc(long(clock, cronJob), func(run underWay) bool { return run.Job == row.JobName }):
			row.Result = resultLong
		}
	}
	return rows
}

// stateOf says in words what a run does that has not ended.
func stateOf(clock Clock, cronJob *ostinatov1.CronJob, job string) string {
	if held, ok := stuck(cronJob); ok && held.Job == job {
		return fmt.Sprintf("no container of it has started since %s: %s", clock.Time(held.Since), held.Words)
	}
	if slices.ContainsFunc(long(clock, cronJob), func(run underWay) bool { return run.Job == job }) {
		return fmt.Sprintf("runs, for longer than expected (%s)", Span(expected(cronJob)))
	}
	return "runs"
}
