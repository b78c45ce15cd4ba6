package schedule

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// Identity says which CronJob a State belongs to.
type Identity struct {
	// Namespace, Name and UID are the CronJob's; Jobs are named from the latter two.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Created is the CronJob's creationTimestamp: scheduled times count from it while there is no LastScheduled.
	Created time.Time `json:"created"`
}

// State is what a CronJob workflow remembers between wakes, and carries through continue-as-new as JSON.
type State struct {
	Identity
	// LastScheduled is status.lastScheduleTime: skips and manual runs do not advance it.
	LastScheduled time.Time `json:"lastScheduled,omitzero"`
	// LastSuccessful is the latest completionTime of a Complete run.
	LastSuccessful time.Time `json:"lastSuccessful,omitzero"`
	// Settled is the time up to which every scheduled time has its outcome.
	Settled time.Time `json:"settled,omitzero"`
	// Calendar holds the recorded scheduled times.
	Calendar Calendar `json:"calendar,omitzero"`
	// Recovered are Jobs that were found so and whose scheduled time is not settled yet.
	Recovered []RecoveredJob `json:"sighted,omitempty"`
	// Pending says why the due run has not started yet.
	Pending *Pending `json:"pending,omitempty"`
	// Suspension is the present or else the last suspension.
	Suspension Suspension `json:"suspension,omitzero"`
	// Active lists the running runs in start order.
	Active []Run `json:"active,omitempty"`
	// Finished lists the finished Jobs that still exist, for the history limits.
	Finished []Finished `json:"finished,omitempty"`
	// Prune is the back-off of history deletes that did not succeed, StatusRetry that of the status.
	Prune       Backoff `json:"prune,omitzero"`
	StatusRetry Backoff `json:"statusRetry,omitzero"`
	// Triggers lists the manual runs that were asked for and not yet decided.
	Triggers []Trigger `json:"triggers,omitempty"`
	// CountsRequests: triggers and times of backfills that wait are in the backlog that the status says. A history that an earlier
	// version has begun replays without.
	CountsRequests bool `json:"countsRequests,omitempty"`
	// TriggerSequence is the number of the last trigger or backfill.
	TriggerSequence int64 `json:"triggerSequence,omitempty"`
	// Backfills lists the backfills that have times left to start, in the order in which they are served.
	Backfills []Backfill `json:"backfills,omitempty"`
	ledger.Ledger
	// LastFailure is when a run last ended as Failed, ConsecutiveFailures how many did since one was Complete.
	LastFailure         time.Time `json:"lastFailure,omitzero"`
	ConsecutiveFailures int32     `json:"consecutiveFailures,omitempty"`
	// Forgiven is how many of them do not count for pauseAfterFailures any more.
	Forgiven int32 `json:"forgiven,omitempty"`
	// PausedWhy says which failures have suspended the CronJob; empty where others did.
	PausedWhy string `json:"pausedWhy,omitempty"`
	// Conditions are the status conditions last rendered.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Judging is the back-off after the API server could not be asked about the template.
	Judging Backoff `json:"judging,omitzero"`
	// Reported is the status last applied to the object; nil before the first.
	Reported *ostinatov1.CronJobStatus `json:"reported,omitempty"`
	// Basis is which status that is on the object.
	Basis Basis `json:"basis,omitzero"`
	// Unsure is until when a create that a state before this one has sent may be carried out; zero if there was none.
	Unsure time.Time `json:"unsure,omitzero"`
	// Overtaken are the last times at which the object had the status of a later state, three at most. Leapt says that a
	// revision was taken over that no state has counted up to.
	Overtaken []time.Time `json:"overtaken,omitempty"`
	Leapt     bool        `json:"leapt,omitempty"`
	// Outbox holds Events that are still to be emitted.
	Outbox []event.Event `json:"outbox,omitempty"`
}

// Calendar is what is left of the last Evaluation: a worker with other time zone data replays the same.
type Calendar struct {
	Evaluation
	// Made is set once there was an Evaluation.
	Made bool `json:"made,omitempty"`
	// Announced is the last time of Due and Waiting that was found to wait.
	Announced time.Time `json:"announced,omitzero"`
	// Former are earlier schedules by which times may have come that have no outcome, oldest first.
	Former []FormerSchedule `json:"former,omitempty"`
}

// madeFor reports whether the calendar was computed from the spec's schedule.
func (c Calendar) madeFor(spec Spec) bool { return c.Made && spec.runsAt(c.Schedule, c.TimeZone) }

// rechecks reports whether the next time is still to be computed again, or the Problem judged.
func (c Calendar) rechecks() bool {
	return (len(c.Upcoming) > 0 || c.Problem != nil) && !c.Recheck.IsZero()
}

// Pending says why a due run has not started yet.
type Pending struct {
	Scheduled time.Time `json:"scheduled"`
	Delay
}

// Delay says what has kept a run from starting.
type Delay struct {
	// Blocked is set once it has waited for active runs.
	Blocked bool `json:"blocked,omitempty"`
	// Reason and Message are the API server's last answer to its create, empty while there was no refusal; Retry says when
	// to try again.
	Reason  string  `json:"reason,omitempty"`
	Message string  `json:"message,omitempty"`
	Retry   Backoff `json:"retry,omitzero"`
	// Unclear is until when a Job may appear that the API server was asked for without a clear answer; zero if there is none.
	// Over says that the run is not to start any more, and is missed if it has no Job, for the reason OverWhy.
	Unclear time.Time `json:"unclear,omitzero"`
	Over    bool      `json:"over,omitempty"`
	OverWhy string    `json:"overWhy,omitempty"`
}

// why returns the delay as a reason of the ledger, with its message; both are empty if nothing has kept the run.
func (d Delay) why() (reason, message string) {
	switch {
	case d.Reason != "":
		return ledger.ReasonFailedCreate, d.Reason + ": " + d.Message
	case d.Blocked:
		return ledger.ReasonJobAlreadyActive, ""
	}
	return "", ""
}

// delay returns what has kept the run of a scheduled time from starting.
func (s State) delay(scheduled time.Time) Delay {
	if s.Pending == nil || !s.Pending.Scheduled.Equal(scheduled) {
		return Delay{}
	}
	return s.Pending.Delay
}

// Suspension is a stretch of time during which nothing starts.
type Suspension struct {
	From time.Time `json:"from,omitzero"`
	// To is zero while the suspension lasts.
	To time.Time `json:"to,omitzero"`
	// Suspender is who has begun it by signal; empty where that is not known.
	Suspender Suspender `json:"suspender,omitzero"`
	// Before is the suspension before it, if times of that one may have no outcome yet.
	Before Stretch `json:"before,omitzero"`
}

// Stretch is the time from From until before To; a zero one holds no time.
type Stretch struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

func (s Stretch) covers(at time.Time) bool { return !at.Before(s.From) && at.Before(s.To) }

// lasts reports whether it has begun and not ended.
func (s Suspension) lasts() bool { return !s.From.IsZero() && s.To.IsZero() }

// covers reports whether a scheduled time fell into the suspension.
func (s Suspension) covers(scheduled time.Time) bool {
	covers := !s.From.IsZero() && !scheduled.Before(s.From) && (s.To.IsZero() || scheduled.Before(s.To))
	return covers || s.Before.covers(scheduled)
}

// suspendedAgain returns the suspension that begins at a time.
func (s State) suspendedAgain(from time.Time) Suspension {
	again, before := Suspension{From: from}, s.Suspension
	if before.To.After(s.Settled) {
		again.Before = Stretch{From: before.From, To: before.To}
	}
	return again
}

// Finished is a run that has ended.
type Finished struct {
	Run Run `json:"run"`
	// Condition is the Job's, Complete or Failed, or else JobDeleted.
	Condition batchv1.JobConditionType `json:"outcome"`
	// StartTime and CompletionTime are the Job's status fields; zero if unset.
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`
	// EndTime, Reason (of the condition), Stopped and FailedPods (status.failed) go to the ledger.
	EndTime time.Time `json:"endTime,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	// Stopped says who has stopped the run, and why, as its Job has it.
	Stopped    string `json:"stopped,omitempty"`
	FailedPods int32  `json:"failedPods,omitempty"`
}

// JobDeleted is the Condition of a Finished whose Job is gone.
const JobDeleted batchv1.JobConditionType = "Deleted"

// Gone reports whether there is no Job that has finished.
func (f Finished) Gone() bool {
	return f.Condition != batchv1.JobComplete && f.Condition != batchv1.JobFailed
}

// Backoff is a retry that doubles its delay.
type Backoff struct {
	Attempts int       `json:"attempts,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// Next returns the back-off after one more failure: 10 s, doubling to 5 min.
func (b Backoff) Next(now time.Time) Backoff {
	return Backoff{Attempts: b.Attempts + 1, Until: now.Add(min(10*time.Second<<min(b.Attempts, 5), 5*time.Minute))}
}

// NewState returns the state of a CronJob whose workflow starts anew, from its status and the Jobs that have finished; it
// leaves out those that are gone. former is the ledger of a state that the status has overtaken, else empty. A run that the status does not know was started by a workflow that could not write it.
func NewState(identity Identity, status ostinatov1.CronJobStatus, former ledger.Ledger, ended []Finished) State {
	identity.Created = identity.Created.UTC()
	state := State{
		Identity:            identity,
		LastScheduled:       ledger.Time(status.LastScheduleTime),
		LastSuccessful:      ledger.Time(status.LastSuccessfulTime),
		Settled:             ledger.Time(status.AccountedUntil),
		Basis:               Basis{Revision: max(status.Revision, 0)},
		Ledger:              former.Restored(status),
		LastFailure:         ledger.Time(status.LastFailureTime),
		ConsecutiveFailures: max(status.ConsecutiveFailures, 0),
		Forgiven:            max(status.ConsecutiveFailures, 0),
	}
	for _, condition := range status.Conditions {
		state.Conditions = append(state.Conditions, condition)
		if condition.Type == ostinatov1.ConditionSuspended && condition.Reason == conditionReasonPaused {
			state.PausedWhy = pausedWhy(condition.Message)
		}
	}
	for _, reference := range status.Active {
		scheduled := scheduledOf(identity.Name, reference.Name)
		state.Active = append(state.Active, Run{
			Name: reference.Name, UID: string(reference.UID), ResourceVersion: reference.ResourceVersion,
			Scheduled: scheduled, Manual: scheduled.IsZero(),
		})
	}
	// A run that finished while no workflow ran is in both lists: its end is still to be announced.
	known, p := times.Later(state.Settled, state.LastScheduled), &pass{state: state}
	for _, entry := range ended {
		switch run := entry.Run; {
		case entry.Gone():
		case !run.Manual && run.Scheduled.After(known) && p.state.activeIndex(run) < 0:
			p.state = RecoverJobs(p.state, []RecoveredJob{{Run: run, Finished: &entry}})
		default:
			p.finish(entry, true)
		}
	}
	return p.state
}

// clone returns a copy that shares no slice or pointer that is written to; a Ledger is not.
func (s State) clone() State {
	s.Calendar.Missed = slices.Clone(s.Calendar.Missed)
	s.Calendar.Former = slices.Clone(s.Calendar.Former)
	s.Recovered = slices.Clone(s.Recovered)
	if s.Pending != nil {
		pending := *s.Pending
		s.Pending = &pending
	}
	s.Active = slices.Clone(s.Active)
	s.Finished = slices.Clone(s.Finished)
	s.Triggers = slices.Clone(s.Triggers)
	s.Backfills = slices.Clone(s.Backfills)
	s.Outbox = slices.Clone(s.Outbox)
	return s
}

// firstOf returns the first of a list that satisfies a condition; nil if none does.
func firstOf[T any](list []T, condition func(T) bool) *T {
	if index := slices.IndexFunc(list, condition); index >= 0 {
		return &list[index]
	}
	return nil
}

// activeIndex finds a run among the active ones, by UID where both have one.
func (s State) activeIndex(run Run) int {
	return slices.IndexFunc(s.Active, func(other Run) bool { return sameRun(run, other) })
}

func sameRun(a, b Run) bool {
	if a.UID != "" && b.UID != "" {
		return a.UID == b.UID
	}
	return a.Name == b.Name
}

const (
	// maxText bounds schedules, time zones, names and notes, in bytes.
	maxText = 128 << 10
	// maxRuns bounds the lists of runs of a State.
	maxRuns = 15_000
	// maxCarried bounds those that are carried over: all are one value of 4 MiB at most (package packed).
	maxCarried = 3_500
)

// Bounded returns the state with its lists cut to what can be carried over.
func (s State) Bounded() State {
	if len(s.Active) > maxCarried {
		// The status, which names them too, is rewritten.
		s.Reported = nil
	}
	s.Active = newest(s.Active)
	s.Finished = newest(s.Finished)
	s.Recovered = newest(s.Recovered)
	s.Outbox = newest(s.Outbox)
	return s
}

func newest[T any](list []T) []T { return list[max(len(list)-maxCarried, 0):] }

// Validate reports whether the State can be one that was carried over.
func (s State) Validate() error {
	for _, field := range []struct {
		name         string
		count, bound int
	}{
		{"active", len(s.Active), maxRuns},
		{"finished", len(s.Finished), maxRuns},
		{"ledger", len(s.Ledger.Entries), maxRuns},
		{"imported", len(s.Ledger.Imported), maxRuns},
		{"sighted", len(s.Recovered), maxRuns},
		{"missed", len(s.Calendar.Missed), maxRuns},
		{"outbox", len(s.Outbox), maxRuns},
		{"conditions", len(s.Conditions), maxRuns},
		{"upcoming", len(s.Calendar.Upcoming), maxRuns},
		{"triggers", len(s.Triggers), MaxTriggers},
		{"backfills", len(s.Backfills), maxBackfills},
		{"former schedules", len(s.Calendar.Former), maxFormer},
		{"suspensions", len(s.Suspensions), ledger.MaxSuspensions},
		{"waiting", len(s.Calendar.Waiting), maxInState},
	} {
		if field.count > field.bound {
			return fmt.Errorf("%s: %d, want %d at most", field.name, field.count, field.bound)
		}
	}
	for _, backfill := range s.Backfills {
		if err := backfill.validate(); err != nil {
			return err
		}
	}
	if len(s.Overtaken) > contestedBy {
		return fmt.Errorf("overtaken: %d times, want %d at most", len(s.Overtaken), contestedBy)
	}
	if err := s.Basis.Validate(); err != nil {
		return err
	}
	if s.Prune.Attempts < 0 || s.StatusRetry.Attempts < 0 || s.Judging.Attempts < 0 || s.Pending != nil && s.Pending.Retry.Attempts < 0 {
		return fmt.Errorf("a back-off has a negative number of attempts")
	}
	for _, trigger := range s.Triggers {
		if trigger.Retry.Attempts < 0 {
			return fmt.Errorf("a trigger has a negative number of attempts")
		}
		if mistake := OverlapMistake(trigger.Overlap); mistake != "" {
			return fmt.Errorf("a trigger's %s", mistake)
		}
	}
	return nil
}
