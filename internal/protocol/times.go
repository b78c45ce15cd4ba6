package protocol

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// A state that was carried over has no time further ahead of the clock than these: a forged one would keep an object waiting. The
// times of a schedule to come are no part of that, since they are computed anew (schedule.Resume).
const (
	// clockSkew is how far Temporal's clock may be set back between two runs of a workflow.
	clockSkew = time.Minute
	// longestBackoff is as long as the longest back-off of a workflow.
	longestBackoff = 10 * time.Minute
)

// latest finds the first time of a state that is too far ahead of the clock.
type latest struct {
	now time.Time
	err error
}

// ahead notes the times that are ahead by more than a bound.
func (l *latest) ahead(bound time.Duration, what string, moments ...time.Time) {
	for _, at := range moments {
		if until := l.now.Add(bound); l.err == nil && at.After(until) {
			l.err = fmt.Errorf("state: %s is %s, want %s at the latest", what, at.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
		}
	}
}

// come notes the times that have not come.
func (l *latest) come(what string, moments ...time.Time) { l.ahead(clockSkew, what, moments...) }

// retry notes the times until which a back-off can't last.
func (l *latest) retry(moments ...time.Time) {
	l.ahead(longestBackoff, "the end of a back-off", moments...)
}

func (l *latest) delay(delay schedule.Delay) {
	l.retry(delay.Retry.Until)
	l.come("the end of an unclear start", delay.Unclear)
}

// ValidateTimes reports whether a state that was carried over has the times of one that was written by now.
func (i CronJobInput) ValidateTimes(now time.Time) error {
	state, l := ptr.Deref(i.State, schedule.State{}), latest{now: now}
	l.come("created", state.Created)
	l.come("lastScheduled", state.LastScheduled)
	l.come("settled", state.Settled)
	l.come("a time of the suspension", state.Suspension.From, state.Suspension.To, state.Suspension.Before.From, state.Suspension.Before.To)
	l.come("overtaken", state.Overtaken...)
	l.come("unsure", state.Unsure)
	calendar := state.Calendar
	l.come("a time of the calendar", append([]time.Time{calendar.Due, calendar.CaughtUp, calendar.Announced}, calendar.Waiting...)...)
	for _, missed := range calendar.Missed {
		l.come("a missed time", missed.Last)
	}
	for _, former := range calendar.Former {
		l.come("the end of a former schedule", former.Until)
	}
	for _, run := range state.Active {
		l.come("a run's unclear", run.Unclear)
	}
	for _, finished := range state.Finished {
		l.come("a run's unclear", finished.Run.Unclear)
	}
	for _, recovered := range state.Recovered {
		l.come("a run's unclear", recovered.Run.Unclear)
	}
	l.retry(state.Prune.Until, state.StatusRetry.Until, state.Judging.Until)
	pending := ptr.Deref(state.Pending, schedule.Pending{})
	l.come("the due run", pending.Scheduled)
	l.delay(pending.Delay)
	for _, trigger := range state.Triggers {
		l.come("a trigger's at", trigger.At)
		l.delay(trigger.Delay)
	}
	for _, backfill := range state.Backfills {
		l.come("a time of a backfill", append([]time.Time{backfill.At}, backfill.Times...)...)
		l.delay(backfill.Delay)
	}
	return l.err
}

// ValidateTimes reports whether a state that was carried over has the times of one that was written by now. Those that the
// Job's nodes or its own back-offs give are cut instead (job.Resume).
func (i JobInput) ValidateTimes(now time.Time) error {
	state, l := ptr.Deref(i.State, job.State{}), latest{now: now}
	l.come("startTime", state.StartTime)
	l.come("listing", state.Listing)
	l.retry(state.CreateRetry.Until, state.StatusRetry.Until, state.ErrorRetry.Until)
	for _, pod := range state.Pods {
		l.come("a Pod's since", pod.Since)
	}
	return l.err
}
