package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// matches reports whether the Pod's labels are known to match the Job's selector.
func (w *watchedJob) matches(pod *corev1.Pod) bool {
	return k8s.HasUIDLabel(pod, types.UID(w.uid)) || w.selector != nil && w.selector.Matches(labels.Set(pod.Labels))
}

// owner reads the Job once for several Pods; nil when it is gone.
type owner func() (*batchv1.Job, error)

// look finds out what became of Pods that have left the watch's sight, or whose
// labels may not match the Job's selector: the object is gone, or Ostinato has taken
// the label off, or someone has changed its labels or its controller (parity 2.13).
func (w *podWatcher) look(ctx context.Context, watched *watchedJob, pods []job.PodFact) error {
	read := sync.OnceValues(func() (*batchv1.Job, error) {
		found, err := k8s.GetJob(ctx, w.Kubernetes, watched.namespace, watched.name, types.UID(watched.uid))
		switch {
		case errors.Is(err, k8s.ErrGone):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("get Job %s/%s: %w", watched.namespace, watched.name, err)
		}
		return found, nil
	})
	return each(pods, func(fact job.PodFact) error {
		pod, err := w.Kubernetes.CoreV1().Pods(watched.namespace).Get(ctx, fact.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			w.change(func() { watched.gone(fact.UID) })
			return nil
		case err != nil:
			return fmt.Errorf("get Pod %s/%s: %w", watched.namespace, fact.Name, err)
		case string(pod.UID) != fact.UID:
			w.change(func() { watched.gone(fact.UID) })
			return nil
		}
		return w.examine(ctx, watched, pod, read)
	})
}

func (w *podWatcher) change(do func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	do()
}

// examine settles whose a Pod is that exists.
func (w *podWatcher) examine(ctx context.Context, watched *watchedJob, pod *corev1.Pod, read owner) error {
	controller := metav1.GetControllerOfNoCopy(pod)
	switch {
	case controller == nil:
		return w.readopt(ctx, watched, pod, read)
	case string(controller.UID) != watched.uid:
		w.change(func() { watched.disown(string(pod.UID)) })
		return nil
	}
	belongs := k8s.HasUIDLabel(pod, types.UID(watched.uid))
	if !belongs {
		owner, err := read()
		if err != nil {
			return err
		}
		if owner == nil {
			return w.discard(ctx, watched, pod, true)
		}
		selector, err := k8s.PodSelector(owner)
		if err != nil {
			return err
		}
		w.change(func() { watched.selector = selector })
		if !selector.Matches(labels.Set(pod.Labels)) {
			return w.letGo(ctx, watched, pod, owner)
		}
	}
	return w.keep(ctx, watched, pod)
}

// keep takes that the Pod is the Job's. One that ended and was released has lost the
// label for good; another gets it back, so that the watch goes on seeing it.
func (w *podWatcher) keep(ctx context.Context, watched *watchedJob, pod *corev1.Pod) error {
	labelled := pod.Labels[names.WatchBucketLabel] == names.WatchBucket(watched.uid)
	unseen := !labelled && k8s.Ended(pod) && !k8s.Tracked(pod)
	if !labelled && !unseen {
		switch done, err := k8s.LabelPod(ctx, w.Kubernetes, types.UID(watched.uid), pod); {
		case err != nil:
			return fmt.Errorf("label Pod %s/%s: %w", pod.Namespace, pod.Name, err)
		case !done:
			return fmt.Errorf("label Pod %s/%s: it has changed", pod.Namespace, pod.Name)
		}
	}
	w.change(func() { watched.found(k8s.PodFact(pod), unseen) })
	return nil
}

// readopt takes back a Pod that has lost its controller, if the Job may have it.
func (w *podWatcher) readopt(ctx context.Context, watched *watchedJob, pod *corev1.Pod, read owner) error {
	owner, err := read()
	if err != nil {
		return err
	}
	if owner == nil {
		return w.discard(ctx, watched, pod, true)
	}
	switch wants, err := w.wants(owner, pod); {
	case err != nil:
		return err
	case !wants:
		return w.discard(ctx, watched, pod, k8s.Ended(pod))
	}
	adopted, err := k8s.AdoptPod(ctx, w.Kubernetes, owner, pod)
	switch {
	case err != nil:
		return fmt.Errorf("adopt Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	case adopted == nil:
		return fmt.Errorf("adopt Pod %s/%s: it has changed", pod.Namespace, pod.Name)
	}
	w.logger.Info("adopted a Pod", "namespace", pod.Namespace, "pod", pod.Name, "job", owner.Name)
	w.change(func() { watched.found(k8s.PodFact(adopted), false) })
	return nil
}

// letGo ends the Job's control of a Pod whose labels don't match the selector. A Job
// that is being deleted keeps it, so that it goes with the Job, as upstream.
func (w *podWatcher) letGo(ctx context.Context, watched *watchedJob, pod *corev1.Pod, owner *batchv1.Job) error {
	if owner.DeletionTimestamp != nil {
		return w.discard(ctx, watched, pod, true)
	}
	if err := k8s.DisownPod(ctx, w.Kubernetes, owner.UID, pod); err != nil {
		return fmt.Errorf("let go of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	w.logger.Info("let go of a Pod that does not match the selector", "namespace", pod.Namespace, "pod", pod.Name, "job", owner.Name)
	w.change(func() { watched.disown(string(pod.UID)) })
	return nil
}

// discard releases a Pod that nobody will count; for good, where nothing that may
// happen to it matters any more.
func (w *podWatcher) discard(ctx context.Context, watched *watchedJob, pod *corev1.Pod, forGood bool) error {
	if err := w.releaseOrphan(ctx, pod.Namespace, pod.Name, pod.UID, forGood); err != nil {
		return err
	}
	w.change(func() { watched.disown(string(pod.UID)) })
	return nil
}
