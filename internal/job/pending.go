package job

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PendingDeadlineExceeded is the reason of the Event, and of the evidence, of a Pod that did not start in time.
const PendingDeadlineExceeded = "PendingDeadlineExceeded"

// pendingDue returns when a Pod must have started; ok is false for one that has, or may wait for ever.
// Pods of a Job that is suspended, being deleted or decided upon end in another way. One of which nothing is known any more
// (unheard) may have started: the list that is to come tells.
func (p *pass) pendingDue(pod Pod) (due time.Time, ok bool) {
	if p.spec.PendingDeadlineSeconds <= 0 || p.spec.Suspend || p.spec.Deleting || p.state.interim() != nil ||
		pod.Since.IsZero() || !pod.active() || pod.Fate != Undecided || pod.Phase == "" && p.state.Doubt ||
		!pod.Started.IsZero() || pod.Phase != "" && pod.Phase != corev1.PodPending || pod.Phase == corev1.PodPending && pod.Pending == "" {
		return time.Time{}, false
	}
	return pod.Since.Add(time.Duration(p.spec.PendingDeadlineSeconds) * time.Second), true
}

// clockPending starts the clock of Pods that are new.
func (p *pass) clockPending() {
	if p.spec.PendingDeadlineSeconds <= 0 {
		return
	}
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		pod.Since = cmp.Or(pod.Since, p.second)
	}
}

// pendingListDue reports whether an overdue Pod may have started since the last list: PodWatch does not report starts.
func (p *pass) pendingListDue() bool {
	for _, pod := range p.state.Pods {
		if due, ok := p.pendingDue(pod); ok && !p.now.Before(due) && p.state.Listing.Before(due) {
			return true
		}
	}
	return false
}

// failPending fails the attempts of Pods that are overdue: they are counted and deleted, and what kept them is evidence.
func (p *pass) failPending() {
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if due, ok := p.pendingDue(*pod); !ok || p.waits(due, WakePending) || !p.mayDelete(*pod) {
			continue
		}
		pod.PendingFailed, pod.Finished = true, p.second
		pod.Reason, pod.Message = string(cmp.Or(pod.Pending, PendingLost)), pod.PendingMessage
		p.delete(pod, false)
	}
}

// pendingFailure says in words why a Pod was given up.
func (p *pass) pendingFailure(pod Pod) string {
	reason, message := pod.Reason, pod.Message
	if attempt := p.state.evidenceOf(pod.UID); attempt != nil {
		// How the Pod ended after it was deleted is of no interest.
		reason, message = attempt.Reason, attempt.Message
	}
	text := fmt.Sprintf("Pod %s has not started within %d s: %s", pod.Name, p.spec.PendingDeadlineSeconds, reason)
	if message != "" {
		text += ": " + message
	}
	return text
}
