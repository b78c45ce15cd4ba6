package podwatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// look finds out what became of Pods that have left the watch's sight, or whose labels may not match
// the Job's selector: the object is gone, or someone has changed its labels or its controller. Most often one was released.
func (w *Watcher) look(ctx context.Context, watched *watchedJob, pods []job.PodFact) error {
	read := sync.OnceValues(func() (*batchv1.Job, error) { return w.read(ctx, watched.jobKey) })
	return w.eachPod(ctx, watched, pods, func(fact job.PodFact, pod *corev1.Pod) error {
		switch {
		case pod == nil:
			w.change(func(now time.Time) { watched.answer(fact.UID, foundGone, sight{}, now) })
			return nil
		case claim.IsControlledBy(pod, watched.name, watched.uid) && claim.Ended(pod) && !claim.Tracked(pod) && !w.selector.Matches(labels.Set(pod.Labels)):
			// It has lost the watch's label for good.
			w.change(func(now time.Time) { watched.answer(fact.UID, foundOut, see(pod), now) })
			return nil
		}
		found, err := read()
		if err != nil {
			return err
		}
		return w.examine(ctx, watched, pod, w.owner(watched.jobKey, found, false))
	})
}

// pod reads the Pod of this UID; it is nil when it is gone.
func (w *Watcher) pod(ctx context.Context, namespace, name string, uid types.UID) (*corev1.Pod, error) {
	pod, err := k8s.GetPodLive(ctx, w.Kubernetes, namespace, name, uid)
	return orNil(pod, err, "Pod", namespace, name)
}

// orNil returns what was read; nil where it is gone.
func orNil[Object any](read *Object, err error, kind, namespace, name string) (*Object, error) {
	switch {
	case errors.Is(err, k8s.ErrGone), apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s/%s: %w", kind, namespace, name, err)
	}
	return read, nil
}

// examine settles whose a Pod is that exists.
func (w *Watcher) examine(ctx context.Context, watched *watchedJob, pod *corev1.Pod, owner claim.Owner) error {
	verdict := claim.Decide(pod, owner)
	stored, err := w.carryOut(ctx, verdict, pod, owner)
	if err != nil {
		return err
	}
	switch verdict {
	case claim.Keep, claim.Label, claim.Adopt:
		if stored == nil {
			return fmt.Errorf("%v Pod %s/%s: it has changed", verdict, pod.Namespace, pod.Name)
		}
		w.change(func(now time.Time) { watched.found(see(stored), now) })
		return nil
	}
	w.change(func(now time.Time) { watched.answer(string(pod.UID), foundForeign, sight{}, now) })
	if verdict == claim.Foreign && !claim.IsControlled(pod) {
		// Another Job may want it.
		w.asks.Add(orphanKey(pod))
	}
	return nil
}

// carryOut is k8s.CarryOut, and says what it has done.
func (w *Watcher) carryOut(ctx context.Context, verdict claim.Verdict, pod *corev1.Pod, owner claim.Owner) (*corev1.Pod, error) {
	if verdict == claim.Release {
		// The Job of a controlled one is over or gone, so its labels matter no more.
		return nil, w.release(ctx, pod, claim.Ended(pod) || claim.IsControlled(pod))
	}
	stored, err := k8s.CarryOut(ctx, w.Kubernetes, verdict, owner, pod)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%v Pod %s/%s: %w", verdict, pod.Namespace, pod.Name, err)
	case verdict == claim.Adopt && stored != nil:
		w.Logger.Info("adopted a Pod", "namespace", pod.Namespace, "pod", pod.Name, "job", owner.Name)
	case verdict == claim.Disown:
		w.Logger.Info("let go of a Pod that does not match the selector", "namespace", pod.Namespace, "pod", pod.Name, "job", owner.Name)
	}
	return stored, nil
}

// release releases a Pod that is not counted; for good if the watch need not see it any more.
func (w *Watcher) release(ctx context.Context, pod *corev1.Pod, forGood bool) error {
	released, err := k8s.ReleasePod(ctx, w.Kubernetes, pod.Namespace, pod.Name, pod.UID, forGood)
	if err != nil {
		return fmt.Errorf("release Pod %s/%s, which is not counted: %w", pod.Namespace, pod.Name, err)
	}
	if released {
		w.Metrics.orphans.Inc()
		w.Logger.Info("released a Pod that is not counted", "namespace", pod.Namespace, "pod", pod.Name)
	}
	return nil
}

// eachPod reads Pods of a Job, some at a time, and does something with each, which is nil when it is gone. The error is
// the first of them.
func (w *Watcher) eachPod(ctx context.Context, watched *watchedJob, facts []job.PodFact, do func(job.PodFact, *corev1.Pod) error) error {
	var group errgroup.Group
	group.SetLimit(senders)
	for _, fact := range facts {
		group.Go(func() error {
			pod, err := w.pod(ctx, watched.namespace, fact.Name, types.UID(fact.UID))
			if err != nil {
				return err
			}
			return do(fact, pod)
		})
	}
	return group.Wait()
}
