package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
)

// handler notes what changed and queues its Job; it does no I/O. It may be called for several namespaces at once.
func (w *Watcher) handler() cache.ResourceEventHandler {
	return k8s.HandlerOf(
		func(pod *corev1.Pod, initial bool) {
			w.pods.Add(1)
			w.observe(nil, pod, initial)
		},
		func(before, pod *corev1.Pod) { w.observe(before, pod, false) },
		func(pod *corev1.Pod) {
			w.pods.Add(-1)
			w.countTracked(pod, nil)
			w.remove(pod, false)
		},
	)
}

// jobOf returns the key of the Job that controls the Pod.
func jobOf(pod *corev1.Pod) (jobKey, bool) {
	name, uid, ok := claim.JobOf(pod)
	return jobKey{namespace: pod.Namespace, name: name, uid: uid}, ok
}

// observe takes a Pod as it now is; before is what it was, nil when it is new.
func (w *Watcher) observe(before, pod *corev1.Pod, initial bool) {
	w.countTracked(before, pod)
	owner, ok := jobOf(pod)
	var looked, wasOrphan bool
	if before != nil {
		wasOrphan = !claim.IsControlled(before)
		if was, ok := jobOf(before); ok && was != owner {
			looked = w.remove(before, true)
		}
	}
	if !ok {
		// One that a Job has lost just now is looked up for that Job.
		if looked || claim.IsControlled(pod) || claim.IsLeftAlone(pod) {
			return
		}
		var wait time.Duration
		if wasOrphan { // It may be touched again and again, and each look is a read.
			wait = orphanInterval
		}
		w.enqueue(orphanKey(pod), wait)
		return
	}
	seen := see(pod)
	seen.madeElsewhere = seen.madeElsewhere || wasOrphan
	w.mutex.Lock()
	watched, known := w.jobs[owner]
	if !known {
		watched = newWatchedJob(owner)
		w.jobs[owner] = watched
	}
	seen.unproven = !watched.matches(pod)
	watched.observe(seen, initial, w.Clock.Now())
	w.mutex.Unlock()
	w.enqueue(key{jobKey: owner}, 0)
}

// remove takes that a Pod is not seen as its Job's any more; it reports whether it is to be looked up.
func (w *Watcher) remove(pod *corev1.Pod, exists bool) (look bool) {
	owner, ok := jobOf(pod)
	if !ok {
		return false
	}
	seen := see(pod)
	w.mutex.Lock()
	if watched, known := w.jobs[owner]; known {
		watched.remove(seen, exists, w.Clock.Now())
		look = watched.missing[seen.fact.UID] != nil
	}
	w.mutex.Unlock()
	w.enqueue(key{jobKey: owner}, 0)
	return look
}

// see reads what the watch has to know of a Pod that a Job controls.
func see(pod *corev1.Pod) sight {
	return sight{
		fact:          k8s.PodFact(pod),
		restartable:   pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		madeElsewhere: k8s.MadeElsewhere(pod),
	}
}

// matches reports whether the Pod's labels are known to match the Job's selector. That
// they don't, and whose the Pod is then, only package claim says.
func (w *watchedJob) matches(pod *corev1.Pod) bool {
	return claim.HasUIDLabel(pod, w.uid) || w.selector != nil && !k8s.LabelsCut(pod) && w.selector.Matches(labels.Set(pod.Labels))
}

func orphanKey(pod *corev1.Pod) key {
	return key{orphan: true, jobKey: jobKey{namespace: pod.Namespace, name: pod.Name, uid: pod.UID}}
}

// countTracked counts Pods that ended with the tracking finalizer, as upstream.
func (w *Watcher) countTracked(before, after *corev1.Pod) {
	counts := func(pod *corev1.Pod) bool { return pod != nil && claim.Tracked(pod) && claim.Ended(pod) }
	switch was, is := counts(before), counts(after); {
	case is && !was:
		w.Metrics.terminatedTracked.WithLabelValues("add").Inc()
	case was && !is:
		w.Metrics.terminatedTracked.WithLabelValues("delete").Inc()
	}
}
