package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status returns the status that the State amounts to, with creates in flight
// counted as active. Conditions are Ostinato's only. Ready is nil while Pods are
// active: PodWatch alone writes status.ready then, since it hears of every change.
func (s State) status(spec Spec, creating int32) *batchv1.JobStatus {
	var failedIndexes *string
	if spec.indexed() && spec.BackoffLimitPerIndex != nil {
		failedIndexes = ptr.To(s.FailedIndexes.String())
	}
	active := s.tally(Pod.active) + creating
	var ready *int32
	if active == 0 {
		ready = new(int32)
	}
	return &batchv1.JobStatus{
		Conditions:     slices.Clone(s.Conditions),
		StartTime:      timeOrNil(s.StartTime),
		CompletionTime: timeOrNil(s.CompletionTime),
		Active:         active,
		Ready:          ready,
		Terminating:    ptr.To(s.tally(Pod.terminating)),
		Succeeded:      s.reportedSuccesses(spec),
		Failed:         s.Failed,

		CompletedIndexes: s.Completed.String(),
		FailedIndexes:    failedIndexes,
		// History is the log that upstream keeps in the lists; non-nil as upstream leaves it (parity 2.11).
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
	}
}

// reportedSuccesses is status.succeeded. The API server lets it fall only while
// completions equals parallelism, so where these differ again before the indexes of
// a Job that was scaled down were taken out of it, it stays as it is (parity 2.17).
func (s State) reportedSuccesses(spec Spec) int32 {
	elastic := spec.indexed() && spec.Completions != nil && *spec.Completions == spec.Parallelism
	if s.Written == nil || elastic {
		return s.Succeeded
	}
	return max(s.Succeeded, s.Written.Succeeded)
}

// writeStatus asks for the status to be written when it changed. While a refusal
// delays it, everything that follows from a written status waits too.
func (p *pass) writeStatus() {
	if p.now.Before(p.state.StatusRetry.Until) {
		p.wake(p.state.StatusRetry.Until, WakeStatusRetry)
		p.state = p.state.withStatusOf(p.before)
		p.plan.Releases, p.plan.Events, p.plan.Handled = nil, nil, nil
		return
	}
	status := p.state.status(p.spec, int32(len(p.plan.Creates)))
	if !p.restates() && equalStatus(status, p.state.Written) && p.state.Completed.Equal(p.state.WrittenCompleted) && p.state.FailedIndexes.Equal(p.state.WrittenFailed) {
		return
	}
	counted := p.state.counted()
	p.state.Unanswered = false
	p.plan.Status, p.plan.Counted = status, counted[:min(len(counted), MaxCounted)]
	p.state.Written = withoutIndexes(*status)
	p.state.WrittenCompleted, p.state.WrittenFailed = p.state.Completed, p.state.FailedIndexes
}

// restates reports whether a status is to be written even if it is the one that is known. What
// is said with a status goes first: it is left unsaid with one that is there already.
func (p *pass) restates() bool {
	return p.state.Unanswered && len(p.plan.Events) == 0 && len(p.plan.Handled) == 0
}

// withoutIndexes leaves out the strings of indexes, which can be long.
func withoutIndexes(status batchv1.JobStatus) *batchv1.JobStatus {
	status.CompletedIndexes, status.FailedIndexes = "", nil
	return &status
}

// Status returns the status that the API server last accepted; the zero status before the first.
func (s State) Status() batchv1.JobStatus {
	if s.Written == nil {
		return batchv1.JobStatus{}
	}
	status := *s.Written
	status.CompletedIndexes = s.WrittenCompleted.String()
	if !s.WrittenFailed.IsZero() {
		status.FailedIndexes = ptr.To(s.WrittenFailed.String())
	}
	return status
}

// withStatusOf takes back all that is true only once a status is written.
func (s State) withStatusOf(before State) State {
	s.Conditions = slices.Clone(before.Conditions)
	s.StartTime = before.StartTime
	s.CompletionTime = before.CompletionTime
	s.Written, s.WrittenCompleted, s.WrittenFailed = before.Written, before.WrittenCompleted, before.WrittenFailed
	s.Announced, s.Unanswered = before.Announced, before.Unanswered
	return s
}

// equalStatus compares what the planner decides.
func equalStatus(a, b *batchv1.JobStatus) bool {
	return b != nil &&
		a.Active == b.Active && a.Succeeded == b.Succeeded && a.Failed == b.Failed &&
		b.Terminating != nil && *a.Terminating == *b.Terminating &&
		a.StartTime.Equal(b.StartTime) && a.CompletionTime.Equal(b.CompletionTime) &&
		slices.EqualFunc(a.Conditions, b.Conditions, equalCondition)
}

func equalCondition(a, b batchv1.JobCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// firstTrue returns the condition of the first of these types that is True.
func firstTrue(conditions []batchv1.JobCondition, kinds ...batchv1.JobConditionType) *batchv1.JobCondition {
	for _, kind := range kinds {
		for i := range conditions {
			if conditions[i].Type == kind && conditions[i].Status == corev1.ConditionTrue {
				return &conditions[i]
			}
		}
	}
	return nil
}

func conditionOf(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

func (p *pass) hasCondition(kind batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	condition := conditionOf(p.state.Conditions, kind)
	return condition != nil && condition.Status == status
}

// setCondition sets a condition, keeping its place in the list; it reports whether that changed anything.
func (p *pass) setCondition(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) bool {
	if p.hasCondition(kind, status) {
		return false
	}
	condition := batchv1.JobCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastProbeTime:      metav1.NewTime(p.second),
		LastTransitionTime: metav1.NewTime(p.second),
	}
	if old := conditionOf(p.state.Conditions, kind); old != nil {
		*old = condition
	} else {
		p.state.Conditions = append(p.state.Conditions, condition)
	}
	return true
}

func timeOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}
