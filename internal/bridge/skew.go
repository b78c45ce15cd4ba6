package bridge

import (
	"sync"
	"time"
)

const (
	// skewMinutes is how long a run that was late is remembered.
	skewMinutes = 10
	// mostSkew is the most that a herd is late. A run that is later had to wait for
	// something else: for the run before it, or for somebody who mended its template.
	mostSkew = 2 * time.Minute
)

// skew is how late runs are at present, so that a herd that is being started is not
// called overdue.
type skew struct {
	mu sync.Mutex
	// worst is the latest run of each minute, minutes the minute that it is of.
	worst   [skewMinutes]time.Duration
	minutes [skewMinutes]int64
}

// ran takes in that a run was started so much after its scheduled time.
func (s *skew) ran(late time.Duration, now time.Time) {
	if late <= 0 || late > mostSkew {
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

// worstOf returns by how much the latest of the last minutes' runs was late.
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
