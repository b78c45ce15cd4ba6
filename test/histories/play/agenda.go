package play

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Agenda holds what happens around a workflow, and when. What is on it happens while something waits for the agenda, in the
// goroutine that waits.
type Agenda struct {
	mutex sync.Mutex
	all   []due
	// changed says that there is more on the agenda, or that an attempt has ended.
	changed chan struct{}
}

// due is something that happens at a time.
type due struct {
	at time.Time
	do func()
}

// NewAgenda returns an empty agenda. Something that ends the history has to be on it before anything waits for it.
func NewAgenda() *Agenda { return &Agenda{changed: make(chan struct{}, 1)} }

// Plan puts something on the agenda.
func (a *Agenda) Plan(at time.Time, do func()) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	// Behind what was planned for the same time before.
	i, _ := slices.BinarySearchFunc(a.all, at, func(one due, at time.Time) int { return cmp.Or(one.at.Compare(at), -1) })
	a.all = slices.Insert(a.all, i, due{at, do})
	a.wake()
}

// wake has what waits for the agenda look around.
func (a *Agenda) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// first is what comes next.
func (a *Agenda) first() due {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.all[0]
}

// happen does what comes next.
func (a *Agenda) happen() {
	next := a.first()
	a.mutex.Lock()
	a.all = a.all[1:]
	a.mutex.Unlock()
	next.do()
}

// Until lets happen what does until a time, zero for none, or until enough says so.
func (a *Agenda) Until(end time.Time, enough func() bool) {
	for enough == nil || !enough() {
		if !end.IsZero() && !time.Now().Before(end) {
			return
		}
		a.rest(end)
	}
}

// rest waits until something has happened, an attempt has ended, or until a time; zero for none.
func (a *Agenda) rest(end time.Time) {
	next := a.first().at
	happens := end.IsZero() || next.Before(end)
	if !happens {
		next = end
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-a.changed:
	case <-timer.C:
		if happens {
			a.happen()
		}
	}
}

// answer lets happen what does until an attempt has ended.
func (a *Agenda) answer(r *running) Answer {
	for {
		if given := r.ended(); given != nil {
			return *given
		}
		a.rest(time.Time{})
	}
}
