package podwatch

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// lookDelay is how long a Job whose Pods seem to be missing is left alone before it is
// looked at again: what was signalled and released just now is then in its status.
const lookDelay = 2 * time.Second

// lacks reports whether the Job's status has more Pods that are active or terminating
// than the watch sees. So some have ended or gone that were released before, and of
// those nothing tells any more.
func lacks(found *batchv1.Job, seen int32) bool {
	expected := found.Status.Active
	if found.Status.Terminating != nil {
		expected += *found.Status.Terminating
	}
	return expected > seen
}

// handOver looks, once for each watch, for Jobs whose Pods went while nobody watched. A
// Pod that can run is released when it is removed or its Job's end is certain, and when
// such a one ends or vanishes, no finalizer keeps it for the next watch.
func (w *Watcher) handOver(ctx context.Context) error {
	for _, namespace := range k8s.NamespacesToList(w.Namespaces) {
		err := k8s.EachJob(ctx, w.Kubernetes, namespace, func(found *batchv1.Job) error {
			job := jobKey{namespace: found.Namespace, name: found.Name, uid: found.UID}
			if w.inShard(found.UID) && w.misses(job, found) {
				w.queue.AddAfter(key{kind: aHandOver, jobKey: job}, lookDelay)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// misses reports whether the Job is ours to watch, and the watch lacks Pods of it.
func (w *Watcher) misses(job jobKey, found *batchv1.Job) bool {
	if !claim.Ours(found, w.TakeOverJobs) || claim.Finished(found) != nil {
		return false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var seen int32
	if watched, known := w.jobs[job]; known {
		seen = watched.counted()
	}
	return lacks(found, seen)
}

// lookAgain has the Job's workflow list its Pods if some of them are still missing. A
// workflow that is yet to start lists them anyway.
func (w *Watcher) lookAgain(ctx context.Context, job jobKey) error {
	found, err := w.read(ctx, job)
	if err != nil || found == nil || !w.misses(job, found) {
		return err
	}
	err = w.signal(ctx, job, protocol.PodFacts{Look: true})
	if errors.Is(err, errNoWorkflow) {
		return nil
	}
	if err == nil {
		w.Logger.Info("Pods of a Job went before the watch began; its workflow is to list them", "namespace", job.namespace, "job", job.name)
	}
	return err
}
