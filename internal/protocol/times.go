package protocol

import (
	"fmt"
	"slices"
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

// momentOf is a time of a state, and how far ahead of the clock it may be.
type momentOf struct {
	what  string
	at    time.Time
	ahead time.Duration
}

// notAhead returns an error for the first time that is too far ahead of now.
func notAhead(now time.Time, moments ...momentOf) error {
	for _, moment := range moments {
		if latest := now.Add(moment.ahead); moment.at.After(latest) {
			return fmt.Errorf("state: %s is %s, want %s at the latest", moment.what, moment.at.UTC().Format(time.RFC3339), latest.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// ValidateTimes reports whether a state that was carried over has the times of one that was written by now.
func (i CronJobInput) ValidateTimes(now time.Time) error {
	state := ptr.Deref(i.State, schedule.State{})
	moments := []momentOf{
		{"created", state.Created, clockSkew},
		{"lastScheduled", state.LastScheduled, clockSkew},
		{"settled", state.Settled, clockSkew},
		{"calendar.due", state.Calendar.Due, clockSkew},
		{"calendar.caughtUp", state.Calendar.CaughtUp, clockSkew},
		{"calendar.announced", state.Calendar.Announced, clockSkew},
		{"suspension.from", state.Suspension.From, clockSkew},
		{"suspension.to", state.Suspension.To, clockSkew},
		{"prune.until", state.Prune.Until, longestBackoff},
		{"statusRetry.until", state.StatusRetry.Until, longestBackoff},
		{"judging.until", state.Judging.Until, longestBackoff},
		{"pending.retry.until", ptr.Deref(state.Pending, schedule.Pending{}).Retry.Until, longestBackoff},
		{"pending.unclear", ptr.Deref(state.Pending, schedule.Pending{}).Unclear, clockSkew},
	}
	for _, overtaken := range state.Overtaken {
		moments = append(moments, momentOf{"overtaken", overtaken, clockSkew})
	}
	runs := slices.Clone(state.Active)
	for _, finished := range state.Finished {
		runs = append(runs, finished.Run)
	}
	for _, recovered := range state.Recovered {
		runs = append(runs, recovered.Run)
	}
	for _, run := range runs {
		moments = append(moments, momentOf{"a run's unclear", run.Unclear, clockSkew})
	}
	for _, waiting := range state.Calendar.Waiting {
		moments = append(moments, momentOf{"a time that waits", waiting, clockSkew})
	}
	for _, missed := range state.Calendar.Missed {
		moments = append(moments, momentOf{"a missed time", missed.Last, clockSkew})
	}
	for _, former := range state.Calendar.Former {
		moments = append(moments, momentOf{"the end of a former schedule", former.Until, clockSkew})
	}
	for _, trigger := range state.Triggers {
		moments = append(moments, momentOf{"a trigger's at", trigger.At, clockSkew}, momentOf{"a trigger's retry.until", trigger.Retry.Until, longestBackoff},
			momentOf{"a trigger's unclear", trigger.Unclear, clockSkew})
	}
	for _, backfill := range state.Backfills {
		moments = append(moments, momentOf{"a backfill's at", backfill.At, clockSkew}, momentOf{"a backfill's retry.until", backfill.Retry.Until, longestBackoff},
			momentOf{"a backfill's unclear", backfill.Unclear, clockSkew})
		for _, scheduled := range backfill.Times {
			moments = append(moments, momentOf{"a backfill's time", scheduled, clockSkew})
		}
	}
	return notAhead(now, moments...)
}

// ValidateTimes reports whether a state that was carried over has the times of one that was written by now. Those that the
// Job's nodes or its own back-offs give are cut instead (job.Resume).
func (i JobInput) ValidateTimes(now time.Time) error {
	state := ptr.Deref(i.State, job.State{})
	moments := []momentOf{
		{"startTime", state.StartTime, clockSkew},
		{"listing", state.Listing, clockSkew},
		{"silence.since", state.Silence.Since, clockSkew},
		{"createRetry.until", state.CreateRetry.Until, longestBackoff},
		{"statusRetry.until", state.StatusRetry.Until, longestBackoff},
		{"errorRetry.until", state.ErrorRetry.Until, longestBackoff},
	}
	for _, pod := range state.Pods {
		moments = append(moments, momentOf{"a Pod's since", pod.Since, clockSkew})
	}
	return notAhead(now, moments...)
}
