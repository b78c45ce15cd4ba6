package answer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// Ledger is what is known of a CronJob's times.
type Ledger struct {
	// Rows are newest first.
	Rows []ostinatov1.RecentRun
	// Whole says that there are no rows before these; Unseen says why rows may be missing, empty where none is.
	Whole  bool
	Unseen string
	// Suspensions are the last ones, oldest first, where they were read.
	Suspensions []ledger.Suspension
}

// Verdict says whether a CronJob ran at a time.
type Verdict struct {
	Namespace string `json:"namespace"`
	CronJob   string `json:"cronJob"`
	// Time is absent where none has come yet.
	Time *metav1.Time `json:"time,omitempty"`
	// Ran says that the Job was created. If it is false, the time may also be one that is not decided or not known here.
	Ran bool `json:"ran"`
	// Text says in a paragraph why or why not, and what to do next.
	Text string `json:"text"`
}

// Why says whether the CronJob ran at a time, why or why not.
func Why(clock Clock, cronJob *ostinatov1.CronJob, known Ledger, at time.Time) Verdict {
	row := covering(known.Rows, at)
	return Verdict{
		Namespace: cronJob.Namespace, CronJob: cronJob.Name, Time: &metav1.Time{Time: at},
		Ran: row != nil && ledger.Outcome(row.Outcome).HasJob(), Text: Printable(why(clock, cronJob, known, at)),
	}
}

func why(clock Clock, cronJob *ostinatov1.CronJob, known Ledger, at time.Time) string {
	if row := covering(known.Rows, at); row != nil {
		return outcome(clock, cronJob, *row, at, known)
	}
	if at.Before(cronJob.CreationTimestamp.Time) {
		return fmt.Sprintf("No. The CronJob was created at %s, after that time. An earlier CronJob of this name would have had a ledger of its own, which went with it.",
			clock.Time(cronJob.CreationTimestamp.Time))
	}
	named, near := neighbours(cronJob, at)
	switch {
	case named != nil:
		return fmt.Sprintf("No run can start: %s. Correct spec.schedule or spec.timeZone.", strings.TrimSuffix(named.Message, "."))
	case !near.names:
		return unnamed(clock, near)
	case at.After(clock.Now):
		return fmt.Sprintf("Not yet: %s is %s. %s", clock.Time(at), clock.Ago(at), outlook(clock, cronJob))
	case len(known.Rows) > 0 && at.Before(oldest(known.Rows)) && !known.Whole:
		return strings.TrimSpace(fmt.Sprintf("Not known here: the rows that were read begin at %s. %s", clock.Time(oldest(known.Rows)), cmp.Or(known.during(clock, at), known.Unseen)))
	case !at.After(timeOf(cronJob.Status.AccountedUntil)):
		return strings.TrimSpace(fmt.Sprintf("Not known here: the time has its outcome, but it is not among the rows that were read. %s", cmp.Or(known.during(clock, at), known.Unseen)))
	}
	if run, ok := blocker(cronJob); ok && at.After(run.Since) {
		return fmt.Sprintf("Not yet: the run of %s is held back.%s %s", clock.Time(at), behind(clock, cronJob), run.freed(cronJob))
	}
	return fmt.Sprintf("Not decided yet: the times up to %s have their outcomes. %s", cmp.Or(formatted(clock, cronJob.Status.AccountedUntil), "none"), outlook(clock, cronJob))
}

func formatted(clock Clock, t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return clock.Time(t.Time)
}

// RowOf returns the row of a time, or of the stretch that has it; nil where none of the rows has.
func (l Ledger) RowOf(at time.Time) *ostinatov1.RecentRun { return covering(l.Rows, at) }

// covering returns the row of a time, or of the stretch that has it; nil where none has. Of several, such as a run and a
// backfill of it, the newest counts.
func covering(rows []ostinatov1.RecentRun, at time.Time) *ostinatov1.RecentRun {
	for n, row := range rows {
		first := row.ScheduledTime.Truncate(time.Second)
		if first.Equal(at) || row.Until != nil && !at.Before(first) && !at.After(row.Until.Time) {
			return &rows[n]
		}
	}
	return nil
}

func oldest(rows []ostinatov1.RecentRun) time.Time {
	first := rows[0].ScheduledTime.Time
	for _, row := range rows {
		if row.ScheduledTime.Time.Before(first) {
			first = row.ScheduledTime.Time
		}
	}
	return first
}

// nearby says whether the schedule names a time, and which times around it it does.
type nearby struct {
	names         bool
	before, after time.Time
}

// searched is how far before a time the one before it is looked for.
var searched = []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 366 * 24 * time.Hour}

// neighbours asks the schedule as it now is.
func neighbours(cronJob *ostinatov1.CronJob, at time.Time) (*times.Problem, nearby) {
	calculator, problem := times.Parse(cronJob.Spec.Schedule, zoneOf(cronJob))
	if problem != nil {
		return problem, nearby{}
	}
	near := nearby{names: calculator.Next(at.Add(-time.Second)).Equal(at), after: calculator.Next(at)}
	for _, back := range searched {
		for t := calculator.Next(at.Add(-back)); !t.IsZero() && t.Before(at); t = calculator.Next(t) {
			near.before = t
		}
		if !near.before.IsZero() {
			break
		}
	}
	return nil, near
}

// zoneOf is the CronJob's zone, or UTC, in which workers run that are not told otherwise.
func zoneOf(cronJob *ostinatov1.CronJob) *string {
	return ptr.To(ptr.Deref(cronJob.Spec.TimeZone, "UTC"))
}

func unnamed(clock Clock, near nearby) string {
	text := "No: the schedule, as it is now, names no run at that time."
	switch {
	case near.before.IsZero():
		return text + fmt.Sprintf(" The next one is %s.", clock.Time(near.after))
	case near.after.IsZero():
		return text + fmt.Sprintf(" The one before is %s.", clock.Time(near.before))
	}
	return text + fmt.Sprintf(" The nearest are %s and %s.", clock.Time(near.before), clock.Time(near.after))
}

// outlook says whether the next run will start, and if not, why not.
func outlook(clock Clock, cronJob *ostinatov1.CronJob) string {
	conditions := cronJob.Status.Conditions
	if paused := conditionIs(cronJob, ostinatov1.ConditionWorkflowPaused); paused != nil {
		return fmt.Sprintf("Nothing starts since %s: %s.", clock.Time(paused.LastTransitionTime.Time), paused.Message)
	}
	if stalled := meta.FindStatusCondition(conditions, ostinatov1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		return "No run starts until that is mended: " + stalled.Message
	}
	if ptr.Deref(cronJob.Spec.Suspend, false) {
		text := "The CronJob is suspended, so no scheduled run starts."
		if suspended := meta.FindStatusCondition(conditions, ostinatov1.ConditionSuspended); suspended != nil && suspended.Message != "" {
			text += " " + strings.TrimSuffix(suspended.Message, ".") + "."
		}
		return text + fmt.Sprintf(" To resume it: ostinato resume %s", cronJob.Name)
	}
	if due := timeOf(cronJob.Status.NextScheduleTime); !due.IsZero() {
		return fmt.Sprintf("The next run is due at %s, %s.", clock.Time(due), clock.Ago(due))
	}
	return "No next time is known."
}

// outcome is the paragraph of a time that has one.
func outcome(clock Clock, cronJob *ostinatov1.CronJob, row ostinatov1.RecentRun, at time.Time, known Ledger) string {
	result := ledger.Outcome(row.Outcome)
	var text string
	switch result {
	case ledger.Started:
		text = started(clock, cronJob, row, "Yes")
	case ledger.StartedLate:
		text = started(clock, cronJob, row, "Yes, late") + because(row)
	case ledger.Queued:
		text = fmt.Sprintf("Not yet: the run of %s waits%s", clock.Time(at), because(row)) + behind(clock, cronJob)
	case ledger.FailedToCreate:
		text = "No: the Job could not be created" + because(row)
	default:
		text = "No: the time was skipped" + because(row)
		if result == ledger.SkippedOverlap {
			text += behind(clock, cronJob)
		}
	}
	if row.Count > 1 {
		text += fmt.Sprintf(" The same holds for %d times from %s to %s.", row.Count, clock.Time(row.ScheduledTime.Time), clock.Time(row.Until.Time))
	}
	if said := known.during(clock, at); said != "" && row.Reason == ledger.ReasonSuspended {
		text += " " + said
	}
	if row.Manual {
		text += " The run was " + asked(row) + "."
	}
	if step := step(cronJob, row, at); step != "" {
		text += " " + step
	}
	return text
}

// behind names the run that keeps others from starting.
func behind(clock Clock, cronJob *ostinatov1.CronJob) string {
	run := Blocker(clock, cronJob)
	if run == "" {
		return ""
	}
	return " What is active now is " + run + "."
}

// started says when the run began and how it ended.
func started(clock Clock, cronJob *ostinatov1.CronJob, row ostinatov1.RecentRun, yes string) string {
	text := yes + ": Job " + row.JobName
	if began := timeOf(row.StartTime); !began.IsZero() {
		text += fmt.Sprintf(" was created at %s", clock.Time(began))
		if late := began.Sub(row.ScheduledTime.Time); late >= time.Second {
			text += fmt.Sprintf(", %s after its time", Span(late))
		}
	} else {
		text += " was created"
	}
	switch ledger.Result(row.Result) {
	case ledger.Complete:
		text += fmt.Sprintf(", and completed after %s", took(clock, row))
	case ledger.Failed:
		text += fmt.Sprintf(", and failed after %s", took(clock, row))
		if row.ResultReason != "" {
			text += " (" + strings.TrimSpace(row.ResultReason+" "+row.Stopped) + ")"
		}
		if row.FailedAttempts > 0 {
			text += fmt.Sprintf("; %d of its Pods failed", row.FailedAttempts)
		}
	case ledger.Deleted:
		if row.ResultReason == ledger.ResultReasonReplaced {
			text += ", and was replaced by the next run"
		} else {
			text += ", and was deleted before it had ended"
		}
	default:
		text += ", and " + stateOf(clock, cronJob, row.JobName)
	}
	return strings.TrimSuffix(text, ".") + "."
}

// reasons say in words why a time waited, was late, or was skipped.
var reasons = map[string]string{
	ledger.ReasonJobAlreadyActive:         "other runs were active, and concurrencyPolicy let no more run beside them",
	ledger.ReasonSuspended:                "the CronJob was suspended",
	ledger.ReasonStartingDeadlineExceeded: "startingDeadlineSeconds had passed before it could start",
	ledger.ReasonOutage:                   "a worker, Temporal or the API server was away at that time, or the workflow was paused",
	ledger.ReasonFoundLater:               "its Job was found later, and what held it up is not known",
	ledger.ReasonFailedCreate:             "the API server refused the Job at first",
	ledger.ReasonScheduleChanged:          "the schedule was edited before the run could start",
	ledger.ReasonTooManyTriggers:          "more triggers were waiting than are kept",
	ledger.ReasonInvalidSignal:            "the request for it was invalid",
	ledger.ReasonCancelled:                "the backfill was cancelled",
	ledger.ReasonQueueFull:                "more runs waited than queueLimit allows, and the oldest is given up",
	ledger.ReasonNotCaughtUp:              "it passed while nothing could start, and catchUp or catchUpWindowSeconds excludes it",
	ledger.ReasonCatchUpLimit:             "it passed while nothing could start, and catchUpLimit allows later ones only",
	ledger.ReasonPolicyChanged:            "the CronJob was edited, and only the latest of the runs that waited starts",
	ledger.ReasonDeleting:                 "the CronJob was being deleted",
	ledger.Forbidden:                      "the API server forbade it: a quota, an admission policy or a missing right",
	ledger.Invalid:                        "the API server found the Job invalid",
	ledger.NamespaceTerminating:           "the namespace was being deleted",
	ledger.ForeignObject:                  "an object of another owner has the Job's name",
	ledger.NotPrescribed:                  "the CronJob, as it was by then, did not ask for the run",
	ledger.SignalRefused:                  "the CronJob or the worker does not accept such requests through Temporal",
	ledger.TooLate:                        "it was too late when the start was attempted",
	ledger.ServerError:                    "the API server's answers left open whether it had made the Job, and there is none",
	ledger.RefusedOtherwise:               "the API server refused it",
}

// because is the reason of a row in words, with its message.
func because(row ostinatov1.RecentRun) string {
	words, late := cmp.Or(reasons[row.Reason], row.Reason), ledger.Outcome(row.Outcome) == ledger.StartedLate
	text := "."
	switch {
	case late && words == "":
		text = ""
	case late:
		text = " It was late, since " + words + "."
	case words != "":
		text = ", since " + words + "."
	}
	if row.Message != "" {
		text += " " + strings.TrimSuffix(row.Message, ".") + "."
	}
	return text
}

// step is what to do next; empty where nothing is.
func step(cronJob *ostinatov1.CronJob, row ostinatov1.RecentRun, at time.Time) string {
	switch result := ledger.Outcome(row.Outcome); {
	case result.HasJob() && ledger.Result(row.Result) == ledger.Failed:
		return fmt.Sprintf("Its last words: ostinato logs %s --run %s", cronJob.Name, row.JobName)
	case result.HasJob(), result == ledger.Queued:
		return ""
	case row.Reason == ledger.Forbidden, row.Reason == ledger.Invalid, row.Reason == ledger.RefusedOtherwise:
		return "Correct what the message says; the next run is tried anew."
	case row.Manual, row.Reason == ledger.ReasonDeleting, row.Reason == ledger.NamespaceTerminating:
		return ""
	}
	if run, ok := blocker(cronJob); ok {
		return run.freed(cronJob)
	}
	return fmt.Sprintf("To run it after all: ostinato backfill %s %s", cronJob.Name, at.UTC().Format(time.RFC3339))
}
