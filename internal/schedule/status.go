package schedule

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// StatusStarted returns the status with a started run in active, and unless it is manual in lastScheduleTime. It is
// idempotent and leaves its argument.
func StatusStarted(status ostinatov1.CronJobStatus, run Run, namespace string) ostinatov1.CronJobStatus {
	started := reference(run, namespace)
	if !slices.ContainsFunc(status.Active, func(active corev1.ObjectReference) bool { return active.UID == started.UID }) {
		status.Active = append(slices.Clone(status.Active), started)
		status.ActiveCount++
	}
	status.Active = status.Active[max(len(status.Active)-MaxStatusActive, 0):]
	if !run.Manual && (status.LastScheduleTime == nil || status.LastScheduleTime.Time.Before(run.Scheduled)) {
		status.LastScheduleTime = ledger.Timestamp(run.Scheduled)
	}
	return status
}

func reference(run Run, namespace string) corev1.ObjectReference {
	return corev1.ObjectReference{
		Kind: "Job", APIVersion: "batch/v1", Namespace: namespace,
		Name: run.Name, UID: types.UID(run.UID), ResourceVersion: run.ResourceVersion,
	}
}

// StatusOf renders the CronJob's status. Workflow is left to the activity.
func StatusOf(state State, spec Spec) ostinatov1.CronJobStatus {
	rows := state.Rows()
	status := ostinatov1.CronJobStatus{
		LastScheduleTime:   ledger.Timestamp(state.LastScheduled),
		LastSuccessfulTime: ledger.Timestamp(state.LastSuccessful),
		ObservedGeneration: spec.Generation,
		AccountedUntil:     ledger.Timestamp(state.accounted()),

		ActiveCount:         int32(min(len(state.Active), math.MaxInt32)),
		LastResult:          state.lastResult(),
		Next:                state.next(spec),
		NextScheduleTime:    ledger.Timestamp(state.nextTime(spec)),
		RecentRuns:          ledger.RecentRuns(rows),
		LastFailureTime:     ledger.Timestamp(state.LastFailure),
		ConsecutiveFailures: state.ConsecutiveFailures,
	}
	if len(rows) > 0 {
		status.LastOutcome = string(rows[len(rows)-1].Outcome)
	}
	if queue := state.Queue(); queue != nil {
		status.Queued = int32(min(queue.Times(), math.MaxInt32))
	}
	for _, run := range state.Active[max(len(state.Active)-MaxStatusActive, 0):] {
		status.Active = append(status.Active, reference(run, state.Namespace))
	}
	for _, condition := range state.Conditions {
		status.Conditions = append(status.Conditions, condition.render())
	}
	return status
}

// equalStatus compares what is worth a write. Rows and summary fields wait for the next one.
func equalStatus(a, b ostinatov1.CronJobStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration &&
		a.LastScheduleTime.Equal(b.LastScheduleTime) &&
		a.LastSuccessfulTime.Equal(b.LastSuccessfulTime) &&
		a.NextScheduleTime.Equal(b.NextScheduleTime) &&
		a.Queued == b.Queued &&
		slices.Equal(a.Active, b.Active) &&
		equalConditions(a.Conditions, b.Conditions)
}

// scheduledOf is the inverse of names.ScheduledJob; zero for another name.
func scheduledOf(cronJob, job string) time.Time {
	suffix, ok := strings.CutPrefix(job, cronJob+"-")
	if !ok {
		return time.Time{}
	}
	minutes, err := strconv.ParseInt(suffix, 10, 64)
	if err != nil || minutes <= 0 || minutes > maxMinutes {
		return time.Time{}
	}
	return time.Unix(minutes*60, 0).UTC()
}

// maxMinutes keeps scheduledOf within the years that JSON can carry.
const maxMinutes = 4_000_000_000

// Words of status.lastResult and status.next that are neither a result nor a time.
const (
	// unknown: no run has started; no scheduled time is known.
	unknown = "-"
	// resultRunning: the run that started last has not ended.
	resultRunning = "Running"
)

// LastResultPattern and NextPattern are what status.lastResult and status.next match.
var (
	LastResultPattern = "^(" + strings.Join([]string{
		unknown, resultRunning, string(ledger.Complete), string(ledger.Deleted), string(ledger.Failed) + "( x[1-9][0-9]{0,9})?",
	}, "|") + ")$"
	NextPattern = "^(" + strings.Join([]string{
		unknown, ledger.ReasonDeleting, conditionReasonSuspended, conditionReasonPaused,
		string(times.UnparseableSchedule), string(times.UnknownTimeZone), string(times.NeverFires),
	}, "|") + "|[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z)$"
)

var lastResultPattern, nextPattern = regexp.MustCompile(LastResultPattern), regexp.MustCompile(NextPattern)

// lastResult says how the run that started last has ended.
func (s State) lastResult() string {
	for _, entry := range slices.Backward(s.Ledger.Entries) {
		if entry.Outcome.HasJob() {
			return s.resultText(entry.Result)
		}
	}
	// Its row has fallen out.
	switch {
	case len(s.Active) > 0:
		return resultRunning
	case s.ConsecutiveFailures > 0:
		return s.resultText(ledger.Failed)
	case !s.LastSuccessful.IsZero():
		return string(ledger.Complete)
	}
	return unknown
}

func (s State) resultText(result ledger.Result) string {
	switch {
	case result == "":
		return resultRunning
	case result == ledger.Failed && s.ConsecutiveFailures > 1:
		return fmt.Sprintf("%s x%d", result, s.ConsecutiveFailures)
	}
	return string(result)
}

// nextTime is the time of the next run; zero where there is none.
func (s State) nextTime(spec Spec) time.Time {
	if spec.Suspend || spec.Deleting || len(s.Calendar.Upcoming) == 0 {
		return time.Time{}
	}
	return s.Calendar.Upcoming[0]
}

// next says when the next run is, or in one word why there is none.
func (s State) next(spec Spec) string {
	at := s.nextTime(spec)
	switch {
	case !at.IsZero():
		return times.Format(at)
	case spec.Deleting:
		return ledger.ReasonDeleting
	case s.Calendar.Problem != nil:
		return string(s.Calendar.Problem.Reason)
	case spec.Suspend && s.PausedWhy != "":
		return conditionReasonPaused
	case spec.Suspend:
		return conditionReasonSuspended
	}
	return unknown
}

// StatusRecorded returns the status with the outcome of a start in it. It is idempotent and leaves its argument.
func StatusRecorded(status ostinatov1.CronJobStatus, start Start, run Run) ostinatov1.CronJobStatus {
	entry := start.entry(start.run(run), run.Started)
	known := slices.ContainsFunc(status.RecentRuns, func(row ostinatov1.RecentRun) bool { return row.JobName == entry.Job })
	if known || start.Scheduled.IsZero() {
		return status
	}
	rows := append([]ostinatov1.RecentRun{entry.RecentRun()}, status.RecentRuns...)
	status.RecentRuns = rows[:min(len(rows), ledger.MaxRecentRuns)]
	status.LastOutcome, status.LastResult = string(entry.Outcome), resultRunning
	return status
}
