package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
	"ostinato.dev/ostinato/internal/times"
)

// fuzzLimit is far below the second after which the SDK takes a workflow task for
// deadlocked; but the machine may be busy.
const fuzzLimit = 500 * time.Millisecond

// timed fails the test when an action takes longer than that, three times over.
func timed(t *testing.T, what string, action func()) {
	t.Helper()
	for range 3 {
		begin := time.Now()
		if action(); time.Since(begin) < fuzzLimit {
			return
		}
	}
	t.Fatalf("%s takes longer than %s", what, fuzzLimit)
}

// FuzzEvaluate: whatever a CronJob's schedule, history and clock, the times around now
// are found in bounded time, ascending, and none is forgotten.
func FuzzEvaluate(f *testing.F) {
	created, day := at("2026-03-28T10:00:00Z").Unix(), int64(24*3600)
	for _, expression := range append([]string{"@every 1s", "@every 45s", "@every 90s", "@every 100000h", "0 0 29 2 *"}, clocks.Expressions...) {
		f.Add(expression, "Australia/Lord_Howe", created, day, int64(-1), 3*day, int64(0))
		f.Add(expression, "Africa/Casablanca", int64(0), int64(-1), int64(-1), created, int64(600))
		f.Add(expression, "Pacific/Apia", created, 10*day, 20*day, 400*day, int64(-1))
		f.Add(expression, "", created, int64(-1), day, -day, int64(1)<<62)
	}
	f.Fuzz(func(t *testing.T, expression, zoneName string, created, last, settled, now, deadline int64) {
		instant := func(seconds int64) time.Time { return time.Unix(seconds%(1<<37), 0).UTC() } // years -2385 to 6325
		spec := cronSpec(expression, zone(zoneName))
		if deadline >= 0 {
			spec.StartingDeadlineSeconds = &deadline
		}
		from := createdAt(instant(created))
		if last >= 0 {
			from.LastScheduled = instant(created + last%(1<<36))
		}
		if settled >= 0 {
			from.Settled = instant(created + settled%(1<<36))
		}
		clock := instant(created + now%(1<<36)).Add(time.Duration(now % 1000))
		var evaluation schedule.Evaluation
		timed(t, expression, func() { evaluation = schedule.Evaluate(spec, from, clock) })
		checkEvaluation(t, evaluation, clock)
		if evaluation.Problem == nil {
			countMissed(t, spec, from, evaluation)
		}
	})
}

// FuzzEvaluate seldom writes a schedule. Here all of them are.
func TestEvaluateForgetsNoTime(t *testing.T) {
	zones := clocks.Zones(t)
	rapid.Check(t, func(rt *rapid.T) {
		tz := zones[rapid.IntRange(0, len(zones)-1).Draw(rt, "zone")]
		expression := clocks.DrawExpression(rt)
		if rapid.IntRange(0, 9).Draw(rt, "every") == 0 {
			expression = fmt.Sprintf("@every %ds", rapid.IntRange(1, 1<<20).Draw(rt, "seconds"))
		}
		spec := cronSpec(expression, zone(tz.Name))
		from := createdAt(clocks.DrawInstant(rt, tz))
		span := rapid.SampledFrom([]int64{3600, 3 * 24 * 3600, 3 * 365 * 24 * 3600}).Draw(rt, "span")
		elapsed := func(label string) time.Time {
			return from.Created.Add(time.Duration(rapid.Int64Range(-span/8, span).Draw(rt, label)) * time.Second)
		}
		if rapid.Bool().Draw(rt, "ran") {
			from.LastScheduled = elapsed("last")
		}
		if rapid.Bool().Draw(rt, "settled") {
			from.Settled = elapsed("settled up to")
		}
		now := elapsed("now")
		evaluation := schedule.Evaluate(spec, from, now)
		checkEvaluation(rt, evaluation, now)
		if evaluation.Problem == nil {
			countMissed(rt, spec, from, evaluation)
		}
	})
}

// checkEvaluation checks the order of the times.
func checkEvaluation(t fataler, e schedule.Evaluation, now time.Time) {
	t.Helper()
	if e.Problem != nil {
		if !e.Due.IsZero() || e.Missed != nil || e.Upcoming != nil || e.Unnamed != nil || e.TooMany {
			t.Fatalf("times beside a problem: %+v", e)
		}
		if e.Recheck.After(now) != (e.Problem.Reason == times.UnknownTimeZone) {
			t.Fatalf("looks again at %s: %+v", e.Recheck, e)
		}
		return
	}
	before := now
	for _, next := range e.Upcoming {
		if !next.After(before) {
			t.Fatalf("upcoming %s is not after %s", next, before)
		}
		before = next
	}
	switch {
	case e.Due.After(now):
		t.Fatalf("due %s is after now %s", e.Due, now)
	case e.Due.IsZero() && (e.Missed != nil || e.TooMany || len(e.Upcoming) == 0):
		t.Fatalf("nothing due: %+v", e)
	case !e.Recheck.IsZero() && (!e.Recheck.After(now) || !e.Recheck.Before(e.Upcoming[0])):
		t.Fatalf("to be computed again at %s, between %s and %s", e.Recheck, now, e.Upcoming[0])
	case len(e.Missed) > 1 || e.Missed != nil && (e.Missed[0].Count < 1 || e.Missed[0].First.After(e.Missed[0].Last) || !e.Missed[0].Last.Before(e.Due)):
		t.Fatalf("missed %+v before %s", e.Missed, e.Due)
	}
}

// countMissed goes from time to time, each as the first after the one before.
func countMissed(t fataler, spec schedule.Spec, from schedule.State, e schedule.Evaluation) {
	t.Helper()
	if e.Due.IsZero() || e.Missed != nil && e.Missed[0].Estimated {
		return
	}
	var times []time.Time
	for ; ; from.Settled = times[len(times)-1] {
		// With the clock before all, the next time is the first that comes.
		next := schedule.Evaluate(spec, from, at("0001-01-01T00:00:00Z")).Upcoming
		if len(next) == 0 || next[0].After(e.Due) {
			break
		}
		times = append(times, next[0])
	}
	missed := schedule.MissedRuns{}
	if e.Missed != nil {
		missed = e.Missed[0]
	}
	switch count := len(times); {
	case count == 0 || !times[count-1].Equal(e.Due) || int64(count) != missed.Count+1:
		t.Fatalf("%d times up to %v, but %d were missed and %s is due", count, times, missed.Count, e.Due)
	case count > 1 && (!missed.First.Equal(times[0]) || !missed.Last.Equal(times[count-2])):
		t.Fatalf("missed %+v, want %s to %s", missed, times[0], times[count-2])
	}
}
