package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/event"
)

// finish turns the verdict into the terminal condition once nothing runs any more, maybe in the same write (parity 2.8).
func (p *pass) finish() {
	verdict := p.state.interim()
	if verdict == nil || p.capped || p.active() > 0 || p.terminating() > 0 || p.waits(p.state.Late, WakeList) {
		return
	}
	if verdict.failure() {
		p.setCondition(batchv1.JobFailed, corev1.ConditionTrue, verdict.Reason, verdict.Message)
		p.emit(event.Warning(verdict.Reason, verdict.Message))
		return
	}
	p.setCondition(batchv1.JobComplete, corev1.ConditionTrue, verdict.Reason, verdict.Message)
	p.state.CompletionTime = later(p.second, p.state.StartTime)
	if p.spec.Completions != nil && p.state.Succeeded > *p.spec.Completions {
		p.emit(event.Warning("TooManySucceededPods", "Too many succeeded pods running after completion count reached"))
	}
	p.emit(event.Normal("Completed", "Job completed"))
}

// cleanUp ends a Job whose terminal condition is written. A workflow that was started anew may
// find Pods that the lost one left with the finalizer on.
func (p *pass) cleanUp() {
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if pod.active() && p.mayDelete(*pod) {
			p.remove(pod)
		} else if pod.Fate == Undecided {
			pod.Fate = PodUncounted
		}
	}
	p.release()
	if p.plan.Idle() && p.plan.Wake.At.IsZero() {
		p.plan.Finished = p.result()
	}
	if len(p.plan.Releases) > 0 {
		p.plan.Waiting = fmt.Sprintf("%d finished Pods to be released", len(p.plan.Releases))
	}
}

func (p *pass) result() *Result {
	s := p.state
	condition, result := s.terminal(), s.ResultSoFar()
	result.Outcome, result.Reason, result.Message = Outcome(condition.Type), condition.Reason, condition.Message
	// Another controller, or a lost workflow task, may have ended the Job and counted less.
	result.Succeeded, result.Failed = s.Status().Succeeded, s.Status().Failed
	if result.Outcome == Failed {
		result.Why = p.why(result.Reason, result.Message)
	}
	return &result
}

// ResultSoFar returns the Result of a Job whose object goes away now.
func (s State) ResultSoFar() Result {
	return Result{
		UID:             s.UID,
		Outcome:         Deleted,
		StartTime:       s.StartTime,
		CompletionTime:  s.CompletionTime,
		Succeeded:       s.Succeeded,
		Failed:          s.Failed,
		Attempts:        s.Evidence,
		AttemptsOmitted: s.EvidenceOmitted,
	}
}
