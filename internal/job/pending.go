package job

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PendingDeadlineExceeded is the reason of the Event, and of the evidence, of a Pod one of whose containers did not start in time.
const PendingDeadlineExceeded = "PendingDeadlineExceeded"

// pendingLook is how often it is looked whether what is to start next may start yet, at most: an init container may run for hours.
const pendingLook = time.Minute

// pendingDue returns when what is to start next of a Pod must have started; ok is false if all has, or may wait for ever. Pods of a Job
// that is suspended, being deleted or decided upon end in another way. One of which nothing is known any more (unheard) may have
// started: the list that is to come tells.
func (p *pass) pendingDue(pod Pod) (due time.Time, ok bool) {
	if p.spec.PendingDeadlineSeconds <= 0 || p.spec.Suspend || p.spec.Deleting || p.state.interim() != nil ||
		pod.Since.IsZero() || !pod.active() || pod.Fate != Undecided || pod.Phase == "" && p.state.Doubt ||
		pod.Phase != "" && pod.Phase != corev1.PodPending {
		return time.Time{}, false
	}
	limit := time.Duration(p.spec.PendingDeadlineSeconds) * time.Second
	if pod.waitsForInit() {
		return later(pod.Since, p.state.Listing).Add(max(limit, pendingLook)), true
	}
	return later(pod.Since, pod.PendingSince).Add(limit), true
}

// waitsForInit reports whether what is to start next of a Pod waits for an init container to end.
func (p Pod) waitsForInit() bool { return p.Phase == corev1.PodPending && p.Pending == "" }

// clockPending starts the clock of Pods that are new, and cuts that of containers to now: a node's clock may be ahead, and a fact forged.
func (p *pass) clockPending() {
	if p.spec.PendingDeadlineSeconds <= 0 {
		return
	}
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		pod.Since = cmp.Or(pod.Since, p.second)
		pod.PendingSince = notAfter(p.second, pod.PendingSince)
	}
}

// pendingListDue reports whether a Pod that is overdue may have started since the last list, or waits for an init container that may
// have ended: PodWatch reports neither.
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
		if due, ok := p.pendingDue(*pod); !ok || p.waits(due, WakePending) || pod.waitsForInit() || !p.mayDelete(*pod) {
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
