package schedule

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/robfig/cron/v3"
)

const (
	// maxBackfills bounds State.Backfills, maxBackfillTimes the times of each.
	maxBackfills     = 10
	maxBackfillTimes = 1000
	// maxBackfillParallelism bounds how many runs of a backfill are active at once.
	maxBackfillParallelism = 100
)

// BackfillRequest asks to run the template for past times of the schedule.
type BackfillRequest struct {
	// From and To bound the times, both included.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Parallelism is how many of the runs may be active at once; 0 means 1.
	Parallelism int `json:"parallelism,omitempty"`
	// Overlap is Allow, Forbid, Replace or Queue, in place of the CronJob's
	// concurrencyPolicy; empty for that.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
	// DryRun asks for the answer only.
	DryRun bool `json:"dryRun,omitempty"`
	// Cancel asks, alone, to start nothing more of any backfill.
	Cancel bool `json:"cancel,omitempty"`
	// Note is the sender's; By says who sends it, Through through what.
	Note    string `json:"note,omitempty"`
	By      string `json:"by,omitempty"`
	Through string `json:"-"`
}

func (r BackfillRequest) parallelism() int { return max(r.Parallelism, 1) }

// Mistake says what the sender is to change; empty when nothing is wrong with the request
// itself. The times come from TimesBetween.
func (r BackfillRequest) Mistake(spec Spec, now time.Time) string {
	if r.Cancel {
		r.Note, r.By, r.Through, r.Cancel = "", "", "", false
		if r != (BackfillRequest{}) {
			return "cancel ends all backfills: send it without from, to, parallelism, overlap and dryRun"
		}
		return ""
	}
	under := Start{Manual: true, Backfill: 1, Overlap: r.Overlap}.Under(spec)
	mistake := OverlapMistake(r.Overlap)
	switch {
	case r.From.IsZero() || r.To.IsZero():
		return `from and to are needed, such as {"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T23:59:59Z"}`
	case r.From.After(r.To):
		return fmt.Sprintf("from, %s, is after to, %s: exchange them", clock(r.From), clock(r.To))
	case r.To.After(now):
		return fmt.Sprintf("to, %s, is in the future: a backfill is of times that have passed, use %s at most", clock(r.To), clock(now))
	case r.From.Before(dawn):
		return fmt.Sprintf("from, %s, is too long ago: use %s at least", clock(r.From), clock(dawn))
	case r.Parallelism < 0 || r.Parallelism > maxBackfillParallelism:
		return fmt.Sprintf("parallelism is %d: use 1 to %d", r.Parallelism, maxBackfillParallelism)
	case mistake != "":
		return mistake
	case under.Capacity() > 0 && r.Parallelism > under.Capacity():
		return fmt.Sprintf(`parallelism is %d, and under concurrency policy %s no more than %d may run at once: ask for "overlap": "Allow", or for less`,
			r.Parallelism, under.ConcurrencyPolicy, under.Capacity())
	case spec.Deleting:
		return "the CronJob is being deleted"
	}
	return ""
}

// BackfillTimes are the times of the schedule in a range, or why there are none to run.
type BackfillTimes struct {
	Times   []time.Time `json:"times,omitempty"`
	Mistake string      `json:"mistake,omitempty"`
}

// TimesBetween returns the times that the spec's schedule names from one time to another,
// both included. "@every" has those that it would name if it went on as it does now. It
// depends on time zone data, so a workflow records what it says.
func TimesBetween(spec Spec, anchor Anchor, from, to time.Time) BackfillTimes {
	calculator, problem := Parse(spec.Schedule, spec.TimeZone)
	if problem != nil {
		return BackfillTimes{Mistake: "the CronJob's schedule has no times: " + problem.Message}
	}
	line := timeline{Calculator: calculator, base: later(anchor.Created, anchor.Last)}
	if every, ok := calculator.schedule.(cron.ConstantDelaySchedule); ok {
		line.base = gridBefore(line.base, from, every.Delay)
	}
	var found BackfillTimes
	for at := line.next(from.Add(-time.Nanosecond)); !at.IsZero() && !at.After(to); at = line.next(at) {
		if len(found.Times) == maxBackfillTimes {
			return BackfillTimes{Mistake: fmt.Sprintf("there are more than %d times from %s to %s: split the range, the first %[1]d end at %[4]s",
				maxBackfillTimes, clock(from), clock(to), clock(found.Times[maxBackfillTimes-1]))}
		}
		found.Times = append(found.Times, at)
	}
	if len(found.Times) == 0 {
		return BackfillTimes{Mistake: fmt.Sprintf("schedule %.80q names no time from %s to %s", spec.Schedule, clock(from), clock(to))}
	}
	return found
}

// gridBefore returns a point of the grid base + n x delay that is more than a minute before
// the time, or base where that is.
func gridBefore(base, at time.Time, delay time.Duration) time.Time {
	seconds := int64(delay / time.Second)
	steps := (base.Unix() - at.Unix() + 60 + seconds) / seconds
	return time.Unix(base.Unix()-max(steps, 0)*seconds, 0).UTC()
}

// clock writes a time for people.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
