package bridge

import (
	"sync"
	"time"
)

const (
	// skewMinutes is how long it is remembered that something was late.
	skewMinutes = 10
	// mostSkew is the most that the runs of a herd are late. One that is later had to wait
	// for something else: for the run before it, or for somebody who mended its template.
	mostSkew = 2 * time.Minute
	// mostBehind is the most that workflows are behind. What comes later had been lost.
	mostBehind = 5 * time.Minute
)

// skew is how late things are at present, so that a herd that is under way is not
// taken for one that is lost: what is late is looked at when it is later than the others.
type skew struct {
	// most is what is still taken in.
	most time.Duration
	mu   sync.Mutex
	// worst is the most of each minute, minutes the minute that it is of.
	worst   [skewMinutes]time.Duration
	minutes [skewMinutes]int64
}

// saw takes in that something came so much after it could have, such as the start of a
// run after its scheduled time.
func (s *skew) saw(late time.Duration, now time.Time) {
	if late <= 0 || late > s.most {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := now.Unix() / 60
	slot := minute % skewMinutes
	if s.minutes[slot] != minute {
		s.minutes[slot], s.worst[slot] = minute, 0
	}
	s.worst[slot] = max(s.worst[slot], late)
}

// worstOf returns by how much the latest of the last minutes was late.
func (s *skew) worstOf(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var worst time.Duration
	for slot, late := range s.worst {
		if now.Unix()/60-s.minutes[slot] < skewMinutes {
			worst = max(worst, late)
		}
	}
	return worst
}
