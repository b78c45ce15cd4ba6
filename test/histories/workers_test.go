package histories

import (
	"fmt"
	"time"
)

// deaf has Temporal miss what attempts report: it gives them up, though they go on.
type deaf struct{ Lasts time.Duration }

func (d deaf) String() string { return fmt.Sprintf("Temporal misses heartbeats for %s", d.Lasts) }
func (d deaf) trait() trait   { return trait{requests: true} }

func (d deaf) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		w.record.away = append(w.record.away, stretch{from: at.UTC(), to: at.Add(d.Lasts).UTC()})
		w.temporal.Deafen(d.Lasts)
	})
}

// standsStill has the worker stand still, and go on after that; another one takes its place meanwhile.
type standsStill struct{ Lasts time.Duration }

func (s standsStill) String() string { return fmt.Sprintf("the worker stands still for %s", s.Lasts) }
func (s standsStill) trait() trait   { return trait{requests: true} }

func (s standsStill) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		if w.run != nil {
			panic(stopped{time.Now().Add(s.Lasts)})
		}
	})
}
