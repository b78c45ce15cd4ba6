package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status returns the status that the State amounts to, creates included. Conditions are Ostinato's only. Ready is nil
// while Pods are active: PodWatch alone writes status.ready then, since it hears of every change.
func (p *pass) status() *batchv1.JobStatus {
	status := &batchv1.JobStatus{
		Conditions:     slices.Clone(p.state.Conditions),
		StartTime:      timeOrNil(p.state.StartTime),
		CompletionTime: timeOrNil(p.state.CompletionTime),
		Active:         p.active(),
		Terminating:    ptr.To(p.terminating()),
		Succeeded:      p.state.reportedSuccesses(p.spec),
		Failed:         p.state.Failed,

		CompletedIndexes: p.state.Completed.String(),
		// History is the log that upstream keeps in the lists; non-nil as upstream leaves it (parity 2.11).
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
	}
	if p.spec.perIndex() {
		status.FailedIndexes = ptr.To(p.state.FailedIndexes.String())
	}
	if status.Active == 0 {
		status.Ready = new(int32)
	}
	return status
}

// reportedSuccesses is status.succeeded. The API server lets it fall only while completions equals parallelism. So it
// stays where these differ again before the indexes of a Job that was scaled down were taken out of it (parity 2.17).
func (s State) reportedSuccesses(spec Spec) int32 {
	elastic := spec.indexed() && spec.Completions != nil && *spec.Completions == spec.Parallelism
	if s.Written == nil || elastic {
		return s.Succeeded
	}
	return max(s.Succeeded, s.Written.Succeeded)
}

// writeStatus asks for a changed status to be written. While a refusal delays it, all that follows from it waits too.
func (p *pass) writeStatus() {
	if p.waits(p.state.StatusRetry.Until, WakeStatusRetry) {
		p.state = p.state.withStatusOf(p.before)
		p.plan.Releases, p.plan.Events, p.plan.Handled = nil, nil, nil
		return
	}
	// What is said with a status goes first: it is left unsaid with one that is there already.
	restates := p.state.Unanswered && len(p.plan.Events) == 0 && len(p.plan.Handled) == 0
	status := p.status()
	if !restates && equalStatus(status, p.state.Written) &&
		p.state.Completed.Equal(p.state.WrittenCompleted) && p.state.FailedIndexes.Equal(p.state.WrittenFailed) {
		for i := range p.state.Pods {
			p.state.Pods[i].Stated = p.state.Pods[i].Fate != Undecided
		}
		return
	}
	p.state.Unanswered = false
	p.plan.Status, p.plan.Counted = status, p.counted()
	p.state.Written = withoutIndexes(*status)
	p.state.WrittenCompleted, p.state.WrittenFailed = p.state.Completed, p.state.FailedIndexes
}

// withoutIndexes leaves out the strings of indexes, which can be long.
func withoutIndexes(status batchv1.JobStatus) *batchv1.JobStatus {
	status.CompletedIndexes, status.FailedIndexes = "", nil
	return &status
}

// Status returns the status that the API server last accepted; the zero status before the first.
func (s State) Status() batchv1.JobStatus {
	status := ptr.Deref(s.Written, batchv1.JobStatus{})
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

// setCondition sets a condition, keeping its place in the list; it reports whether that changed anything.
func (p *pass) setCondition(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) bool {
	old := conditionOf(p.state.Conditions, kind)
	if old != nil && old.Status == status {
		return false
	}
	condition := batchv1.JobCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastProbeTime:      metav1.NewTime(p.second),
		LastTransitionTime: metav1.NewTime(p.second),
	}
	if old != nil {
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
