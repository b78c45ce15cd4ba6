package activities

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/schedule"
)

// Somebody who may write to Temporal makes up as many times as he likes: a moment is known as long as starts of it are under
// way.
func TestMomentsAreFew(t *testing.T) {
	all := newMoments(clock.RealClock{})
	at := func(second int64) schedule.Start { return schedule.Start{Scheduled: time.Unix(second, 0)} }
	first, second := all.come(at(0), "shop"), all.come(at(0), "shop")
	for made := range int64(1000) {
		all.come(at(1+made), "shop").leave()
	}
	if first.leave(); len(all.at) != 1 {
		t.Errorf("%d moments while one start is under way", len(all.at))
	}
	second.leave()
	// A moment of more than one start waits a little for others.
	<-second.moment.calm
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if len(all.at) != 0 {
		t.Errorf("%d moments while no start is under way", len(all.at))
	}
}
