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
	// changed says that there is more on the agenda.
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
		next := a.first()
		if !end.IsZero() && !next.at.Before(end) {
			time.Sleep(time.Until(end))
			return
		}
		time.Sleep(time.Until(next.at))
		a.happen()
	}
}

// Answer lets happen what does until an attempt has ended; nil is returned where interrupted says that something else comes first.
func (a *Agenda) Answer(r *Running, interrupted func() bool) *Answer {
	for {
		timer := time.NewTimer(time.Until(a.first().at))
		select {
		case given := <-r.done:
			timer.Stop()
			return &given
		case <-a.changed:
			timer.Stop()
		case <-timer.C:
			a.happen()
			if interrupted != nil && interrupted() {
				return nil
			}
		}
	}
}
