package activities

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// mostTurns is how many Jobs this process replaces and creates at a time, however many
	// are due, and how many statuses of CronJobs it writes: the API server is no faster with
	// more, and what does not get its turn in time costs it nothing.
	mostTurns = 64
	// mostWait bounds how long a status waits for the Jobs of the same moment.
	mostWait = 3500 * time.Millisecond
	// momentKept is how long a moment is remembered.
	momentKept = 15 * time.Minute
	// mostMoments bounds the moments that are remembered but for those with starts under way:
	// one for each second of the time they are kept.
	mostMoments = 900
	// mostLag bounds what counts as lag. What comes later was not held up by a herd.
	mostLag = time.Minute
)

// moments are the scheduled times of which this process starts runs. Those that share one
// are a herd: what one of them met with, the others will.
type moments struct {
	clock clock.WithTicker
	mutex sync.Mutex
	at    map[int64]*moment
	// order are the keys of at, those that came first at the front.
	order []int64
}

// moment is one scheduled time.
type moment struct {
	of *moments
	// coming is the number of starts under way, calm is closed when it is 0 again.
	coming int
	calm   chan struct{}
	// come are the starts since there were none under way, by namespace and in all, and unwaited those of them that did
	// not wait for the others.
	come          map[string]int
	all, unwaited int
	// lag is how long it took from a wake until all was ready for the create, at most.
	lag     time.Duration
	touched time.Time
}

func newMoments(clock clock.WithTicker) *moments {
	return &moments{clock: clock, at: map[int64]*moment{}}
}

// lead returns how early to wake for the runs of a scheduled time; zero if this process
// has seen none of them.
func (m *moments) lead(scheduled time.Time) time.Duration {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known := m.at[scheduled.Unix()]; known != nil && !scheduled.IsZero() {
		return schedule.LeadFor(known.lag)
	}
	return 0
}

// come counts a start in.
func (m *moments) come(start schedule.Start, namespace string) *arrival {
	if start.Manual {
		return &arrival{}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	now, key := m.clock.Now(), start.Scheduled.Unix()
	known := m.at[key]
	if known == nil {
		m.forget(now)
		known = &moment{of: m}
		m.at[key], m.order = known, append(m.order, key)
	}
	if known.coming == 0 {
		known.calm = make(chan struct{})
		known.come, known.all, known.unwaited = map[string]int{}, 0, 0
	}
	known.coming++
	known.come[namespace]++
	known.all++
	known.touched = now
	return &arrival{moment: known, start: start, namespace: namespace}
}

// forget makes room for one more moment. It looks at two, so that a start is not held up by how
// many there are: as many as came go, in time.
func (m *moments) forget(now time.Time) {
	for range min(2, len(m.order)) {
		key := m.order[0]
		old := m.at[key]
		switch {
		case old.coming > 0:
			m.order = append(m.order[1:], key)
		case len(m.order) >= mostMoments || now.Sub(old.touched) > momentKept:
			delete(m.at, key)
			m.order = m.order[1:]
		default:
			return
		}
	}
}

// arrival is one start of a moment; that of a manual run belongs to none.
type arrival struct {
	moment    *moment
	start     schedule.Start
	namespace string
	left      bool
}

// ready notes that all is done that can be done before the create.
func (a *arrival) ready() {
	if a.moment == nil || a.start.WhyLate != "" && a.start.WhyLate != schedule.ReasonOutage {
		return
	}
	all := a.moment.of
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if lag := all.clock.Since(a.start.Scheduled.Add(-a.start.Lead)); lag < mostLag {
		a.moment.lag = max(a.moment.lag, lag)
	}
}

// leave counts the start out, once.
func (a *arrival) leave() {
	if a.moment == nil || a.left {
		return
	}
	a.left = true
	all := a.moment.of
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if a.moment.coming--; a.moment.coming == 0 {
		close(a.moment.calm)
	}
}

// wait lets the other starts of the moment go first, for a moment.
func (a *arrival) wait(ctx context.Context) {
	if a.moment == nil {
		return
	}
	all := a.moment.of
	all.mutex.Lock()
	coming, calm, unwaited := a.moment.coming, a.moment.calm, a.moment.lets(a.namespace)
	all.mutex.Unlock()
	if coming == 0 || unwaited {
		return
	}
	most := mostWait
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/2)
	}
	timer := all.clock.NewTimer(most)
	defer timer.Stop()
	select {
	case <-calm:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// lets reports whether a run goes on before the others of its moment are started: it is of a namespace that has few of
// them, and they are few that do so. A herd of one namespace does not hold up what another's one run does next.
func (m *moment) lets(namespace string) bool {
	const few = 16
	if m.come[namespace]*few > m.all || m.unwaited*few >= m.all {
		return false
	}
	m.unwaited++
	return true
}

// lead returns how early to wake for the runs of the moment.
func (a *arrival) lead() time.Duration {
	if a.moment == nil {
		return 0
	}
	return a.moment.of.lead(a.start.Scheduled)
}
