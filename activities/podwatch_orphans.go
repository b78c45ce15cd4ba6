package activities

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// settleOrphans looks at a Job whose workflow can't be signalled, or does not
// act. When the Job is gone or finished nobody will ever count its Pods, so they
// are released here; when it is another controller's they are left alone. settled
// is true then.
func (w *podWatcher) settleOrphans(ctx context.Context, watched *watchedJob) (settled bool, err error) {
	owner, err := k8s.GetJob(ctx, w.Kubernetes, watched.namespace, watched.name, types.UID(watched.uid))
	foreign := false
	switch {
	case errors.Is(err, k8s.ErrGone):
	case err != nil:
		return false, fmt.Errorf("get Job %s/%s: %w", watched.namespace, watched.name, err)
	case !k8s.Managed(owner, w.TakeOverJobs):
		foreign = true
	case terminalCondition(owner) == nil:
		return false, nil
	}
	w.mutex.Lock()
	orphans := watched.tracked()
	w.mutex.Unlock()
	if !foreign {
		err = each(orphans, func(pod job.PodFact) error {
			return w.releaseOrphan(ctx, watched.namespace, pod.Name, types.UID(pod.UID), pod.Ended())
		})
		if err != nil {
			return false, err
		}
	}
	w.mutex.Lock()
	watched.settle()
	w.mutex.Unlock()
	return true, nil
}

// claimOrphan gives a Pod without controller to the Job whose selector it matches,
// which then hears of it; a Pod that no Job wants is released (parity 2.13).
func (w *podWatcher) claimOrphan(ctx context.Context, key watchKey) error {
	pod, err := w.Kubernetes.CoreV1().Pods(key.namespace).Get(ctx, key.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get orphan Pod %s/%s: %w", key.namespace, key.name, err)
	case pod.UID != key.podUID, metav1.GetControllerOfNoCopy(pod) != nil:
		return nil
	}
	var owner *batchv1.Job
	// One that ended and was released has been accounted.
	if !k8s.Ended(pod) || k8s.Tracked(pod) {
		if owner, err = w.claimant(ctx, pod); err != nil {
			return err
		}
	}
	if owner == nil {
		// One that can still run stays in sight: its labels may match some day.
		if ended := k8s.Ended(pod); ended || k8s.Tracked(pod) {
			return w.releaseOrphan(ctx, pod.Namespace, pod.Name, pod.UID, ended)
		}
		return nil
	}
	adopted, err := k8s.AdoptPod(ctx, w.Kubernetes, owner, pod)
	if err != nil {
		return fmt.Errorf("adopt Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if adopted != nil {
		w.logger.Info("adopted a Pod", "namespace", pod.Namespace, "pod", pod.Name, "job", owner.Name)
	}
	return nil
}

// claimant returns the Job that is to adopt the Pod; nil when there is none. The
// Job is found by the Pod's labels: one with a manual selector that puts none of
// its own finds its Pods by itself, with its next list of them.
func (w *podWatcher) claimant(ctx context.Context, pod *corev1.Pod) (*batchv1.Job, error) {
	if pod.DeletionTimestamp != nil {
		return nil, nil
	}
	name := pod.Labels[batchv1.JobNameLabel]
	if name == "" {
		w.mutex.Lock()
		if watched, known := w.jobs[pod.Labels[batchv1.ControllerUidLabel]]; known {
			name = watched.name
		}
		w.mutex.Unlock()
	}
	if name == "" {
		return nil, nil
	}
	owner, err := w.Kubernetes.BatchV1().Jobs(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get Job %s/%s: %w", pod.Namespace, name, err)
	}
	if wants, err := w.wants(owner, pod); err != nil || !wants {
		return nil, err
	}
	return owner, nil
}

// wants reports whether the Job may adopt the Pod, which has no controller.
func (w *podWatcher) wants(owner *batchv1.Job, pod *corev1.Pod) (bool, error) {
	if pod.DeletionTimestamp != nil || !k8s.Managed(owner, w.TakeOverJobs) || !k8s.Adoptable(owner) {
		return false, nil
	}
	selector, err := k8s.PodSelector(owner)
	return err == nil && selector.Matches(labels.Set(pod.Labels)), err
}

func (w *podWatcher) releaseOrphan(ctx context.Context, namespace, name string, uid types.UID, ended bool) error {
	released, err := k8s.ReleasePod(ctx, w.Kubernetes, namespace, name, uid, ended)
	if err != nil {
		return fmt.Errorf("release orphan Pod %s/%s: %w", namespace, name, err)
	}
	if released {
		w.Metrics.watchOrphans.Inc()
		w.logger.Info("released the Pod of a Job without a workflow", "namespace", namespace, "pod", name)
	}
	return nil
}
