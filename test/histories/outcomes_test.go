package histories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

// outcome is what has become of a history.
type outcome struct {
	scenario scenario
	// effects is how many writes there were until the scenario was over, failure why it has not come to its end.
	effects int
	failure string
	ledger  []ledger.Entry
	dropped int64
	taken   []taken
	jobs    []batchv1.Job
	status  ostinatov1.CronJobStatus
	begin   time.Time
	// triggers are those that were sent, heard the specs before each edit up to when the workflow has heard of it.
	triggers int
	heard    []stretch
}

// brokenOff reports whether the ledger does not have all outcomes, since the workflow has started anew or Temporal was restored.
func (o outcome) brokenOff() bool {
	return slices.ContainsFunc(o.scenario.Steps, func(s step) bool { return s.Does == "anew" || s.Does == "restore" })
}

func (o outcome) Effects() int    { return o.effects }
func (o outcome) Failure() string { return o.failure }
func (o outcome) Story() string   { return o.Text() }

func (o outcome) Text() string {
	var text strings.Builder
	for _, entry := range o.ledger {
		fmt.Fprintf(&text, "outcome %s\n", written(entry))
	}
	var lines []string
	for _, one := range o.taken {
		if one.job != nil {
			lines = append(lines, fmt.Sprintf("%s %s %s %s\n", one.at.Format(time.TimeOnly), one.what, one.job.Name, one.job.UID))
		}
	}
	// Deletes of one activity come in any order.
	slices.Sort(lines)
	text.WriteString(strings.Join(lines, ""))
	for _, one := range o.jobs {
		fmt.Fprintf(&text, "job %s %s %s\n", one.Name, one.UID, written(one.Status))
	}
	fmt.Fprintf(&text, "status %s\n", written(o.status))
	return text.String()
}

func written(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (o outcome) Mistakes() []string {
	if o.failure != "" {
		return []string{o.failure}
	}
	var all []string
	all = append(all, o.createdTwice()...)
	all = append(all, o.overlaps()...)
	all = append(all, o.wrongDeletes()...)
	all = append(all, o.wrongCreates()...)
	if o.brokenOff() {
		return all
	}
	all = append(all, o.accounts()...)
	return append(all, o.contradictions()...)
}

// createdTwice finds Jobs whose name was created twice. Of one that somebody else has deleted before the answer to its create was
// recorded nothing tells that it was there.
func (o outcome) createdTwice() (wrong []string) {
	seen := map[string]bool{}
	for _, one := range o.taken {
		switch one.what {
		case "remove":
			seen[one.job.Name] = false
		case "create":
			if seen[one.job.Name] {
				wrong = append(wrong, fmt.Sprintf("%s was created again at %s", one.job.Name, one.at.Format(time.TimeOnly)))
			}
			seen[one.job.Name] = true
		}
	}
	return wrong
}

// overlaps finds runs that began beside others where the policy, when the API server took the create, does not allow that.
func (o outcome) overlaps() (wrong []string) {
	for _, one := range o.taken {
		if capacity := one.spec.Capacity(); one.what == "create" && capacity > 0 && one.active >= capacity {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s under %s beside %d others", one.job.Name, one.at.Format(time.TimeOnly), one.spec.ConcurrencyPolicy, one.active))
		}
	}
	return wrong
}

// wrongDeletes finds Jobs that were deleted and that neither a limit nor Replace asks for.
func (o outcome) wrongDeletes() (wrong []string) {
	for _, one := range o.taken {
		if one.what != "delete" {
			continue
		}
		ended := claim.Finished(one.job)
		switch {
		case ended == nil && one.spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent:
			wrong = append(wrong, fmt.Sprintf("%s was deleted at %s while it ran, under %s", one.job.Name, one.at.Format(time.TimeOnly), one.spec.ConcurrencyPolicy))
		case ended != nil && one.kept < int(one.spec.HistoryLimit(ended.Type)):
			wrong = append(wrong, fmt.Sprintf("%s, which is %s, was deleted at %s though only %d others are kept", one.job.Name, ended.Type, one.at.Format(time.TimeOnly), one.kept))
		}
	}
	return wrong
}

// wrongCreates finds scheduled runs that began though the CronJob did not ask for them when the API server took the create.
func (o outcome) wrongCreates() (wrong []string) {
	for _, one := range o.taken {
		if one.what != "create" {
			continue
		}
		switch at, manual := scheduledTime(one.job); {
		case manual:
		case one.spec.Suspend:
			wrong = append(wrong, fmt.Sprintf("%s was created at %s while the CronJob was suspended", one.job.Name, one.at.Format(time.TimeOnly)))
		case !namesTime(one.spec, at):
			wrong = append(wrong, fmt.Sprintf("%s was created at %s, which schedule %q does not name", one.job.Name, one.at.Format(time.TimeOnly), one.spec.Schedule))
		}
	}
	return wrong
}

// stretch is a time during which the CronJob was as it is in it.
type stretch struct {
	from, to time.Time
	spec     schedule.Spec
}

// specs are the stretches, in their order.
func (o outcome) specs() []stretch {
	var all []stretch
	for _, one := range o.taken {
		if one.what != "edit" {
			continue
		}
		if last := len(all) - 1; last >= 0 {
			all[last].to = one.at
		}
		all = append(all, stretch{one.at, o.end(), one.spec})
	}
	return all
}

// end is that of the scenario; what comes later is left out of account.
func (o outcome) end() time.Time { return o.begin.Add(o.scenario.Lasts) }

// named are the times that the CronJob's schedule named when they came, and that which the workflow knew. Of a schedule that it has
// not heard of yet other times are not started: it can't tell how long ago the edit was.
func (o outcome) named() []time.Time {
	var all []time.Time
	for _, one := range o.specs() {
		all = append(all, timesOf(one.spec, one.from, one.to)...)
	}
	return slices.DeleteFunc(all, func(at time.Time) bool {
		known := slices.IndexFunc(o.heard, func(one stretch) bool { return !at.After(one.to) })
		return known >= 0 && !namesTime(o.heard[known].spec, at)
	})
}

func timesOf(spec schedule.Spec, after, until time.Time) []time.Time {
	calculator, problem := times.Parse(spec.Schedule, spec.TimeZone)
	if problem != nil {
		return nil
	}
	var all []time.Time
	for at := calculator.Next(after); !at.IsZero() && !at.After(until); at = calculator.Next(at) {
		all = append(all, at)
	}
	return all
}

func namesTime(spec schedule.Spec, at time.Time) bool {
	return len(timesOf(spec, at.Add(-time.Second), at)) == 1
}

func covers(entry ledger.Entry, at time.Time) bool {
	return !entry.Manual && (entry.Scheduled.Equal(at) || !entry.Until.IsZero() && !at.Before(entry.Scheduled) && !at.After(entry.Until))
}

// accounts finds times and triggers that have no outcome or two.
func (o outcome) accounts() (wrong []string) {
	if o.dropped > 0 {
		return []string{"the scenario is too long: outcomes have fallen out of the ledger"}
	}
	for _, at := range o.named() {
		var rows []string
		for _, entry := range o.ledger {
			if covers(entry, at) {
				rows = append(rows, fmt.Sprintf("%s %s", entry.Outcome, entry.Reason))
			}
		}
		if len(rows) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d outcomes %q", at.Format(time.TimeOnly), len(rows), rows))
		}
	}
	manual := map[int64]int{}
	for _, entry := range o.ledger {
		if entry.Manual {
			manual[entry.Sequence]++
		}
	}
	for sequence, rows := range manual {
		if rows != 1 {
			wrong = append(wrong, fmt.Sprintf("trigger %d has %d outcomes", sequence, rows))
		}
	}
	if len(manual) != o.triggers {
		wrong = append(wrong, fmt.Sprintf("%d triggers have %d outcomes", o.triggers, len(manual)))
	}
	return wrong
}

// contradictions finds outcomes that say otherwise than what the API server has taken.
func (o outcome) contradictions() (wrong []string) {
	for _, entry := range o.ledger {
		if why := o.contradiction(entry); why != "" && entry.Scheduled.Before(o.end()) {
			wrong = append(wrong, fmt.Sprintf("%s is %s %s, but %s", entry.Scheduled.Format(time.TimeOnly), entry.Outcome, entry.Reason, why))
		}
	}
	return wrong
}

func (o outcome) contradiction(entry ledger.Entry) string {
	created := slices.ContainsFunc(o.taken, func(one taken) bool {
		if one.what != "create" {
			return false
		}
		at, manual := scheduledTime(one.job)
		return one.job.Name == entry.Job || !manual && covers(entry, at)
	})
	// Of a Job that somebody else has deleted before it was known nothing tells.
	removed := slices.ContainsFunc(o.taken, func(one taken) bool {
		if one.what != "remove" {
			return false
		}
		at, manual := scheduledTime(one.job)
		return !manual && covers(entry, at)
	})
	switch {
	case entry.Outcome.HasJob() != created && created && !removed:
		return "its Job was created"
	case entry.Outcome.HasJob() && !created:
		return "no Job was created"
	case entry.Manual:
		return ""
	}
	first, last := entry.Scheduled, entry.Scheduled
	if !entry.Until.IsZero() {
		last = entry.Until
	}
	// between are the stretches from the first of the times until the outcome was known.
	var between []stretch
	for _, one := range o.specs() {
		if !one.to.Before(first) && !one.from.After(entry.Recorded) {
			between = append(between, one)
		}
	}
	suspended := func(at time.Time) bool {
		return slices.ContainsFunc(o.specs(), func(one stretch) bool { return one.spec.Suspend && one.from.Before(at) && one.to.After(at) })
	}
	// The workflow may not have heard yet that the CronJob is suspended, or resumed.
	known := slices.IndexFunc(o.heard, func(one stretch) bool { return !last.After(one.to) })
	switch {
	case entry.Reason == ledger.ReasonSuspended:
		if !slices.ContainsFunc(between, func(one stretch) bool { return one.spec.Suspend }) && (known < 0 || !o.heard[known].spec.Suspend) {
			return "the CronJob was not suspended"
		}
	case entry.Reason == ledger.ReasonScheduleChanged:
		for _, one := range between {
			if first.Equal(last) && !namesTime(one.spec, first) {
				return ""
			}
		}
		if first.Equal(last) {
			return "each schedule since names it"
		}
	case entry.Reason == ledger.ReasonOutage, entry.Reason == ledger.ReasonStartingDeadlineExceeded:
		if !entry.Outcome.HasJob() && suspended(first) && suspended(last) && (known < 0 || o.heard[known].spec.Suspend) {
			return "the CronJob was suspended then"
		}
	case entry.Outcome == ledger.FailedToCreate:
		if !o.refused(first, entry.Recorded) {
			return "the API server refused nothing"
		}
	}
	return ""
}

// refused reports whether the API server has refused creates of Jobs at some time of a stretch.
func (o outcome) refused(from, to time.Time) bool {
	refuses := false
	for _, one := range o.taken {
		if one.what == "answers" && !one.at.After(from) {
			refuses = one.err != nil
		}
		if one.what == "answers" && one.err != nil && one.at.After(from) && !one.at.After(to) {
			return true
		}
	}
	return refuses
}
