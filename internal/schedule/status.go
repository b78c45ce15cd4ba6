package schedule

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// StatusStarted returns the status with a started run in it: the run's Job
// joins active, and lastScheduleTime advances to its scheduled time unless the run
// is manual. It is pure and idempotent; the status passed in is not changed.
func StatusStarted(status ostinatov1.CronJobStatus, run Run, namespace string) ostinatov1.CronJobStatus {
	active := make([]corev1.ObjectReference, 0, len(status.Active)+1)
	known := false
	for _, reference := range status.Active {
		known = known || string(reference.UID) == run.UID
		active = append(active, reference)
	}
	if !known {
		active = append(active, reference(run, namespace))
		status.ActiveCount++
	}
	status.Active = active[max(len(active)-MaxStatusActive, 0):]
	if !run.Manual && (status.LastScheduleTime == nil || status.LastScheduleTime.Time.Before(run.Scheduled)) {
		status.LastScheduleTime = timestamp(run.Scheduled)
	}
	return status
}

func reference(run Run, namespace string) corev1.ObjectReference {
	return corev1.ObjectReference{
		Kind:            "Job",
		APIVersion:      "batch/v1",
		Namespace:       namespace,
		Name:            run.Name,
		UID:             types.UID(run.UID),
		ResourceVersion: run.ResourceVersion,
	}
}

// StatusOf renders the CronJob's status. Workflow is left to the activity.
func StatusOf(state State, spec Spec) ostinatov1.CronJobStatus {
	status := ostinatov1.CronJobStatus{
		LastScheduleTime:   timestamp(state.LastScheduled),
		LastSuccessfulTime: timestamp(state.LastSuccessful),
		ObservedGeneration: spec.Generation,
		AccountedUntil:     timestamp(state.accounted()),

		ActiveCount:         int32(min(len(state.Active), math.MaxInt32)),
		LastResult:          state.lastResult(),
		Next:                state.next(spec),
		RecentRuns:          rows(state.Rows()),
		LastFailureTime:     timestamp(state.LastFailure),
		ConsecutiveFailures: state.ConsecutiveFailures,
	}
	if ledger := state.Rows(); len(ledger) > 0 {
		status.LastOutcome = string(ledger[len(ledger)-1].Outcome)
	}
	if queue := state.Queue(); queue != nil {
		status.Queued = int32(min(queue.Times(), math.MaxInt32))
	}
	for _, run := range state.Active[max(len(state.Active)-MaxStatusActive, 0):] {
		status.Active = append(status.Active, reference(run, state.Namespace))
	}
	status.NextScheduleTime = timestamp(state.nextTime(spec))
	for _, condition := range state.Conditions {
		status.Conditions = append(status.Conditions, condition.render())
	}
	return status
}

// equalStatus compares what Ostinato decides of a status. The rows of the ledger come with
// the next write that there is for another reason, as does what sums the status up.
func equalStatus(a, b ostinatov1.CronJobStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration &&
		a.LastScheduleTime.Equal(b.LastScheduleTime) &&
		a.LastSuccessfulTime.Equal(b.LastSuccessfulTime) &&
		a.NextScheduleTime.Equal(b.NextScheduleTime) &&
		a.Queued == b.Queued &&
		slices.Equal(a.Active, b.Active) &&
		equalConditions(a.Conditions, b.Conditions)
}

// timestamp renders a time as the API does: UTC, whole seconds, nil for zero.
func timestamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
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
