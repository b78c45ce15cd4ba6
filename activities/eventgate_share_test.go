package activities

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestNoNamespaceTakesTheRoomOfAllEvents: one of a thousand Jobs leaves room for the others'.
func TestNoNamespaceTakesTheRoomOfAllEvents(t *testing.T) {
	gate := newEventGate(prometheus.NewRegistry())
	passed := map[string]int{}
	for n := range 1000 {
		if gate.pass("crowd") {
			passed["crowd"]++
		}
		if other := fmt.Sprintf("other-%d", n%10); n < 100 && gate.pass(other) {
			passed[other]++
		}
	}
	if passed["crowd"] < 250 || passed["crowd"] > 300 {
		t.Errorf("%d Events of the crowd pass, want about 250", passed["crowd"])
	}
	for n := range 10 {
		if other := fmt.Sprintf("other-%d", n); passed[other] != 10 {
			t.Errorf("%d of 10 Events of %s pass", passed[other], other)
		}
	}
}
