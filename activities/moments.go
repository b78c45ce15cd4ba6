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
	mostWait = 15 * time.Second
	// silence is how long a moment waits for one start more, for each that has come: on a busy machine a
	// herd comes in drops, and what follows its first starts would slow down the last ones.
	silence = time.Millisecond
)

// moments are the scheduled times of which this process starts runs. Those that share one
// are a herd.
type moments struct {
	clock clock.WithTicker
	mutex sync.Mutex
	at    map[int64]*moment
}

// moment is one scheduled time, as long as starts of it are under way.
type moment struct {
	of *moments
	// coming is the number of starts under way; calm is closed when it has been 0 for as long as silence
	// says, which quiet waits for.
	coming int
	quiet  *time.Timer
	calm   chan struct{}
	// come are all starts of it, by namespace and in all, and unwaited those of them that did not wait for the others.
	come          map[string]int
	all, unwaited int
}

func newMoments(clock clock.WithTicker) *moments {
	return &moments{clock: clock, at: map[int64]*moment{}}
}

// come counts a start in.
func (m *moments) come(start schedule.Start, namespace string) *arrival {
	if start.Manual {
		return &arrival{}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	key := start.Scheduled.Unix()
	known := m.at[key]
	if known == nil {
		known = &moment{of: m, calm: make(chan struct{}), come: map[string]int{}}
		m.at[key] = known
	}
	if known.quiet != nil {
		known.quiet.Stop()
	}
	known.coming++
	known.come[namespace]++
	known.all++
	return &arrival{moment: known, start: start, namespace: namespace}
}

// arrival is one start of a moment; that of a manual run belongs to none.
type arrival struct {
	moment    *moment
	start     schedule.Start
	namespace string
	left      bool
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
		all.settle(a.start.Scheduled.Unix(), a.moment)
	}
}

// settle ends the moment when no more starts of it come.
func (m *moments) settle(key int64, of *moment) {
	end := func() {
		close(of.calm)
		delete(m.at, key)
	}
	if of.all == 1 {
		end()
		return
	}
	of.quiet = time.AfterFunc(time.Duration(of.all)*silence, func() {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		if of.coming == 0 && m.at[key] == of {
			end()
		}
	})
}

// wait lets the other starts of the moment go first, for a moment.
func (a *arrival) wait(ctx context.Context) {
	if a.moment == nil {
		return
	}
	all := a.moment.of
	all.mutex.Lock()
	calm, unwaited := a.moment.calm, a.moment.lets(a.namespace)
	all.mutex.Unlock()
	if unwaited {
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
