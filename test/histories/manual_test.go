package histories

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/test/histories/play"
)

// backfiller is the sender of each backfill, by which its rows are known.
const backfiller = "backfiller"

// backfills asks to run the times from so long ago to so long ago.
type backfills struct {
	Since, To   time.Duration
	Parallelism int
	Overlap     batchv1.ConcurrencyPolicy
	// From says who sends it; the claim is always that of backfiller.
	From sender
}

func (b backfills) String() string {
	return fmt.Sprintf("a backfill from %s to %s ago, %d at once, overlap %q%s", b.Since, b.To, b.Parallelism, b.Overlap, b.From)
}
func (b backfills) trait() trait { return trait{} }

// sentBackfill is a backfill that was sent.
type sentBackfill struct {
	at, from, to time.Time
	// times are those that were accepted, and refused says that the last answer was another: a reset has it sent again.
	times   []time.Time
	refused bool
}

func (b backfills) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		now := time.Now().UTC().Truncate(time.Second)
		sent := &sentBackfill{at: time.Now(), from: now.Add(-b.Since), to: now.Add(-b.To)}
		from := b.From
		from.claims = backfiller
		asked := w.asks(protocol.BackfillUpdate, ledger.ThroughUpdate, from, sent)
		w.tell(play.Signal{
			Name: protocol.BackfillUpdate, Update: true, Answered: sent.answered, Header: from.header(), Argument: protocol.BackfillRequest{
				From: sent.from, To: sent.to, Parallelism: b.Parallelism, Overlap: b.Overlap, By: from.claims, Note: asked.note,
			},
		})
	})
}

func (b *sentBackfill) answered(answer any, err error) {
	given, _ := answer.(protocol.BackfillAnswer)
	b.refused = err != nil || !given.Accepted
	if !b.refused {
		b.times = given.Times
	}
}

// cancels ends all backfills.
type cancels struct{}

func (cancels) String() string { return "all backfills are cancelled" }
func (cancels) trait() trait   { return trait{} }

func (cancels) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		w.tell(play.Signal{Name: protocol.BackfillUpdate, Update: true, Argument: protocol.BackfillRequest{Cancel: true}})
	})
}

// takesBack takes back all triggers that wait.
type takesBack struct{}

func (takesBack) String() string { return "all triggers are taken back" }
func (takesBack) trait() trait   { return trait{} }

func (takesBack) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		sent := &sentCancel{at: time.Now()}
		w.record.cancels = append(w.record.cancels, sent)
		w.tell(play.Signal{
			Name: protocol.TriggerUpdate, Update: true, Answered: sent.answeredWith, Argument: protocol.TriggerRequest{Cancel: true},
		})
	})
}

// sentCancel is the taking back of triggers: when it was sent, and when it was answered that they are; zero if it was not.
type sentCancel struct{ at, answered time.Time }

func (c *sentCancel) answeredWith(answer any, err error) {
	c.answered = time.Time{}
	if given, _ := answer.(protocol.TriggerAnswer); err == nil && given.Runs == schedule.RunsNone {
		c.answered = time.Now()
	}
}

// askedAgain finds Jobs that were made for triggers after these were taken back. A create that was sent before may be carried out later.
func (o outcome) askedAgain() (wrong []string) {
	late := slices.ContainsFunc(o.scenario.Steps, func(s step) bool {
		fault, lands := s.Fault.(slow)
		_, later := s.Fault.(landsLate)
		return later || lands && fault.Lands
	})
	for _, entry := range o.ledger {
		for _, cancel := range o.cancels {
			before := entry.Manual && entry.By != backfiller && time.UnixMilli(entry.Sequence).Before(cancel.at)
			again := slices.ContainsFunc(o.taken, func(one taken) bool {
				return one.what == "create" && one.job.Name == entry.Job && !cancel.answered.IsZero() && one.at.After(cancel.answered)
			})
			if before && again && !late && !o.brokenOff() {
				wrong = append(wrong, fmt.Sprintf("%s was taken back at %s, and made later", entry.Job, cancel.answered.Format(time.TimeOnly)))
			}
		}
	}
	return wrong
}

// overlaps is a trigger that asks for a policy.
type overlapping struct {
	Overlap batchv1.ConcurrencyPolicy
	From    sender
}

func (o overlapping) String() string {
	return fmt.Sprintf("a trigger with overlap %s%s", o.Overlap, o.From)
}
func (o overlapping) trait() trait { return trait{} }

func (o overlapping) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		w.signals(protocol.TriggerSignal, o.From, map[string]string{"overlap": string(o.Overlap)})
	})
}

// drawManual draws what people ask for besides the schedule.
func drawManual(t *rapid.T, at time.Duration, spec ostinatov1.CronJobSpec) []step {
	switch rapid.SampledFrom([]string{"backfill", "backfill", "backfill and cancel", "overlap"}).Draw(t, "asks for") {
	case "overlap":
		return []step{faulty(at, overlapping{Overlap: rapid.SampledFrom(policies).Draw(t, "overlap")})}
	case "backfill and cancel":
		later := rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 3 * time.Minute}).Draw(t, "cancelled after")
		return []step{faulty(at, drawBackfill(t, spec)), faulty(at+later, cancels{})}
	}
	return []step{faulty(at, drawBackfill(t, spec))}
}

func drawBackfill(t *rapid.T, spec ostinatov1.CronJobSpec) backfills {
	from := time.Duration(rapid.IntRange(5, 40).Draw(t, "from")) * time.Minute
	drawn := backfills{
		Since: from, To: from - time.Duration(rapid.IntRange(1, 5*int(from/(5*time.Minute))).Draw(t, "for"))*time.Minute,
		Overlap: rapid.SampledFrom(append(policies, "", "", "")).Draw(t, "overlap"), Parallelism: 1,
	}
	if drawn.Overlap == batchv1.AllowConcurrent || drawn.Overlap == "" && spec.ConcurrencyPolicy == batchv1.AllowConcurrent && spec.MaxConcurrent == nil {
		drawn.Parallelism = rapid.IntRange(1, 3).Draw(t, "at once")
	}
	return drawn
}

// asks reports whether a manual run of the scenario asks for a policy.
func (s scenario) asks(may ...batchv1.ConcurrencyPolicy) bool {
	return slices.ContainsFunc(s.Steps, func(one step) bool {
		switch asked := one.Fault.(type) {
		case overlapping:
			return slices.Contains(may, asked.Overlap)
		case backfills:
			return slices.Contains(may, asked.Overlap)
		}
		return false
	})
}

// backfilled finds times of backfills that have no row or two, and Jobs of none.
func (o outcome) backfilled() (wrong []string) {
	asked, rows, jobs := map[time.Time]int{}, map[time.Time]int{}, map[time.Time]int{}
	// known are those whose rows nothing has taken away.
	known := map[time.Time]int{}
	for _, one := range o.requestsOf(ledger.ThroughUpdate, protocol.BackfillUpdate) {
		sent := one.backfill
		for _, at := range sent.times {
			asked[at.UTC()]++
			if !sent.refused && !slices.ContainsFunc(o.forgot, sent.at.Before) && (o.made().Equal(o.begin) || o.made().Before(sent.at) && len(o.restores()) == 0) {
				known[at.UTC()]++
			}
		}
	}
	for _, entry := range o.ledger {
		if entry.By != backfiller {
			continue
		}
		for at := range asked {
			if o.isBackfilled(entry, at) {
				rows[at]++
			}
		}
	}
	for _, one := range o.taken {
		if !isBackfill(one.job) {
			continue
		}
		at, _ := scheduledTime(one.job)
		if one.what == "create" {
			jobs[at]++
		}
		if one.what == "remove" {
			// Of a Job that others delete before its create has an answer nothing tells that it was there.
			jobs[at]--
		}
	}
	for at, times := range asked {
		if rows[at] > times || rows[at] < known[at] {
			wrong = append(wrong, fmt.Sprintf("%d backfills of %s have %d outcomes", times, at.Format(time.TimeOnly), rows[at]))
		}
	}
	for at, made := range jobs {
		if made > asked[at] && !o.brokenOff() && len(o.restores()) == 0 {
			wrong = append(wrong, fmt.Sprintf("%d backfills of %s have %d Jobs", asked[at], at.Format(time.TimeOnly), made))
		}
	}
	return wrong
}

// isBackfilled reports whether the row of a backfill is about a time: a stretch is about times of one backfill.
func (o outcome) isBackfilled(entry ledger.Entry, at time.Time) bool {
	return entry.Covers(at) && slices.ContainsFunc(o.requestsOf(ledger.ThroughUpdate, protocol.BackfillUpdate), func(one request) bool {
		has := func(at time.Time) bool { return slices.ContainsFunc(one.backfill.times, at.Equal) }
		return has(at) && has(entry.Scheduled) && has(entry.Last())
	})
}
