package herd

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/order"
)

// Somebody who may write to Temporal makes up as many times as he likes: a herd is known as long as starts of it are under
// way.
func TestHerdsAreFew(t *testing.T) {
	all := New(clock.RealClock{}, 1, order.Weights{})
	first, second := all.Join(time.Unix(0, 0), "shop"), all.Join(time.Unix(0, 0), "shop")
	for made := range int64(1000) {
		all.Join(time.Unix(1+made, 0), "shop").Leave()
	}
	if first.Leave(); len(all.at) != 1 {
		t.Errorf("%d herds while one start is under way", len(all.at))
	}
	second.Leave()
	// A herd of more than one start waits a little for others.
	<-second.herd.idle
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if len(all.at) != 0 {
		t.Errorf("%d herds while no start is under way", len(all.at))
	}
}
