package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// remember keeps the evidence of a Pod that failed; the oldest gives way. A rebuild that counts a Pod anew finds it.
func (p *pass) remember(pod Pod) {
	if p.state.evidenceOf(pod.UID) != nil {
		return
	}
	p.state.Evidence = append(slices.Clip(p.state.Evidence), AttemptOf(pod))
	surplus := max(len(p.state.Evidence)-maxAttempts, 0)
	p.state.Evidence = p.state.Evidence[surplus:]
	p.state.EvidenceOmitted += surplus
}

// AttemptOf is what is kept of a Pod that failed; its log comes later.
func AttemptOf(pod Pod) Attempt {
	return Attempt{
		Pod: pod.Name, UID: pod.UID, Index: pod.Index, Node: pod.Node,
		Container: pod.Container, ExitCode: pod.ExitCode, Signal: pod.Signal,
		Reason: pod.Reason, Message: pod.Message,
		Started: pod.Started, Finished: pod.Finished,
	}
}

// refreshEvidence takes over what came to be known of Pods that were counted as failed before they had ended.
func (p *pass) refreshEvidence() {
	if len(p.state.Evidence) == 0 {
		return
	}
	p.state.Evidence = slices.Clone(p.state.Evidence)
	for _, pod := range p.state.Pods {
		if attempt := p.state.evidenceOf(pod.UID); attempt != nil && !pod.PendingFailed {
			fresh := AttemptOf(pod)
			fresh.Log, fresh.LogMissing = attempt.Log, attempt.LogMissing
			*attempt = fresh
		}
	}
}

// evidenceOf returns the evidence of the Pod with this UID; nil when none is kept.
func (s State) evidenceOf(uid string) *Attempt {
	if i := slices.IndexFunc(s.Evidence, func(attempt Attempt) bool { return attempt.UID == uid }); i >= 0 {
		return &s.Evidence[i]
	}
	return nil
}

// wantsLog reports whether the end of the Pod's log is still to be read.
func (s State) wantsLog(pod Pod) bool {
	attempt := s.evidenceOf(pod.UID)
	return attempt != nil && attempt.Log == "" && attempt.LogMissing == "" && !pod.PendingFailed && pod.Phase == corev1.PodFailed
}

// takeLogs puts the ends of logs to the evidence.
func (s *State) takeLogs(logs []PodLog) {
	s.Evidence = slices.Clone(s.Evidence)
	for _, log := range logs {
		if attempt := s.evidenceOf(log.UID); attempt != nil {
			attempt.Log, attempt.LogMissing = log.Lines[max(len(log.Lines)-maxLog, 0):], log.Missing
		}
	}
}
