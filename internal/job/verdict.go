package job

import (
	"cmp"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/event"
)

// Verdict is a decision that ends the Job: an interim condition, which becomes the terminal one when nothing runs.
type Verdict struct {
	// Interim is SuccessCriteriaMet or FailureTarget.
	Interim batchv1.JobConditionType `json:"interim"`
	Reason  string                   `json:"reason"`
	Message string                   `json:"message"`
}

// Condition returns the verdict as a condition of the Job's status; an error if it is none that a plan decides.
func (v Verdict) Condition(now time.Time) (batchv1.JobCondition, error) {
	at := metav1.NewTime(now.Truncate(time.Second).UTC())
	condition := batchv1.JobCondition{
		Type: v.Interim, Status: corev1.ConditionTrue, Reason: v.Reason, Message: v.Message, LastProbeTime: at, LastTransitionTime: at,
	}
	if v.Interim != batchv1.JobFailureTarget && v.Interim != batchv1.JobSuccessCriteriaMet {
		return condition, fmt.Errorf("verdict %.64q, want %s or %s", string(v.Interim), batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet)
	}
	return condition, validateConditions([]batchv1.JobCondition{condition})
}

func (v Verdict) failure() bool { return v.Interim == batchv1.JobFailureTarget }

// limits are those by which a Job fails (parity 2.7 step 7), in upstream's order.
var limits = []struct {
	reason, message string
	exceeded        func(*pass) bool
}{
	{batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit", (*pass).backoffLimitExceeded},
	{batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline", (*pass).deadlineExceeded},
	{batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes", (*pass).tooManyFailed},
	{batchv1.JobReasonFailedIndexes, "Job has failed indexes", (*pass).allIndexesOver},
	// Ostinato's own, after those by which the Job has failed by itself. Its message is the annotation's.
	{event.Stopped, "", (*pass).stopped},
}

// decide returns the verdict on the Job; nil for none yet. A recorded verdict can't be overruled.
func (p *pass) decide() *Verdict {
	if verdict := p.state.decided(); verdict != nil {
		return verdict
	}
	if p.failJob != "" {
		return &Verdict{batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy, p.failJob}
	}
	for _, limit := range limits {
		if limit.exceeded(p) {
			return &Verdict{batchv1.JobFailureTarget, limit.reason, cmp.Or(limit.message, p.spec.stopMessage())}
		}
	}
	return p.successPolicy()
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

// backoffLimitExceeded applies spec.backoffLimit to the Pods that failed, and to container restarts
// in place: the sum over Pods that are pending or running, terminating ones included.
func (p *pass) backoffLimitExceeded() bool {
	failed := p.state.Failed > p.spec.BackoffLimit
	if failed || p.spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return failed
	}
	restarts := int32(0)
	for _, pod := range p.state.Pods {
		if !pod.Gone && !pod.Disowned && (pod.Phase == corev1.PodRunning || pod.Phase == corev1.PodPending) {
			restarts += pod.Restarts
		}
	}
	return restarts > 0 && restarts >= p.spec.BackoffLimit
}

func (p *pass) deadlineExceeded() bool {
	deadline, ok := p.spec.deadline(p.state.StartTime)
	return ok && !p.now.Before(deadline)
}

func (p *pass) tooManyFailed() bool {
	return p.spec.perIndex() && p.spec.MaxFailedIndexes != nil && p.state.FailedIndexes.Len() > *p.spec.MaxFailedIndexes
}

// allIndexesOver reports whether no index is left to run and some have failed.
func (p *pass) allIndexesOver() bool {
	failed := p.state.FailedIndexes.Len()
	return p.spec.perIndex() && failed > 0 && failed+p.state.Completed.Len() >= p.completions()
}

// deadline returns when activeDeadlineSeconds ends for a Job that started then; ok is false for none or while suspended.
func (s Spec) deadline(started time.Time) (deadline time.Time, ok bool) {
	if s.ActiveDeadlineSeconds == nil || s.Suspend || started.IsZero() {
		return time.Time{}, false
	}
	return started.Add(time.Duration(min(*s.ActiveDeadlineSeconds, int64(maxDeadline/time.Second))) * time.Second), true
}

// maxDeadline keeps activeDeadlineSeconds inside what a time.Duration can hold.
const maxDeadline = 100 * 365 * 24 * time.Hour

// conclude records the verdict and deletes every active Pod, which keeps its finalizer until it is counted. Under a
// failure all Pods count as failed at once, unless podFailurePolicy ignores them; under a success none does (parity 2.11).
func (p *pass) conclude(v Verdict) {
	p.setCondition(v.Interim, corev1.ConditionTrue, v.Reason, v.Message)
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		left := p.capped && pod.finished(p.spec.PodReplacementPolicy) != Undecided
		if pod.active() && p.mayDelete(*pod) {
			p.delete(pod, false)
		}
		if pod.Fate != Undecided {
			continue
		}
		pod.Asked = false
		switch {
		case left: // The next plan counts it.
		case !v.failure() || !p.countable(*pod):
			pod.Fate = PodUncounted
		case p.full():
		case match(p.spec.PodFailurePolicy, p.state.Namespace, *pod).action == batchv1.PodFailurePolicyActionIgnore:
			p.count(pod, PodIgnored)
			p.state.remember(*pod, pod.endedFor(v))
		default:
			p.count(pod, PodFailed)
			p.state.remember(*pod, pod.endedFor(v))
		}
	}
	// The API server lets a suspended Job of no completions finish without a startTime (parity 2.17).
	exempt := p.spec.Suspend && ptr.Deref(p.spec.Completions, 1) == 0
	if p.state.StartTime.IsZero() && !exempt {
		p.state.StartTime = p.second
	}
}
