package histories

import (
	"fmt"
	"time"
)

// answers has requests of a kind answered with an error.
type answers struct {
	// Kind is that of the requests, empty for all, Code what they are answered with, and Of how many of them one is.
	Kind, Code string
	Of         int
	Lasts      time.Duration
	// Lands says that they are carried out all the same, at once.
	Lands bool
}

func (a answers) String() string {
	what := a.Kind
	if what == "" {
		what = "all requests"
	}
	text := fmt.Sprintf("%s are answered %s for %s, one in %d", what, a.Code, a.Lasts, a.Of)
	if a.Lands {
		text += ", though they are carried out"
	}
	return text
}

func (a answers) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() { w.cluster.suffers(a, at.Add(a.Lasts)) })
}

func (a answers) trait() trait { return trait{requests: true} }

func (a answers) meets(request asked) bool {
	return request.concerns(a.Kind) && (a.Code != "webhook" || request.what == "create jobs")
}
func (a answers) oneIn() int { return a.Of }
func (a answers) fate() fate { return fate{err: answerOf(a.Code), lands: a.Lands} }

// landsLate has creates of Jobs answered 504, and carried out later.
type landsLate struct{ After, Lasts time.Duration }

func (l landsLate) String() string {
	return fmt.Sprintf("creates of Jobs are answered 504 for %s, and land %s later", l.Lasts, l.After)
}

func (l landsLate) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() { w.cluster.suffers(l, at.Add(l.Lasts)) })
}

func (l landsLate) trait() trait             { return trait{requests: true} }
func (l landsLate) meets(request asked) bool { return request.what == "create jobs" && !request.dryRun }
func (l landsLate) oneIn() int               { return 1 }
func (l landsLate) fate() fate               { return fate{err: answerOf("504"), later: l.After} }

// slow has requests of a kind take long, and be answered with an error then where Fails says so. Lands says that one is carried out
// though its client has given it up.
type slow struct {
	Kind         string
	Of           int
	Takes, Lasts time.Duration
	Lands        bool
	Fails        string
}

func (s slow) String() string {
	what := s.Kind
	if what == "" {
		what = "all requests"
	}
	text := fmt.Sprintf("%s take %s for %s, one in %d", what, s.Takes, s.Lasts, s.Of)
	if s.Lands {
		text += ", and are carried out when nobody waits for them any more, too"
	}
	return text
}

func (s slow) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() { w.cluster.suffers(s, at.Add(s.Lasts)) })
}

func (s slow) trait() trait             { return trait{requests: true} }
func (s slow) meets(request asked) bool { return request.concerns(s.Kind) }
func (s slow) oneIn() int               { return s.Of }

func (s slow) fate() fate {
	if s.Fails != "" {
		return fate{takes: s.Takes, err: answerOf(s.Fails)}
	}
	return fate{takes: s.Takes, lands: s.Lands}
}
