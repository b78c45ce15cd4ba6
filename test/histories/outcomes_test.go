package histories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

// outcome is what has become of a history.
type outcome struct {
	scenario scenario
	account
	// effects is how many writes there were until the scenario was over, failure why it has not come to its end.
	effects int
	failure string
	taken   []taken
	sent    []*asked
	jobs    []batchv1.Job
	status  ostinatov1.CronJobStatus
	begin   time.Time
	said    []said
	rows    map[row]bool
}

// brokenOff reports whether the workflow has lost its memory, so that its ledger does not have all outcomes.
func (o outcome) brokenOff() bool {
	return slices.ContainsFunc(o.scenario.Steps, func(s step) bool { return s.Fault != nil && s.Fault.trait().forgets })
}

// Repeatable reports whether a crash that costs no time changes nothing.
func (o outcome) Repeatable() bool {
	// The status of a CronJob of batch/v1 does not say what a lost task has heard of a suspension amid its write.
	unsaid := o.scenario.Native && slices.ContainsFunc(o.scenario.Steps, func(s step) bool { return s.Within && s.Called == "suspend" })
	faulty := slices.ContainsFunc(o.scenario.Steps, func(s step) bool {
		return s.Fault != nil && (s.Fault.trait().requests || s.Fault.trait().forgets)
	})
	return !o.numbersTell() && !unsaid && !faulty
}

// numbersTell reports whether names of Jobs tell when a workflow task took a request: a trigger's number is that time, if it is an update
// or comes at the same time as another. So is a backfill's.
func (o outcome) numbersTell() bool {
	triggers := o.requestsOf(ledger.ThroughSignal, protocol.TriggerSignal)
	for i := 1; i < len(triggers); i++ {
		if triggers[i].at.Sub(triggers[i-1].at) < time.Second {
			return true
		}
	}
	return len(o.requestsOf(ledger.ThroughUpdate, protocol.TriggerUpdate, protocol.BackfillUpdate)) > 0
}

func (o outcome) Effects() int    { return o.effects }
func (o outcome) Failure() string { return o.failure }
func (o outcome) Story() string   { return o.Text() }

func (o outcome) Text() string {
	var text strings.Builder
	for _, entry := range o.ledger {
		// Requests that are made in turn take an instant.
		entry.Recorded, entry.Ended = entry.Recorded.Truncate(time.Second), entry.Ended.Truncate(time.Second)
		// A workflow whose task is lost after a write begins anew from the status, which does not have these.
		entry.Sequence = 0
		if !entry.Outcome.HasJob() {
			entry.Recorded = time.Time{}
		}
		fmt.Fprintf(&text, "outcome %s\n", written(entry))
	}
	var lines []string
	refused := map[string]int{}
	for _, one := range o.taken {
		line := fmt.Sprintf("%s %s", one.at.Format(time.TimeOnly), one.what)
		switch {
		case one.job != nil:
			lines = append(lines, fmt.Sprintf("%s %s %s\n", line, one.job.Name, one.job.UID))
		case one.what == "refused":
			// One line stands for all of a minute.
			refused[fmt.Sprintf("%s:.. refused %s: %v", one.at.Format("15:04"), one.name, one.err)]++
		case one.what == "steer" || one.what == "made" || one.what == "restore":
			lines = append(lines, line+"\n")
		}
	}
	for line, times := range refused {
		lines = append(lines, fmt.Sprintf("%s, %d times\n", line, times))
	}
	// Deletes of one activity come in any order.
	slices.Sort(lines)
	text.WriteString(strings.Join(lines, ""))
	for _, one := range o.jobs {
		fmt.Fprintf(&text, "job %s %s %s\n", one.Name, one.UID, written(one.Status))
	}
	// One write more is no other outcome.
	status := o.status
	status.Revision, status.PlanDigest = 0, ""
	// The template is judged with a write, or by the run that comes first.
	status.Conditions = slices.Clone(status.Conditions)
	if valid := meta.FindStatusCondition(status.Conditions, ostinatov1.ConditionTemplateValid); valid != nil {
		valid.LastTransitionTime = metav1.Time{}
	}
	fmt.Fprintf(&text, "status %s\n", written(status))
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
	return slices.Concat(o.runTwice(), o.overlaps(), o.wrongDeletes(), o.wrongCreates(), o.accounts(), o.contradictions(), o.steering(), o.lateness(), o.backfilled(), o.askedAgain(), o.askers(), o.suspenders())
}

// runTwice finds times and triggers for which two Jobs were created. Of a Job that somebody else has deleted before the answer to its
// create was recorded nothing tells that it was there, nor of one that a restore of etcd has taken back.
func (o outcome) runTwice() (wrong []string) {
	known := map[string]taken{}
	for _, one := range o.taken {
		if one.what == "remove" {
			if !o.remade(one) {
				delete(known, runOf(one.job))
			}
			continue
		}
		// What lands after its CronJob is gone is deleted with it.
		if one.what != "create" || o.remade(one) {
			continue
		}
		run := runOf(one.job)
		if before, ran := known[run]; ran && !o.takenBack(before, one) {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s, and %s at %s for the same time again",
				before.job.Name, before.at.Format(time.TimeOnly), one.job.Name, one.at.Format(time.TimeOnly)))
		}
		known[run] = one
	}
	return wrong
}

// runOf names the run of a Job: the time, or the Job of a manual one.
func runOf(job *batchv1.Job) string {
	if at, manual := scheduledTime(job); !manual {
		return at.Format(time.RFC3339)
	}
	return job.Name
}

// remade reports whether the CronJob of a Job was made again.
func (o outcome) remade(one taken) bool {
	owner := metav1.GetControllerOf(one.job)
	return owner != nil && owner.UID != one.uid
}

// takenBack reports whether etcd was restored, between two creates, to before the first one.
func (o outcome) takenBack(first, second taken) bool {
	return slices.ContainsFunc(o.restores(), func(one stretch) bool {
		return !first.at.Before(one.from) && first.at.Before(one.to) && !second.at.Before(one.to)
	})
}

// overlaps finds runs that began beside others where the policy, when the API server took the create, does not allow that.
func (o outcome) overlaps() (wrong []string) {
	for _, one := range o.taken {
		if capacity := one.spec.Capacity(); one.what == "create" && capacity > 0 && one.active >= capacity && !o.ranAgain(one.at) && !o.mayOverlap(one.job) && !o.resetUnawares() {
			wrong = append(wrong, fmt.Sprintf("%s was created at %s under %s beside %d others", one.job.Name, one.at.Format(time.TimeOnly), one.spec.ConcurrencyPolicy, one.active))
		}
	}
	return wrong
}

// mayOverlap reports whether a Job may be that of a manual run that asks to run beside others.
func (o outcome) mayOverlap(job *batchv1.Job) bool {
	_, manual := scheduledTime(job)
	return manual && o.scenario.asks(batchv1.AllowConcurrent)
}

func isBackfill(job *batchv1.Job) bool {
	return job != nil && job.Annotations[names.BackfillAnnotation] != ""
}

// wrongDeletes finds Jobs that were deleted and that neither a limit nor Replace asks for.
func (o outcome) wrongDeletes() (wrong []string) {
	for _, one := range o.taken {
		if one.what != "delete" {
			continue
		}
		ended := claim.Finished(one.job)
		switch {
		case o.ranAgain(one.at), ended == nil && o.scenario.asks(batchv1.ReplaceConcurrent):
		case ended == nil && one.spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent:
			wrong = append(wrong, fmt.Sprintf("%s was deleted at %s while it ran, under %s", one.job.Name, one.at.Format(time.TimeOnly), one.spec.ConcurrencyPolicy))
		case ended != nil && len(o.restores()) == 0 && one.kept < int(one.spec.HistoryLimit(ended.Type)):
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
		at, manual := scheduledTime(one.job)
		// A create that lands late may be of the CronJob that was deleted before: the garbage collector takes its Job.
		of := metav1.GetControllerOf(one.job)
		switch {
		case manual, of != nil && of.UID != one.uid:
		case !o.mayRun(one, at):
			wrong = append(wrong, fmt.Sprintf("%s was created at %s for a time before the CronJob was", one.job.Name, one.at.Format(time.TimeOnly)))
		case !o.asked(one, func(spec schedule.Spec) bool { return !spec.Suspend }):
			wrong = append(wrong, fmt.Sprintf("%s was created at %s while the CronJob was suspended", one.job.Name, one.at.Format(time.TimeOnly)))
		case !o.asked(one, func(spec schedule.Spec) bool { return namesTime(spec, at) }):
			wrong = append(wrong, fmt.Sprintf("%s was created at %s, which schedule %q does not name", one.job.Name, one.at.Format(time.TimeOnly), one.spec.Schedule))
		}
	}
	return wrong
}

// asked reports whether the CronJob was such that a run may start when its create was sent, or an instant before.
func (o outcome) asked(create taken, may func(schedule.Spec) bool) bool {
	const instant = 50 * time.Millisecond
	return may(create.spec) || slices.ContainsFunc(o.specs(), func(one stretch) bool {
		return !one.from.After(create.at) && !one.to.Before(create.at.Add(-instant)) && may(one.spec)
	})
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

// accounts finds times and triggers that have no outcome or two. What a workflow has told before it has lost its memory counts for
// those that the one after it does not tell of.
func (o outcome) accounts() (wrong []string) {
	for _, at := range o.named() {
		rows := rowsOf(o.ledger, at)
		missing := len(rows) == 0
		if o.brokenOff() {
			// The status of a CronJob of batch/v1 tells of no time that has no run.
			unsaid := o.scenario.Native && slices.ContainsFunc(o.forgot, at.Before)
			missing = missing && !unsaid && len(rowsOf(o.lost, at)) == 0 && !o.ran(at) && at.After(o.made()) && !o.unnamed(at)
		}
		if missing || len(rows) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d outcomes %q", at.Format(time.TimeOnly), len(rows), rows))
		}
	}
	manual, jobs := map[int64]int{}, map[string]int{}
	for _, entry := range o.ledger {
		if entry.Manual && entry.By != backfiller {
			manual[entry.Sequence]++
		}
		if jobs[entry.Job]++; entry.Job != "" && jobs[entry.Job] == 2 {
			wrong = append(wrong, entry.Job+" has two outcomes")
		}
	}
	for sequence, rows := range manual {
		// The status does not say which trigger one was.
		if rows != 1 && !(sequence == 0 && o.brokenOff()) {
			wrong = append(wrong, fmt.Sprintf("trigger %d has %d outcomes", sequence, rows))
		}
	}
	// An update that comes when the object is yet to be read is refused, and has no row.
	triggers, updates := len(o.requestsOf(ledger.ThroughSignal, protocol.TriggerSignal)), len(o.requestsOf(ledger.ThroughUpdate, protocol.TriggerUpdate))
	if all := len(manual); (all < triggers || all > triggers+updates) && !o.brokenOff() {
		wrong = append(wrong, fmt.Sprintf("%d triggers and %d updates have %d outcomes", triggers, updates, len(manual)))
	}
	if made := o.triggered(); made > triggers+updates && !o.resetUnawares() {
		wrong = append(wrong, fmt.Sprintf("%d triggers and %d updates have %d Jobs", triggers, updates, made))
	}
	return wrong
}

// unnamed reports whether the schedule did not name a time any more when the workflow has lost its memory, or whether the edit may be lost
// by which it does: nothing tells of the time then.
func (o outcome) unnamed(at time.Time) bool {
	return slices.ContainsFunc(o.forgot, func(lost time.Time) bool {
		return lost.After(at) && slices.ContainsFunc(o.specs(), func(one stretch) bool {
			return !one.from.After(lost) && (!one.to.Before(lost) || !one.to.After(at)) && !namesTime(one.spec, at)
		})
	})
}

// rowsOf are the outcomes of a time.
func rowsOf(all []ledger.Entry, at time.Time) (rows []string) {
	for _, entry := range all {
		if covers(entry, at) {
			rows = append(rows, fmt.Sprintf("%s %s", entry.Outcome, entry.Reason))
		}
	}
	return rows
}

// ran reports whether a Job was created for a time.
func (o outcome) ran(at time.Time) bool {
	return slices.ContainsFunc(o.taken, func(one taken) bool {
		return (one.what == "create" || one.what == "by hand") && runOf(one.job) == at.Format(time.RFC3339)
	})
}

// triggered is how many Jobs were created for triggers.
func (o outcome) triggered() (all int) {
	names := map[string]bool{}
	for _, one := range o.taken {
		if one.what != "create" {
			continue
		}
		if _, manual := scheduledTime(one.job); manual && !isBackfill(one.job) {
			names[one.job.Name] = true
		}
	}
	return len(names)
}

// resetUnawares reports whether Temporal has forgotten something when no process was there: nothing tells that the Job of a trigger is made
// that was lost with the process, and after a reset it is heard again. Where etcd is restored or the CronJob made again too, nothing tells that what is
// heard is of the past; nor does the status, if its write was under way.
func (o outcome) resetUnawares() bool {
	return len(o.forgot) > 0 && (len(o.restores()) > 0 || o.made().After(o.begin)) || slices.ContainsFunc(o.forgot, func(at time.Time) bool {
		return o.wasAway(at, at) || o.writesStatus(at)
	})
}

// writesStatus reports whether a write of the status was under way, for its client or, after that has given it up, for the API server.
func (o outcome) writesStatus(at time.Time) bool {
	const goesOn = time.Minute
	return slices.ContainsFunc(o.sent, func(one *asked) bool {
		return strings.HasSuffix(one.what, "cronjobs/status") && !one.sent.After(at) && (one.answered.IsZero() || one.answered.After(at.Add(-goesOn)))
	})
}

// made is when the CronJob was made, or made again last.
func (o outcome) made() time.Time {
	at := o.begin
	for _, one := range o.taken {
		if one.what == "made" {
			at = one.at
		}
	}
	return at
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
	if entry.Recorded.IsZero() {
		// It was taken from the status, which does not say when.
		entry.Recorded = o.end()
	}
	created := slices.ContainsFunc(o.taken, func(one taken) bool {
		if one.what != "create" && one.what != "by hand" || o.undone(one.at) || !entry.Outcome.HasJob() && o.unnoticed(one.at) {
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
	case entry.Outcome.HasJob() && !created && len(o.restores()) == 0:
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
		// The status says it in whole seconds.
		if !one.to.Before(first) && !one.from.After(entry.Recorded.Add(time.Second)) {
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
		// What a restore of etcd takes back nothing announces.
		isUndone := slices.ContainsFunc(o.restores(), func(one stretch) bool {
			return suspended(one.to.Add(-time.Second)) && !one.to.After(entry.Recorded)
		})
		isSuspended := slices.ContainsFunc(between, func(one stretch) bool { return one.spec.Suspend })
		if !isSuspended && !isUndone && (known < 0 || !o.heard[known].spec.Suspend) {
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
	case entry.Reason == ledger.ReasonOutage && o.proved(entry):
		return "the API server has refused it"
	case entry.Reason == ledger.ReasonOutage, entry.Reason == ledger.ReasonStartingDeadlineExceeded:
		// It may have been resumed in time, and suspended before the run was started.
		resumed := entry.Reason == ledger.ReasonStartingDeadlineExceeded && slices.ContainsFunc(between, func(one stretch) bool {
			deadline := one.spec.StartingDeadlineSeconds
			return !one.spec.Suspend && deadline != nil && one.from.Before(last.Add(time.Duration(*deadline)*time.Second))
		})
		if !entry.Outcome.HasJob() && suspended(first) && suspended(last) && (known < 0 || o.heard[known].spec.Suspend) && !o.forgotten(entry) &&
			!resumed && !(o.brokenOff() && (o.scenario.Native || o.made().After(o.begin))) {
			// Nothing tells since when a CronJob without a status of ours is suspended that no workflow knows.
			return "the CronJob was suspended then"
		}
	case entry.Outcome == ledger.FailedToCreate:
		// An attempt reads the CronJob before it creates its Job, and the Jobs that this one replaces.
		unread := entry.Reason == ledger.ServerError && o.answered("unread", first, entry.Recorded)
		// A restore of etcd brings Jobs back that run beside it, and that the workflow has seen end.
		beside := entry.Reason == ledger.NotPrescribed && len(o.restores()) > 0
		if !o.answered("refused", first, entry.Recorded) && !unread && !removed && !beside {
			return "the API server refused nothing"
		}
	}
	return ""
}

// unnoticed reports whether Temporal has forgotten a create before the status could tell of it. If its time is not asked for again, since
// the CronJob was edited, nothing tells of the Job.
func (o outcome) unnoticed(create time.Time) bool {
	const untold = 3 * time.Second
	return slices.ContainsFunc(o.forgot, func(at time.Time) bool { return !at.Before(create) && at.Before(create.Add(untold)) })
}

// answered reports whether an answer at some time of a stretch was an error: "refused" is one to a create of a Job, "unread" one to
// a read of the CronJob or of a Job.
func (o outcome) answered(what string, from, to time.Time) bool {
	return slices.ContainsFunc(o.taken, func(one taken) bool {
		return one.what == what && !one.at.Before(from) && !one.at.After(to.Add(time.Second))
	})
}
