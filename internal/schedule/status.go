package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
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

// StatusNotBefore returns the status with the lastScheduleTime that was written before, if that is later: runs of times that
// have had theirs would start again. It leaves its argument.
func StatusNotBefore(status, written ostinatov1.CronJobStatus) ostinatov1.CronJobStatus {
	if written.LastScheduleTime != nil && (status.LastScheduleTime == nil || status.LastScheduleTime.Before(written.LastScheduleTime)) {
		status.LastScheduleTime = written.LastScheduleTime.DeepCopy()
	}
	return status
}

// StatusAhead says that a time of a status has not come, so that times before it would have no run; empty if all have come, or
// were written before.
func StatusAhead(status, written ostinatov1.CronJobStatus, now time.Time) string {
	latest := accountedFor(status)
	if !latest.After(times.Later(now.Add(clockSkew), accountedFor(written))) {
		return ""
	}
	return fmt.Sprintf("status: %s, to which all runs are accounted for, has not come by the clock of this worker, %s", times.Format(latest), times.Format(now))
}

// accountedFor returns the time up to which a status says that no run is to start.
func accountedFor(status ostinatov1.CronJobStatus) time.Time {
	return times.Later(ledger.Time(status.LastScheduleTime), ledger.Time(status.AccountedUntil))
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
		NextScheduleTime:    ledger.Timestamp(state.NextTime(spec)),
		RecentRuns:          ledger.RecentRuns(rows),
		LastFailureTime:     ledger.Timestamp(state.LastFailure),
		ConsecutiveFailures: state.ConsecutiveFailures,

		MedianDurationSeconds: medianSeconds(rows),
	}
	if len(rows) > 0 {
		status.LastOutcome = string(rows[len(rows)-1].Outcome)
	}
	status.Queued = int32(min(state.backlog(), math.MaxInt32))
	for _, run := range state.Active[max(len(state.Active)-MaxStatusActive, 0):] {
		status.Active = append(status.Active, reference(run, state.Namespace))
	}
	for _, condition := range state.Conditions {
		condition.Message = clip.Message(condition.Message)
		status.Conditions = append(status.Conditions, condition)
	}
	return status
}

// chooseStatus plans the status to apply: what the state says, without the runs that are to be replaced.
func (p *pass) chooseStatus() {
	start, rest := p.plan.Start, begin(p.state, p.spec, p.now)
	for _, wanted := range p.plan.Deletes {
		if wanted.Replaced {
			rest.replace(wanted)
		}
	}
	switch {
	case start == nil:
	case !start.Manual:
		rest.takeOut(start.Scheduled)
	case !rest.settleBackfilled(start.Backfill, start.Scheduled):
		rest.dropTrigger(start.Sequence)
	}
	status := StatusOf(rest.state, p.spec)
	if p.pausing() && p.state.Reported != nil && p.state.Reported.ConsecutiveFailures != status.ConsecutiveFailures {
		// The API server is asked to suspend on the strength of what the status says.
		p.state.Reported = nil
	}
	switch reported := p.state.Reported; {
	case p.plan.Find, start != nil && p.follows():
	case start == nil && (p.now.Before(p.state.StatusRetry.Until) || reported != nil && equalStatus(status, *reported)):
	default:
		p.plan.Status = &status
	}
}

// follows reports whether the status is written once the run's workflow has begun, to start that sooner. It comes with
// the start if status.active bounds concurrency, for manual runs, and after an edit.
func (p *pass) follows() bool {
	return !p.plan.Start.Manual && p.spec.Capacity() == 0 && p.state.Reported != nil && p.state.Reported.ObservedGeneration == p.spec.Generation
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
	minutes, err := strconv.ParseInt(suffix, 10, 64)
	if !ok || err != nil || minutes <= 0 || minutes > maxMinutes {
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
	NextPattern = "^(" + strings.Join(append([]string{
		unknown, ledger.ReasonDeleting, conditionReasonSuspended, conditionReasonPaused, conditionReasonInvalidTemplate,
	}, unusableReasons...), "|") + "|[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z)$"
)

var lastResultPattern, nextPattern = regexp.MustCompile(LastResultPattern), regexp.MustCompile(NextPattern)

// LastEnded says how the run that ended last has ended; empty where none has.
func (s State) LastEnded() ledger.Result { return s.lastEnded(ledger.Results...).Result }

// lastEnded returns the row of the run that ended last in one of these ways.
func (s State) lastEnded(results ...ledger.Result) (last ledger.Entry) {
	for _, entry := range s.Ledger.Entries {
		if slices.Contains(results, entry.Result) && !entry.Ended.Before(last.Ended) {
			last = entry
		}
	}
	return last
}

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

// NextTime is the scheduled time of the next run; zero where there is none.
func (s State) NextTime(spec Spec) time.Time {
	if spec.Suspend || spec.Deleting || len(s.Calendar.Upcoming) == 0 {
		return time.Time{}
	}
	return s.Calendar.Upcoming[0]
}

// next says when the next run is, or in one word why there is none.
func (s State) next(spec Spec) string {
	at := s.NextTime(spec)
	switch {
	case !at.IsZero():
		return nextOf(at, s.template())
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

// nextOf is the text of the next time: the time, or why the API server would refuse its run.
func nextOf(at time.Time, template metav1.Condition) string {
	if template.Status == metav1.ConditionFalse {
		return conditionReasonInvalidTemplate
	}
	return times.Format(at)
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

// StatusClaimed returns the status for where names of users are not believed: they are claimed like others. It leaves its argument.
func StatusClaimed(status ostinatov1.CronJobStatus) ostinatov1.CronJobStatus {
	status.RecentRuns = slices.Clone(status.RecentRuns)
	for index := range status.RecentRuns {
		row := &status.RecentRuns[index]
		row.By, row.User = cmp.Or(row.User, row.By), ""
	}
	return status
}

// Bounds of a status that is written. etcd keeps every version of it for minutes.
const (
	// maxStatus bounds its JSON without active, and maxActive that of active, in bytes.
	maxStatus, maxActive = 64 << 10, 300 << 10
	// MaxStatusActive bounds active: of more runs that are active the status names the ones that started last.
	MaxStatusActive = 1000
	// MaxStatusText bounds a text in it, in bytes.
	MaxStatusText = 1024
	// MaxStatusUID bounds a UID and a resourceVersion, in bytes: those that the API server makes are no longer.
	MaxStatusUID = 36
	// MaxStatusName bounds the name of an object, MaxStatusWorkflowID the ID of a workflow, in bytes.
	MaxStatusName       = 253
	MaxStatusWorkflowID = 1000
)

// BridgeConditionTypes are those that the bridge writes to CronJobs.
var BridgeConditionTypes = []string{ostinatov1.ConditionNativeCronJobActive, ostinatov1.ConditionRunStuck, ostinatov1.ConditionWorkflowPaused}

// ValidateStatus reports whether a status, which may be forged, has the form and size of one that a plan writes for a
// CronJob of the namespace. It does not say whether the status is true.
func ValidateStatus(status ostinatov1.CronJobStatus, namespace string) error {
	if err := atMost("%d active Jobs", len(status.Active), MaxStatusActive); err != nil {
		return err
	}
	for _, run := range status.Active {
		if run.Kind != "Job" || run.Namespace != namespace || run.FieldPath != "" || run.APIVersion != "batch/v1" ||
			len(run.ResourceVersion) > MaxStatusUID || len(run.UID) > MaxStatusUID || len(apivalidation.NameIsDNSSubdomain(run.Name, false)) > 0 {
			return fmt.Errorf("status: active names %s %.70q in namespace %.70q, which is no Job of the CronJob", run.Kind, run.Name, run.Namespace)
		}
	}
	switch {
	case status.MedianDurationSeconds < 0:
		return fmt.Errorf("status: medianDurationSeconds is %d, want 0 or more", status.MedianDurationSeconds)
	case status.ActiveCount < 0:
		return fmt.Errorf("status: activeCount is %d, want 0 or more", status.ActiveCount)
	case status.LastResult != "" && !lastResultPattern.MatchString(status.LastResult):
		return fmt.Errorf("status: lastResult is %.64q, want a match of %s", status.LastResult, LastResultPattern)
	case status.Next != "" && !nextPattern.MatchString(status.Next):
		return fmt.Errorf("status: next is %.64q, want a match of %s", status.Next, NextPattern)
	}
	if err := cmp.Or(
		noneOr("lastOutcome is", status.LastOutcome, ledger.Outcomes),
		atMost("%d recent runs", len(status.RecentRuns), ledger.MaxRecentRuns),
		atMost("%d conditions", len(status.Conditions), len(ConditionTypes)),
	); err != nil {
		return err
	}
	for _, row := range status.RecentRuns {
		if err := cmp.Or(
			oneOf("a recent run has the outcome", row.Outcome, ledger.Outcomes),
			noneOr("a recent run has the result", row.Result, ledger.Results),
			noneOr("a recent run has the reason", row.Reason, ledger.Reasons),
			noneOr("a recent run was asked for through", row.Through, ledger.Throughs),
			atMost("a recent run has a text of %d bytes", max(len(row.Message), len(row.ResultReason), len(row.Stopped), len(row.By), len(row.User), len(row.Changed)), MaxStatusText),
			atMost("a recent run has a Job's name of %d bytes", len(row.JobName), MaxStatusName),
		); err != nil {
			return err
		}
	}
	for _, condition := range status.Conditions {
		if err := cmp.Or(
			oneOf("a condition of type", condition.Type, ConditionTypes),
			oneOf("the condition "+condition.Type+" has the reason", condition.Reason, ConditionReasons),
			atMost("the condition "+condition.Type+" has a message of %d bytes", len(condition.Message), MaxStatusText),
		); err != nil {
			return err
		}
	}
	if workflow := status.Workflow; workflow != nil && (len(workflow.ID) > MaxStatusWorkflowID || len(workflow.Namespace) > MaxStatusName) {
		return fmt.Errorf("status: a workflow with an ID of %d bytes in a namespace of %d, want %d and %d at most",
			len(workflow.ID), len(workflow.Namespace), MaxStatusWorkflowID, MaxStatusName)
	}
	if err := atMost("a planDigest of %d bytes", len(status.PlanDigest), MaxPlanDigest); err != nil {
		return err
	}
	if err := within("active: ", status.Active, maxActive); err != nil {
		return err
	}
	status.Active = nil
	return within("", status, maxStatus)
}

// oneOf reports whether a text is among those that are known, and noneOr whether it is empty or among them.
func oneOf[Text ~string](what, text string, known []Text) error {
	if slices.Contains(known, Text(text)) {
		return nil
	}
	return fmt.Errorf("status: %s %.64q, want one of %v", what, text, known)
}

func noneOr[Text ~string](what, text string, known []Text) error {
	if text == "" {
		return nil
	}
	return oneOf(what, text, known)
}

// atMost reports whether a count is within its bound; what is the format that names it.
func atMost(what string, count, bound int) error {
	if count <= bound {
		return nil
	}
	return fmt.Errorf("status: "+what+", want %d at most", count, bound)
}

// within reports whether the JSON of a value has this many bytes at most.
func within(what string, value any, bound int) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("status: %s%w", what, err)
	}
	return atMost(what+"%d bytes", len(data), bound)
}
