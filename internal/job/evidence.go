package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/clip"
)

// Reasons of Attempt.Ended that are no verdict's.
const (
	// EndedPodDeleted: a person, an eviction or a garbage collection has deleted the Pod.
	EndedPodDeleted = "PodDeleted"
	// EndedJobDeleted: the Pod's Job was deleted, by a person or since another run replaced it.
	EndedJobDeleted = "JobDeleted"
	// EndedSucceeded: the Pod has succeeded, and its Job keeps evidence of such Pods.
	EndedSucceeded = "Succeeded"
)

// remember keeps the evidence of a Pod that failed; the oldest gives way. A rebuild that counts a Pod anew finds it.
// ended is the reason for which a Pod that runs is ended: of the many that one reason may end a few are kept, so that
// what led to it stays.
func (s *State) remember(pod Pod, ended string) {
	if s.evidenceOf(pod.UID) != nil {
		return
	}
	alone := ended == "" || ended == EndedPodDeleted || ended == PendingDeadlineExceeded
	alike := slices.DeleteFunc(slices.Clone(s.Evidence), func(attempt Attempt) bool { return attempt.Ended != ended })
	if !alone && len(alike) >= MaxEnded {
		s.EvidenceOmitted++
		return
	}
	attempt := AttemptOf(pod)
	attempt.Ended = ended
	s.Evidence = append(slices.Clip(s.Evidence), attempt)
	surplus := max(len(s.Evidence)-maxAttempts, 0)
	s.Evidence = s.Evidence[surplus:]
	s.EvidenceOmitted += surplus
}

// AttemptOf is what is kept of a Pod that failed, or has not started; its log comes later.
func AttemptOf(pod Pod) Attempt {
	if pod.Reason == "" && pod.Message == "" {
		pod.Reason, pod.Message = string(pod.Pending), pod.PendingMessage
	}
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
			*attempt = attempt.refreshed(AttemptOf(pod))
		}
	}
}

// refreshed returns the attempt with what is known of its Pod now. What a Pod has said before it was ended says more
// than its end.
func (a Attempt) refreshed(fresh Attempt) Attempt {
	fresh.Log, fresh.LogMissing, fresh.Ended = a.Log, a.LogMissing, a.Ended
	silent := fresh.ExitCode == 0 && fresh.Reason+fresh.Message == ""
	if a.Ended != "" && (a.ExitCode != 0 || silent || fresh.Reason == statusUnknown) {
		fresh.Container, fresh.ExitCode, fresh.Signal = a.Container, a.ExitCode, a.Signal
		fresh.Reason, fresh.Message = a.Reason, a.Message
	}
	return fresh
}

// statusUnknown is the kubelet's word for a container of a Pod that has ended of which it knows nothing.
const statusUnknown = "ContainerStatusUnknown"

// evidenceOf returns the evidence of the Pod with this UID; nil when none is kept.
func (s State) evidenceOf(uid string) *Attempt {
	if i := slices.IndexFunc(s.Evidence, func(attempt Attempt) bool { return attempt.UID == uid }); i >= 0 {
		return &s.Evidence[i]
	}
	return nil
}

// wantsLog reports whether the end of the Pod's log is still to be read: of one that has failed, or that has a node and
// is being deleted. The activity judges that by the Pod.
func (s State) wantsLog(pod Pod) bool {
	attempt := s.evidenceOf(pod.UID)
	if attempt == nil || attempt.Log != "" || attempt.LogMissing != "" || pod.PendingFailed {
		return false
	}
	// Garbage collection deletes the Pods of a Job that is being deleted. A Pod may have started without its status
	// saying so yet.
	ends := pod.Deleting || attempt.Ended == EndedJobDeleted
	return pod.Phase == corev1.PodFailed || attempt.Ended == EndedSucceeded || ends && (pod.Phase != corev1.PodPending || pod.Node != "")
}

// EndedWith returns the State with the evidence of Pods that were ended with the Job, as an activity has found them.
// What no activity finds is left out.
func (s State) EndedWith(pods []PodFact, logs []PodLog) State {
	if len(pods) > MaxEnded || ValidateFacts(pods) != nil {
		return s
	}
	for _, fact := range pods {
		ended := EndedJobDeleted
		if fact.Ended() {
			ended = ""
		}
		s.remember(Pod{PodFact: fact}, ended)
	}
	s.takeLogs(logs)
	return s
}

// takeLogs puts the ends of logs to the evidence. A log that is there stays where a later look finds none.
func (s *State) takeLogs(logs []PodLog) {
	s.Evidence = slices.Clone(s.Evidence)
	for _, log := range logs {
		attempt := s.evidenceOf(log.UID)
		if attempt == nil || log.Lines == "" && attempt.Log != "" {
			continue
		}
		attempt.Log, attempt.LogMissing = log.Lines[max(len(log.Lines)-maxLog, 0):], clip.Text(log.Missing, maxAttemptText)
	}
}
