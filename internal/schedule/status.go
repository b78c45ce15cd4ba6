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

// Condition is a status condition as the state carries it.
type Condition struct {
	Type               string    `json:"type"`
	Status             bool      `json:"status,omitempty"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message,omitempty"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
	Since              time.Time `json:"since"`
}

// Reasons of conditions that no Problem gives.
const (
	conditionReasonScheduleParsed = "ScheduleParsed"
	conditionReasonSuspended      = "Suspended"
	conditionReasonNotSuspended   = "NotSuspended"
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
	if !spec.Suspend && !spec.Deleting && len(state.Calendar.Upcoming) > 0 {
		status.NextScheduleTime = timestamp(state.Calendar.Upcoming[0])
	}
	for _, condition := range state.Conditions {
		status.Conditions = append(status.Conditions, condition.render())
	}
	return status
}

// equalStatus compares what Ostinato decides of a status. The rows of the ledger come with
// the next write that there is for another reason.
func equalStatus(a, b ostinatov1.CronJobStatus) bool {
	return a.ObservedGeneration == b.ObservedGeneration &&
		a.LastScheduleTime.Equal(b.LastScheduleTime) &&
		a.LastSuccessfulTime.Equal(b.LastSuccessfulTime) &&
		a.NextScheduleTime.Equal(b.NextScheduleTime) &&
		a.Queued == b.Queued &&
		slices.Equal(a.Active, b.Active) &&
		slices.EqualFunc(a.Conditions, b.Conditions, func(a, b metav1.Condition) bool {
			return conditionOf(a) == conditionOf(b)
		})
}

// setConditions brings the conditions up to date; a transition time changes only
// with the condition's status.
func (s *State) setConditions(spec Spec, now time.Time) {
	valid := Condition{Type: ostinatov1.ConditionScheduleValid, Status: true, Reason: conditionReasonScheduleParsed}
	if problem := s.Calendar.Problem; problem != nil {
		valid.Status, valid.Reason, valid.Message = false, string(problem.Reason), problem.Message
	}
	suspended := Condition{Type: ostinatov1.ConditionSuspended, Reason: conditionReasonNotSuspended}
	if spec.Suspend {
		suspended.Status, suspended.Reason = true, conditionReasonSuspended
		if s.PausedWhy != "" {
			suspended.Reason, suspended.Message = conditionReasonPaused, s.PausedWhy
		}
	}
	before := s.Conditions
	s.Conditions = make([]Condition, 0, 3)
	for _, condition := range []Condition{valid, suspended} {
		condition.ObservedGeneration = spec.Generation
		condition.Since = now.UTC().Truncate(time.Second)
		for _, old := range before {
			if old.Type == condition.Type && old.Status == condition.Status {
				condition.Since = old.Since
			}
		}
		s.Conditions = append(s.Conditions, condition)
	}
	if index := slices.IndexFunc(before, isTemplateValid); index >= 0 {
		s.Conditions = append(s.Conditions, before[index])
	}
}

func (c Condition) render() metav1.Condition {
	status := metav1.ConditionFalse
	if c.Status {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: c.Type, Status: status, Reason: c.Reason, Message: bounded(c.Message),
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(c.Since),
	}
}

func conditionOf(condition metav1.Condition) Condition {
	return Condition{
		Type: condition.Type, Status: condition.Status == metav1.ConditionTrue,
		Reason: condition.Reason, Message: condition.Message,
		ObservedGeneration: condition.ObservedGeneration, Since: condition.LastTransitionTime.UTC(),
	}
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
