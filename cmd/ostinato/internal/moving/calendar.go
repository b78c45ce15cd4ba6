package moving

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// margin is how far away the next time has to be for a suspension.
	margin = 5 * time.Second
	// jobPatience is how long after its time a Job is waited for. One that does not come by then was skipped, or comes late: ours
	// makes up for it. On the way back nothing would, so it is waited for longer.
	jobPatience, jobPatienceBack = 30 * time.Second, 2 * time.Minute
)

// line is the schedule of the object that moves; ok is false where it names no time that can be known.
func (v View) line() (line times.Line, ok bool) {
	calculator, problem := times.Parse(v.From.schedule, ptr.To(ptr.Deref(v.From.zone, "UTC")))
	if problem != nil {
		return line, false
	}
	if v.From.Last.IsZero() {
		return calculator.Line(v.From.Created, false), true
	}
	return calculator.Line(v.From.Last, true), true
}

// came returns the last time of the schedule in (after, until]; ok is false where there is none.
func (v View) came(after, until time.Time) (last time.Time, ok bool) {
	line, ok := v.line()
	if !ok {
		return last, false
	}
	found := line.Recent(times.Later(after, times.Dawn), until, 1)
	if len(found) == 0 {
		return last, false
	}
	return found[0], true
}

// ran reports whether the Job of a time is there.
func (v View) ran(scheduled time.Time) bool { return v.Jobs[names.ScheduledJob(v.Name, scheduled)] }

// noGap says why this is no moment between the Job of a time and the next time; empty where it is one.
func (v View) noGap(now time.Time) string {
	line, ok := v.line()
	if !ok {
		return ""
	}
	if next := line.Next(now); !next.IsZero() && next.Sub(now) < margin {
		return fmt.Sprintf("the time %s is less than %s away", times.Format(next), margin)
	}
	// Ours may have times before its creation to catch up, after a move.
	base := v.From.Last
	if base.IsZero() {
		base = v.From.Created
	}
	last, came := v.came(times.Later(base, v.From.Settled), now)
	if !came || v.ran(last) || v.From.Next.After(last) {
		return ""
	}
	held := v.From.policy == batchv1.ForbidConcurrent && len(v.From.Active) > 0
	late := now.Sub(last)
	if v.Undo && (held || late < jobPatienceBack) || !v.Undo && !held && late < jobPatience {
		return fmt.Sprintf("the Job of %s is not there yet", times.Format(last))
	}
	return ""
}

// LastScheduleTime is what ours takes for status.lastScheduleTime: the last run of the object that moves. One that has not run
// has its creation in place of that, where a time has come since, or times count from there; else it is zero, for none.
func (v View) LastScheduleTime(now time.Time) time.Time {
	if !v.From.Last.IsZero() {
		return v.From.Last
	}
	if _, came := v.came(v.From.Created, now); came || strings.HasPrefix(v.From.schedule, "@every") {
		return v.From.Created
	}
	return time.Time{}
}
