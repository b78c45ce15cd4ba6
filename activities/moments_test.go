package activities

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/internal/schedule"
)

// Somebody who may write to Temporal makes up as many times as he likes.
func TestMomentsAreFew(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	all := newMoments(clock)
	at := func(second int) schedule.Start {
		return schedule.Start{Scheduled: clock.Now().Add(time.Duration(second) * time.Second)}
	}
	long := all.come(at(-1), "shop")
	for second := range 100_000 {
		all.come(at(second), "shop").leave()
	}
	if len(all.at) > mostMoments+1 || len(all.order) != len(all.at) {
		t.Errorf("%d moments, %d in order", len(all.at), len(all.order))
	}
	if all.at[at(-1).Scheduled.Unix()] == nil {
		t.Error("a moment with a start under way is forgotten")
	}
	long.leave()

	// What is old goes, two for one that comes.
	clock.Step(momentKept + time.Second)
	for second := range 2 * mostMoments {
		all.come(at(second), "shop").leave()
		clock.Step(time.Second / 100)
	}
	if all.at[at(99_999).Scheduled.Unix()] != nil || len(all.at) > mostMoments+1 {
		t.Errorf("%d moments", len(all.at))
	}
}

// BenchmarkMomentAmongMany is what a start costs while as many moments are known as there may be.
func BenchmarkMomentAmongMany(b *testing.B) {
	all := newMoments(clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	second := 0
	for b.Loop() {
		second++
		all.come(schedule.Start{Scheduled: time.Unix(int64(second), 0)}, "shop").leave()
	}
}
