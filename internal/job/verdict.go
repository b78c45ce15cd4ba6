package job

import (
	"cmp"
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

// A check returns a verdict, or nil to leave the Job to the next check.
type check func(*pass) *Verdict

// checks are the tests of parity 2.7 step 7 in upstream's order: the first that
// returns a verdict wins. A verdict that is written can't be overruled, nor one that
// Pods were deleted for.
var checks = []check{
	(*pass).successCriteriaMet,
	(*pass).failureTarget,
	(*pass).carriedOut,
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

func (p *pass) carriedOut() *Verdict {
	if p.state.Verdict == (Verdict{}) {
		return nil
	}
	return &p.state.Verdict
}

func (p *pass) successCriteriaMet() *Verdict { return p.state.written(batchv1.JobSuccessCriteriaMet) }

func (p *pass) failureTarget() *Verdict { return p.state.written(batchv1.JobFailureTarget) }

// decided returns the verdict that is recorded, whether or not the status says it; nil where
// there is none.
func (s State) decided() *Verdict {
	if verdict := cmp.Or(s.written(batchv1.JobSuccessCriteriaMet), s.written(batchv1.JobFailureTarget)); verdict != nil || s.Verdict == (Verdict{}) {
		return verdict
	}
	return &s.Verdict
}

func (s State) written(interim batchv1.JobConditionType) *Verdict {
	condition := s.condition(interim)
	if condition == nil || condition.Status != corev1.ConditionTrue {
		return nil
	}
	return &Verdict{interim, condition.Reason, condition.Message}
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

// deadline returns when activeDeadlineSeconds ends; ok is false for a Job that has
// none or is suspended.
func (p *pass) deadline() (deadline time.Time, ok bool) {
	if p.spec.ActiveDeadlineSeconds == nil || p.spec.Suspend || p.state.StartTime.IsZero() {
		return time.Time{}, false
	}
	seconds := min(*p.spec.ActiveDeadlineSeconds, int64(maxDeadline/time.Second))
	return p.state.StartTime.Add(time.Duration(seconds) * time.Second), true
}

// maxDeadline keeps activeDeadlineSeconds inside what a time.Duration can hold.
const maxDeadline = 100 * 365 * 24 * time.Hour

// conclude records the verdict and ends what still runs: every active Pod is
// deleted, keeping its finalizer until it is counted. Under a failure all Pods
// count as failed at once, but those that podFailurePolicy ignores; under a success
// the rest is not counted (parity 2.11).
func (p *pass) conclude(v Verdict) {
	p.setCondition(v.Interim, corev1.ConditionTrue, v.Reason, v.Message)
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if pod.active() && p.mayDelete(*pod) {
			p.plan.Deletes = append(p.plan.Deletes, Delete{Name: pod.Name, UID: pod.UID})
			pod.Deleting = true
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

// exemptFromStart reports whether the API server lets the Job finish without a
// startTime (parity 2.17).
func (p *pass) exemptFromStart() bool {
	return p.spec.Suspend && p.spec.Completions != nil && *p.spec.Completions == 0
}
