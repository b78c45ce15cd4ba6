package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Verdict is a decision that ends the Job: the interim condition that is written
// first, and copied into the terminal one when nothing runs any more.
type Verdict struct {
	// Interim is SuccessCriteriaMet or FailureTarget.
	Interim batchv1.JobConditionType `json:"interim"`
	Reason  string                   `json:"reason"`
	Message string                   `json:"message"`
}

func (v Verdict) failure() bool { return v.Interim == batchv1.JobFailureTarget }

// checks are the tests of parity 2.7 step 7 in upstream's order: the first that
// returns a verdict wins. A recorded verdict can't be overruled.
var checks = []func(*pass) *Verdict{
	func(p *pass) *Verdict { return p.state.decided() },
	(*pass).podFailurePolicy,
	(*pass).backoffLimitExceeded,
	(*pass).deadlineExceeded,
	(*pass).maxFailedIndexesExceeded,
	(*pass).allIndexesOver,
	(*pass).successPolicy,
}

func (p *pass) decide() *Verdict {
	for _, check := range checks {
		if verdict := check(p); verdict != nil {
			return verdict
		}
	}
	return nil
}

// decided returns the recorded verdict, in the conditions or not; nil if there is none.
func (s State) decided() *Verdict {
	if verdict := s.interim(); verdict != nil || s.Verdict == (Verdict{}) {
		return verdict
	}
	return &s.Verdict
}

// interim returns the verdict in the conditions; nil if there is none.
func (s State) interim() *Verdict {
	if condition := firstTrue(s.Conditions, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget); condition != nil {
		return &Verdict{condition.Type, condition.Reason, condition.Message}
	}
	return nil
}

// terminal returns the condition that ends the Job; nil if there is none.
func (s State) terminal() *batchv1.JobCondition {
	return firstTrue(s.Conditions, batchv1.JobComplete, batchv1.JobFailed)
}

func (p *pass) backoffLimitExceeded() *Verdict {
	if p.state.Failed <= p.spec.BackoffLimit && !p.restartLimitExceeded() {
		return nil
	}
	return &Verdict{batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded,
		"Job has reached the specified backoff limit"}
}

// restartLimitExceeded applies the back-off limit to container restarts in place:
// the sum over Pods that are pending or running, terminating ones included.
func (p *pass) restartLimitExceeded() bool {
	if p.spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, pod := range p.state.Pods {
		if !pod.Gone && !pod.Disowned && (pod.Phase == corev1.PodRunning || pod.Phase == corev1.PodPending) {
			restarts += pod.Restarts
		}
	}
	if p.spec.BackoffLimit == 0 {
		return restarts > 0
	}
	return restarts >= p.spec.BackoffLimit
}

func (p *pass) deadlineExceeded() *Verdict {
	deadline, ok := p.deadline()
	if !ok || p.now.Before(deadline) {
		return nil
	}
	return &Verdict{batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded,
		"Job was active longer than specified deadline"}
}

func (p *pass) maxFailedIndexesExceeded() *Verdict {
	if !p.perIndex() || p.spec.MaxFailedIndexes == nil || p.state.FailedIndexes.Len() <= *p.spec.MaxFailedIndexes {
		return nil
	}
	return &Verdict{batchv1.JobFailureTarget, batchv1.JobReasonMaxFailedIndexesExceeded,
		"Job has exceeded the specified maximal number of failed indexes"}
}

// allIndexesOver decides that no index is left to run and some have failed.
func (p *pass) allIndexesOver() *Verdict {
	failed := p.state.FailedIndexes.Len()
	if !p.perIndex() || failed == 0 || failed+p.state.Completed.Len() < p.completions() {
		return nil
	}
	return &Verdict{batchv1.JobFailureTarget, batchv1.JobReasonFailedIndexes, "Job has failed indexes"}
}

// deadline returns when activeDeadlineSeconds ends; ok is false for a Job that has none or is suspended.
func (p *pass) deadline() (deadline time.Time, ok bool) {
	if p.spec.ActiveDeadlineSeconds == nil || p.spec.Suspend || p.state.StartTime.IsZero() {
		return time.Time{}, false
	}
	return p.spec.deadline(p.state.StartTime), true
}

// deadline returns when activeDeadlineSeconds, which must be set, ends for a Job that started then.
func (s Spec) deadline(started time.Time) time.Time {
	return started.Add(time.Duration(min(*s.ActiveDeadlineSeconds, int64(maxDeadline/time.Second))) * time.Second)
}

// maxDeadline keeps activeDeadlineSeconds inside what a time.Duration can hold.
const maxDeadline = 100 * 365 * 24 * time.Hour

// conclude records the verdict and deletes every active Pod, which keeps its finalizer until it
// is counted. Under a failure all Pods count as failed at once, unless podFailurePolicy ignores
// them; under a success the rest is not counted (parity 2.11).
func (p *pass) conclude(v Verdict) {
	p.setCondition(v.Interim, corev1.ConditionTrue, v.Reason, v.Message)
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if pod.active() && p.mayDelete(*pod) {
			p.delete(pod, false)
		}
		if pod.Fate != Undecided {
			continue
		}
		pod.Asked = false
		switch {
		case !v.failure() || !p.countable(*pod):
			pod.Fate = PodUncounted
		case match(p.spec.PodFailurePolicy, p.state.Namespace, *pod).action == batchv1.PodFailurePolicyActionIgnore:
			p.count(pod, PodIgnored)
		default:
			p.count(pod, PodFailed)
		}
	}
	if p.state.StartTime.IsZero() && !p.exemptFromStart() {
		p.state.StartTime = p.second
	}
}

// exemptFromStart reports whether the API server lets the Job finish without a startTime (parity 2.17).
func (p *pass) exemptFromStart() bool {
	return p.spec.Suspend && p.spec.Completions != nil && *p.spec.Completions == 0
}
