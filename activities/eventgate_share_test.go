package activities

import (
	"fmt"
	"testing"
	"time"

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
	if passed["crowd"] < 150 || passed["crowd"] > 300 {
		t.Errorf("%d Events of the crowd pass, want what others leave of about 250", passed["crowd"])
	}
	for n := range 10 {
		if other := fmt.Sprintf("other-%d", n); passed[other] != 10 {
			t.Errorf("%d of 10 Events of %s pass", passed[other], other)
		}
	}
}

// TestManyCrowdsLeaveRoomForOthers: however many namespaces emit all that they can.
func TestManyCrowdsLeaveRoomForOthers(t *testing.T) {
	for _, crowds := range []int{1, 2, 3, 10} {
		t.Run(fmt.Sprintf("%d crowds", crowds), func(t *testing.T) {
			gate := newEventGate(prometheus.NewRegistry())
			now := time.Now()
			gate.now = func() time.Time { return now }
			passed := 0
			for second := range 60 {
				for n := range 100 {
					now = now.Add(10 * time.Millisecond)
					for crowd := range crowds {
						for range 3 {
							gate.pass(fmt.Sprintf("crowd-%d", crowd))
						}
					}
					if second >= 30 && n == second*7%100 && gate.pass("quiet") {
						passed++
					}
				}
			}
			if passed < 29 {
				t.Errorf("%d of 30 Events of another namespace pass", passed)
			}
		})
	}
}
