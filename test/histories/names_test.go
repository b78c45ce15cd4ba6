package histories

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

// row is what a row of the ledger, or of a status, says about who has asked for a run.
type row struct {
	scheduled    time.Time
	job, message string
	manual       bool
	ledger.Asked
}

func rowOf(recent ostinatov1.RecentRun) row {
	return row{
		recent.ScheduledTime.UTC(), recent.JobName, recent.Message, recent.Manual, ledger.Asked{By: recent.By, User: recent.User, Through: recent.Through, Changed: recent.Changed},
	}
}

// allRows are the rows of the ledger, of that which the workflow had before it lost its memory, and of all statuses.
func (o outcome) allRows() []row {
	all := maps.Clone(o.rows)
	for _, entry := range slices.Concat(o.ledger, o.lost) {
		all[row{entry.Scheduled.UTC(), entry.Job, entry.Message, entry.Manual, entry.Asked}] = true
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b row) int {
		if order := a.scheduled.Compare(b.scheduled); order != 0 {
			return order
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// askers finds rows that name another than who has asked for their run.
func (o outcome) askers() (wrong []string) {
	for _, one := range o.allRows() {
		if why := o.wronglyAsked(one); why != "" {
			wrong = append(wrong, fmt.Sprintf("the row of %s of %s %q names %q through %q, but %s",
				one.job, one.scheduled.Format(time.TimeOnly), one.message, ledger.Who(one.User, one.By), one.Through, why))
		}
	}
	return wrong
}

func (o outcome) wronglyAsked(one row) string {
	who := ledger.Who(one.User, one.By)
	switch {
	case !one.manual && (who != "" || one.Through != ""):
		return "the schedule has asked for it"
	case !one.manual:
		return ""
	case who == "" && one.Through != ledger.ThroughSignal && one.Through != ledger.ThroughUpdate && o.nameless[one.job]:
		return ""
	}
	var may []string
	for _, sent := range o.askersOf(one) {
		may = append(may, sent.who(o.scenario.Believes))
		if one.job == "" {
			// No worker has judged the header if no Job was asked for.
			may = append(may, sent.who(false))
		}
	}
	if !slices.Contains(may, who) {
		return fmt.Sprintf("it was %q", may)
	}
	return ""
}

// askersOf are the requests that may have asked for a run: that with its note, or else those that may have been heard when it was asked for,
// or else all that came before, as one that is heard again after a reset.
func (o outcome) askersOf(one row) (may []request) {
	var before []request
	for _, sent := range o.requests {
		switch {
		case sent.through != one.Through || !sent.mayAskFor(one):
		case sent.note != "" && strings.Contains(one.message, sent.note):
			return []request{sent}
		case sent.backfill == nil && !one.scheduled.After(o.patience(sent.at)):
			may = append(may, sent)
		default:
			before = append(before, sent)
		}
	}
	if len(may) > 0 {
		return may
	}
	return before
}

// mayAskFor reports whether a run is one that a request may have asked for, by its time.
func (r request) mayAskFor(one row) bool {
	switch r.name {
	case protocol.TriggerSignal:
		return one.By != backfiller && !r.at.Truncate(time.Second).After(one.scheduled)
	case protocol.BackfillUpdate:
		return one.By == backfiller && !r.backfill.from.After(one.scheduled) && !r.backfill.to.Before(one.scheduled)
	}
	return false
}

// losesNames notes the runs of whose senders nothing tells any more, when the workflow loses what it has heard since a time: those that the
// status does not have, with those whose creates are carried out later.
func (w *world) losesNames(since time.Time) {
	told := map[string]bool{}
	for _, recent := range w.cluster.peek().Status.RecentRuns {
		told[recent.JobName] = true
	}
	lose := func() {
		w.cluster.mutex.Lock()
		defer w.cluster.mutex.Unlock()
		for _, one := range w.cluster.taken {
			if one.what == "create" && !told[one.job.Name] && one.at.After(since) {
				w.record.nameless[one.job.Name] = true
			}
		}
	}
	lose()
	w.agenda.Plan(time.Now().Add(time.Minute), lose)
}
