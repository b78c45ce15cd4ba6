package activities

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// sweepRetry is how long the sweep waits after a failure.
const sweepRetry = 30 * time.Second

// sweep looks, once for each watch, for Pods that kube-controller-manager left with
// the tracking finalizer when Jobs were taken over, and that no Job will ever count:
// their Jobs were deleted, or had finished, while nobody looked. The watch itself
// sees Pods with the watch bucket label only, which they have not.
func (w *podWatcher) sweep(ctx context.Context, shard protocol.PodWatchInput) {
	for ctx.Err() == nil {
		err := w.sweepOnce(ctx, shard)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			w.logger.Warn("the sweep for orphan Pods failed, will retry", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-w.Clock.After(sweepRetry):
		}
	}
}

func (w *podWatcher) sweepOnce(ctx context.Context, shard protocol.PodWatchInput) error {
	unlabelled, err := labels.NewRequirement(names.WatchBucketLabel, selection.DoesNotExist, nil)
	if err != nil {
		return fmt.Errorf("select Pods without watch bucket: %w", err)
	}
	ofJobs, err := labels.NewRequirement(batchv1.JobNameLabel, selection.Exists, nil)
	if err != nil {
		return fmt.Errorf("select Pods of Jobs: %w", err)
	}
	over := map[types.UID]bool{}
	look := func(pod *corev1.Pod) func() error {
		name, uid, ok := k8s.JobOf(pod)
		if !ok || !k8s.Tracked(pod) || !inShard(string(uid), shard) {
			return nil
		}
		ended, known := over[uid]
		if !known {
			var err error
			if ended, err = w.isOver(ctx, pod.Namespace, name, uid); err != nil {
				return func() error { return err }
			}
			over[uid] = ended
		}
		if !ended {
			return nil
		}
		return func() error {
			return w.releaseOrphan(ctx, pod.Namespace, pod.Name, pod.UID, true)
		}
	}
	for _, namespace := range k8s.NamespacesToList(w.Namespaces) {
		if err := w.eachPod(ctx, namespace, labels.NewSelector().Add(*unlabelled, *ofJobs), look); err != nil {
			return err
		}
	}
	return nil
}

// inShard reports whether the Job's Pods are the shard's.
func inShard(jobUID string, shard protocol.PodWatchInput) bool {
	bucket, err := strconv.Atoi(names.WatchBucket(jobUID))
	return err == nil && shard.Shards > 0 && bucket%shard.Shards == shard.Shard
}

// isOver reports whether the Job is gone, or ours and finished.
func (w *podWatcher) isOver(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	owner, err := k8s.GetJob(ctx, w.Kubernetes, namespace, name, uid)
	switch {
	case errors.Is(err, k8s.ErrGone):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("get Job %s/%s: %w", namespace, name, err)
	}
	return k8s.Managed(owner, w.TakeOverJobs) && terminalCondition(owner) != nil, nil
}
