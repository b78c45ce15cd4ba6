package activities

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// settleOrphans looks at a Job whose workflow can't be signalled, or does not
// act. When the Job is gone or finished nobody will ever count its Pods, so they
// are released here; settled is true then.
func (w *podWatcher) settleOrphans(ctx context.Context, watched *watchedJob) (settled bool, err error) {
	owner, err := k8s.GetJob(ctx, w.Kubernetes, watched.namespace, watched.name, types.UID(watched.uid))
	switch {
	case errors.Is(err, k8s.ErrGone):
	case err != nil:
		return false, fmt.Errorf("get Job %s/%s: %w", watched.namespace, watched.name, err)
	case terminalCondition(owner) == nil:
		return false, nil
	}
	w.mutex.Lock()
	orphans := watched.tracked()
	w.mutex.Unlock()
	err = each(orphans, func(pod job.PodFact) error {
		return w.releaseOrphan(ctx, watched.namespace, pod.Name, types.UID(pod.UID))
	})
	if err != nil {
		return false, err
	}
	w.mutex.Lock()
	watched.settle()
	w.mutex.Unlock()
	return true, nil
}

// releaseUncontrolled releases a Pod that lost its controller: its Job was
// deleted without its Pods, or its labels no longer match.
func (w *podWatcher) releaseUncontrolled(ctx context.Context, key watchKey) error {
	return w.releaseOrphan(ctx, key.namespace, key.name, key.podUID)
}

func (w *podWatcher) releaseOrphan(ctx context.Context, namespace, name string, uid types.UID) error {
	released, err := k8s.ReleasePod(ctx, w.Kubernetes, namespace, name, uid)
	if err != nil {
		return fmt.Errorf("release orphan Pod %s/%s: %w", namespace, name, err)
	}
	if released {
		w.Metrics.watchOrphans.Inc()
		w.logger.Info("released the Pod of a Job without a workflow", "namespace", namespace, "pod", name)
	}
	return nil
}
