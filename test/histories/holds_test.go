package histories

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// hearsWithin is how soon a signal is heard, hearsAfter how soon after the call under way has its answer, or is given up.
	hearsWithin = 10 * time.Second
	hearsAfter  = 5 * time.Second
)

// steering finds signals that were not heard in time, and writes of spec.suspend that no signal asks for.
func (o outcome) steering() (wrong []string) {
	for i, signal := range o.steers() {
		until := o.patience(signal.at)
		heard := slices.ContainsFunc(o.taken, func(one taken) bool {
			return one.what == "heard" && !one.at.Before(signal.at) && !one.at.After(until)
		})
		if !heard && !o.upset(signal.at, until) && !o.unread(signal.at) && until.Before(o.end()) {
			wrong = append(wrong, fmt.Sprintf("signal %d of %s was not heard until %s", i+1, signal.at.Format(time.TimeOnly), until.Format(time.TimeOnly)))
		}
	}
	for _, one := range o.taken {
		if one.what == "steer" && o.scenario.Spec.PauseAfterFailures == nil && !o.resetUnawares() && !o.steered(one) {
			wrong = append(wrong, fmt.Sprintf("spec.suspend was written at %s, though no signal since the last loss asks for it", one.at.Format(time.TimeOnly)))
		}
	}
	return wrong
}

// patience is until when a signal is to be heard: calls may have been under way, and no process there.
func (o outcome) patience(at time.Time) time.Time {
	until := at.Add(hearsWithin)
	for _, one := range o.sent {
		// What carries the signal out is sent after it.
		carries := slices.Contains([]string{"get cronjobs", "patch cronjobs"}, one.what) && !one.sent.After(until)
		if one.sent.After(at) && !carries || one.answered.Before(at) {
			continue
		}
		if after := one.answered.Add(hearsAfter); after.After(until) {
			until = after
		}
	}
	for _, one := range o.away {
		if !one.from.After(until) && !one.to.Before(at) {
			until = until.Add(one.to.Sub(one.from))
		}
	}
	return until
}

// upset reports whether a signal may be lost, or come to another object: a workflow that finds that its state is an old one drops what
// it has heard.
func (o outcome) upset(from, to time.Time) bool {
	from = from.Add(-hearsWithin)
	if o.made().After(o.begin) {
		// The workflow may be that of the CronJob before, until the bridge misses its successor's.
		from = from.Add(-time.Minute)
	}
	during := func(at time.Time) bool { return !at.Before(from) && !at.After(to) }
	return slices.ContainsFunc(o.forgot, during) || slices.ContainsFunc(o.taken, func(one taken) bool {
		return (one.what == "made" || one.what == "restore") && during(one.at)
	})
}

// unread reports whether the workflow has forgotten something while its object could not be read: it carries nothing out before it has
// read the object, which it tries again after as long a time.
func (o outcome) unread(at time.Time) bool {
	return slices.ContainsFunc(o.scenario.Steps, func(one step) bool {
		fault, answers := one.Fault.(answers)
		if !answers || !fault.meets(asked{what: "list jobs"}) && !fault.meets(asked{what: "get cronjobs"}) {
			return false
		}
		from := o.begin.Add(one.At)
		to := from.Add(fault.Lasts)
		forgot := slices.ContainsFunc(o.forgot, func(at time.Time) bool { return !at.Before(from) && at.Before(to) })
		return forgot && !at.Before(from) && at.Before(to.Add(fault.Lasts))
	})
}

// steered reports whether a signal asks for a write of spec.suspend: one that was not carried out before Temporal has forgotten something
// last. One that asked for what was so has left nothing on the object that tells, and is carried out when a reset brings it back.
func (o outcome) steered(write taken) bool {
	var since time.Time
	// A forged status is one write ahead, as that of a task that was lost: what was heard is carried out.
	if o.forged() {
		return len(o.steers()) > 0
	}
	for _, at := range o.forgot {
		if !at.After(write.at) {
			since = at
		}
	}
	return slices.ContainsFunc(o.steers(), func(signal request) bool {
		heard := slices.ContainsFunc(o.taken, func(one taken) bool {
			return one.what == "heard" && !one.at.Before(signal.at) && one.at.Before(since)
		})
		return (!heard || o.repeats(signal)) && !signal.at.After(write.at)
	})
}

// repeats reports whether a signal asks for the same as the one before it.
func (o outcome) repeats(signal request) bool {
	before := ""
	for _, one := range o.steers() {
		if one.at.Before(signal.at) {
			before = one.name
		}
	}
	return before == signal.name
}

// lateness finds scheduled runs that have started later than they may, or not at all.
func (o outcome) lateness() (wrong []string) {
	for _, at := range o.scenario.Runs {
		if !o.ran(at) {
			wrong = append(wrong, fmt.Sprintf("%s has not run", at.Format(time.TimeOnly)))
		}
	}
	if o.scenario.Prompt == 0 {
		return wrong
	}
	for _, one := range o.taken {
		if one.what != "create" {
			continue
		}
		if at, manual := scheduledTime(one.job); !manual && one.at.Sub(at) > o.scenario.Prompt && !o.wasAway(at, one.at) {
			wrong = append(wrong, fmt.Sprintf("%s was created %s late", one.job.Name, one.at.Sub(at)))
		}
	}
	for _, at := range o.named() {
		if !o.ran(at) && !o.wasAway(at, at.Add(o.scenario.Prompt)) {
			wrong = append(wrong, fmt.Sprintf("%s has not run", at.Format(time.TimeOnly)))
		}
	}
	return wrong
}

// wasAway reports whether no process was there at some time of a stretch.
func (o outcome) wasAway(from, to time.Time) bool {
	return slices.ContainsFunc(o.away, func(one stretch) bool { return !one.from.After(to) && !one.to.Before(from) })
}

// forgotten reports whether the workflow may have lost what it knew of a time before its outcome was known, which a row says to the second.
func (o outcome) forgotten(entry ledger.Entry) bool {
	return slices.ContainsFunc(o.forgot, func(at time.Time) bool {
		return at.After(entry.Scheduled) && !at.After(entry.Recorded.Add(time.Second))
	})
}

// proved reports whether the API server has answered the create of a run, or the delete of one that it replaces, with what proves that
// nothing was done, and nothing else was wrong meanwhile.
func (o outcome) proved(entry ledger.Entry) bool {
	if o.wasAway(entry.Scheduled, entry.Recorded) || o.forgotten(entry) {
		return false
	}
	name, answered, proof := names.ScheduledJob(cronJob, entry.Scheduled), 0, 0
	for _, one := range o.taken {
		ofRun := one.what == "refused" && one.name == name || one.what == "left" && !one.at.Before(entry.Scheduled)
		if !ofRun || one.at.After(entry.Recorded) {
			continue
		}
		if answered++; proves(one.err) {
			proof++
		}
	}
	return proof > 0 && proof == answered
}

// noteLasts is how long what ostinato.dev/last-schedule-time says counts.
const noteLasts = time.Hour

// mayRun reports whether a run is of a time after the CronJob was made, or of one that the note of a move says is missing.
func (o outcome) mayRun(one taken, at time.Time) bool {
	made := one.since
	if !at.Before(made.Truncate(time.Second)) {
		return true
	}
	note := o.scenario.Notes[names.LastScheduleTimeAnnotation]
	last, when, noted := strings.Cut(note, " noted ")
	ran, err := time.Parse(time.RFC3339, last)
	if err != nil || !at.After(ran) {
		return false
	}
	if !noted {
		return !at.Before(made.Add(-noteLasts))
	}
	written, err := time.Parse(time.RFC3339, when)
	return err == nil && !made.Before(written) && made.Sub(written) <= noteLasts
}
