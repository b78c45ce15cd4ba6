package podwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// releaseOrphans looks at a Job whose workflow can't be signalled (noWorkflow), or does not act.
// If the Job is gone or over, its Pods will never be counted, so they are released here; when it is another
// controller's they are left alone. settled is true then. A Pod that runs on although its Job has finished was created by
// a request without an answer, which landed after the end: it is deleted first.
func (w *Watcher) releaseOrphans(ctx context.Context, watched *watchedJob, noWorkflow bool) (settled bool, err error) {
	found, err := w.read(ctx, watched.jobKey)
	if err != nil {
		return false, err
	}
	// Without a workflow, the Pods of a Job that is being deleted are not counted.
	over := found == nil || claim.Finished(found) != nil || noWorkflow && found.DeletionTimestamp != nil
	if !over && claim.Ours(found, w.TakeOverJobs) {
		return false, nil
	}
	w.mutex.Lock()
	orphans := watched.tracked()
	w.mutex.Unlock()
	owner := w.owner(watched.jobKey, found, true)
	err = w.eachPod(ctx, watched, orphans, func(_ job.PodFact, pod *corev1.Pod) error {
		if pod == nil || claim.Decide(pod, owner) != claim.Release {
			return nil
		}
		if found != nil && claim.Finished(found) != nil {
			if err := w.end(ctx, pod); err != nil {
				return err
			}
		}
		return w.release(ctx, pod, claim.Ended(pod))
	})
	if err != nil {
		return false, err
	}
	w.change(watched.markSettled)
	return true, nil
}

// endLeftOver deletes and releases the Pods that run although their Job has finished.
func (w *Watcher) endLeftOver(ctx context.Context, of jobKey) {
	watched, _ := w.decide(of)
	if watched == nil {
		return
	}
	if _, err := w.releaseOrphans(ctx, watched, true); err != nil {
		w.Logger.Warn("could not end the Pods of a Job that has finished, will retry", "namespace", of.namespace, "name", of.name, "error", err)
	}
}

// end deletes a Pod that runs for a Job that has finished.
func (w *Watcher) end(ctx context.Context, pod *corev1.Pod) error {
	if claim.Ended(pod) || pod.DeletionTimestamp != nil {
		return nil
	}
	deleted, err := k8s.DeletePod(ctx, w.Kubernetes, pod.Namespace, pod.Name, pod.UID)
	if err != nil {
		return fmt.Errorf("delete Pod %s/%s, which was created after its Job had finished: %w", pod.Namespace, pod.Name, err)
	}
	if deleted {
		w.Logger.Info("deleted a Pod that was created after its Job had finished", "namespace", pod.Namespace, "pod", pod.Name)
	}
	return nil
}

// claimOrphan gives a Pod without controller to the Job that is to have it, which then
// hears of it; a Pod that no Job wants is released.
func (w *Watcher) claimOrphan(ctx context.Context, key key) error {
	pod, err := w.pod(ctx, key.namespace, key.name, key.uid)
	if err != nil || pod == nil || claim.IsControlled(pod) {
		return err
	}
	found, err := w.named(ctx, pod)
	if err != nil {
		return err
	}
	owner := claim.Claimant(pod, found, w.TakeOverJobs)
	_, err = w.carryOut(ctx, claim.Decide(pod, owner), pod, owner)
	return err
}

// named reads the Job that the Pod's labels name, by its name or as one that is watched; nil when there is none. A Job
// with a manual selector that puts no labels of its own finds its Pods by itself, when its workflow begins.
func (w *Watcher) named(ctx context.Context, pod *corev1.Pod) (*batchv1.Job, error) {
	name, uid := claim.Labelled(pod)
	if name == "" {
		w.mutex.Lock()
		for job := range w.jobs {
			if job.namespace == pod.Namespace && job.uid == uid {
				name = job.name
			}
		}
		w.mutex.Unlock()
	}
	if name == "" {
		return nil, nil
	}
	found, err := w.Kubernetes.BatchV1().Jobs(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	return orNil(found, err, "Job", pod.Namespace, name)
}

// sweepRetry is how long the sweep waits after a failure.
const sweepRetry = 30 * time.Second

func (w *Watcher) sweepOnce(ctx context.Context, namespace string) {
	for err := w.sweep(ctx, namespace); err != nil && ctx.Err() == nil; err = w.sweep(ctx, namespace) {
		w.Logger.Warn("could not sweep for orphan Pods, will retry", "namespace", namespace, "error", err)
		select {
		case <-ctx.Done():
		case <-w.Clock.After(sweepRetry):
		}
	}
}

// sweep releases, once for each watch of a namespace, Pods that kube-controller-manager left with the tracking finalizer when
// Jobs were taken over, and whose Jobs were deleted or finished while no watch ran. They lack the watch bucket label, so the
// watch does not see them.
func (w *Watcher) sweep(ctx context.Context, namespace string) error {
	selector, err := labels.Parse("!" + names.WatchBucketLabel + "," + batchv1.JobNameLabel)
	if err != nil {
		return fmt.Errorf("select Pods of Jobs without watch bucket: %w", err)
	}
	owners := map[jobKey]claim.Owner{}
	var writes errgroup.Group
	writes.SetLimit(senders)
	err = k8s.EachPod(ctx, w.Kubernetes, namespace, selector, k8s.ListPage, func(pod *corev1.Pod) error {
		job, ok := jobOf(pod)
		if !ok || !claim.Tracked(pod) || !names.InShard(string(job.uid), w.Shard, w.Shards) {
			return nil
		}
		owner, known := owners[job]
		if !known {
			found, err := w.read(ctx, job)
			if err != nil {
				return err
			}
			// A Job that is being deleted may have a workflow that counts.
			owner = w.owner(job, found, found != nil && claim.Finished(found) != nil)
			owners[job] = owner
		}
		if claim.Decide(pod, owner) == claim.Release {
			writes.Go(func() error { return w.release(ctx, pod, claim.Ended(pod)) })
		}
		return nil
	})
	return errors.Join(err, writes.Wait())
}
