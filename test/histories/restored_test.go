package histories

import (
	"fmt"
	"time"
)

// temporalRestored has Temporal be what it was some time ago, as after a restore of its database: the run of the workflow is the same.
type temporalRestored struct{ Ago time.Duration }

func (r temporalRestored) String() string {
	return fmt.Sprintf("Temporal is restored to %s ago", r.Ago)
}
func (r temporalRestored) trait() trait { return trait{forgets: true} }

func (r temporalRestored) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() { w.forgetsFrom(r.Ago, false) })
}

// workflowReset has the workflow reset to what it was some time ago: a new run plays the history up to there, and hears all signals
// that have come since again. Its start is that of the first run, and the workflows of Jobs do not tell it of their ends.
type workflowReset struct{ Ago time.Duration }

func (r workflowReset) String() string { return fmt.Sprintf("the workflow is reset to %s ago", r.Ago) }
func (r workflowReset) trait() trait   { return trait{forgets: true} }

func (r workflowReset) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() { w.forgetsFrom(r.Ago, true) })
}

// forgetsFrom ends the workflow's run, which goes on from what it was some time ago.
func (w *world) forgetsFrom(ago time.Duration, reset bool) {
	w.record.lost = append(w.record.lost, w.description().Ledger...)
	w.record.forgot = append(w.record.forgot, time.Now().UTC())
	w.losesNames(time.Now().Add(-ago))
	w.over = false
	panic(forgotten{since: time.Now().Add(-ago), reset: reset})
}

// begunAnew has the workflow start anew from the object, as after it was terminated.
type begunAnew struct{}

func (begunAnew) String() string { return "the workflow starts anew" }
func (begunAnew) trait() trait   { return trait{forgets: true} }

func (begunAnew) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		w.record.lost = append(w.record.lost, w.description().Ledger...)
		w.record.forgot = append(w.record.forgot, time.Now().UTC())
		w.losesNames(w.begin)
		panic(anew{})
	})
}
