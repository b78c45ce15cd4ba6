package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (s State) condition(kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

func (p *pass) hasCondition(kind batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	condition := p.state.condition(kind)
	return condition != nil && condition.Status == status
}

// setCondition sets a condition, keeping its place in the list; it reports
// whether that changed anything.
func (p *pass) setCondition(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) bool {
	if p.hasCondition(kind, status) {
		return false
	}
	condition := batchv1.JobCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastProbeTime:      metav1.NewTime(p.second),
		LastTransitionTime: metav1.NewTime(p.second),
	}
	if old := p.state.condition(kind); old != nil {
		*old = condition
	} else {
		p.state.Conditions = append(p.state.Conditions, condition)
	}
	return true
}
