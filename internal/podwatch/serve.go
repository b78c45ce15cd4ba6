package podwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/queue"
)

// limited bounds what is done for one key at a time, and logs what fails.
func (w *Watcher) limited(serve queue.Handler[key]) queue.Handler[key] {
	return func(ctx context.Context, key key) (time.Duration, error) {
		limited, cancel := context.WithTimeout(ctx, serveTimeout)
		defer cancel()
		again, err := serve(limited, key)
		if err != nil && ctx.Err() == nil {
			w.Logger.Warn("Pod facts not delivered, will retry", "namespace", key.namespace, "name", key.name, "error", err)
		}
		return again, err
	}
}

// tell tells the Job's workflow what is due. What the API server has to be asked first, it leaves to ask.
func (w *Watcher) tell(ctx context.Context, key key) (again time.Duration, err error) {
	watched, due := w.decide(key.jobKey)
	if key.orphan || len(due.look) > 0 || due.project {
		w.asks.Add(key)
	}
	if watched == nil {
		return 0, nil
	}
	if !due.again.IsZero() {
		if again = due.again.Sub(w.Clock.Now()); again <= 0 {
			again = queue.AtOnce
		}
	}
	if due.verify {
		if settled, err := w.releaseOrphans(ctx, watched, false); settled || err != nil {
			return queue.AtOnce, err
		}
	}
	seen := w.Job(key.namespace, key.name, key.uid)
	switch {
	case len(due.facts) == 0:
		return again, nil
	case seen != nil && claim.Finished(seen) != nil && !slices.ContainsFunc(due.facts, func(fact job.PodFact) bool { return fact.Tracked }):
		// All are released, so the workflow has taken what there was to take.
		w.change(func(now time.Time) { watched.told(due.facts, now) })
	case w.Begins(key.namespace, key.name, key.uid):
		return signalInterval, nil
	default:
		err = w.send(ctx, watched, due.facts)
	}
	return queue.AtOnce, err
}

// ask asks the API server about Pods of a Job, and writes its readiness; or it claims a Pod without a controller.
func (w *Watcher) ask(ctx context.Context, key key) (time.Duration, error) {
	if key.orphan {
		return 0, w.claimOrphan(ctx, key)
	}
	watched, due := w.decide(key.jobKey)
	if watched == nil {
		return 0, nil
	}
	err := w.look(ctx, watched, due.look)
	if due.project {
		err = errors.Join(err, w.project(ctx, watched, w.Job(key.namespace, key.name, key.uid), due.ready))
	}
	if err == nil {
		w.tells.Add(key)
	}
	return 0, err
}

// Begin has a Job's workflow start with what is due about its Pods. start returns those facts which the workflow knows then.
func (w *Watcher) Begin(namespace, name string, uid types.UID, start func(due []job.PodFact) (taken []job.PodFact, err error)) error {
	var watched *watchedJob
	var due []job.PodFact
	w.change(func(time.Time) {
		if watched = w.jobs[jobKey{namespace, name, uid}]; watched != nil {
			due = watched.collect(nil)
		}
	})
	taken, err := start(due)
	if err == nil && len(taken) > 0 {
		w.change(func(now time.Time) { watched.told(taken, now) })
	}
	return err
}

// decide returns what is due for a Job; nil when it has no Pods left.
func (w *Watcher) decide(job jobKey) (*watchedJob, decision) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	watched := w.jobs[job]
	if watched == nil || len(watched.pods) == 0 {
		delete(w.jobs, job)
		return nil, decision{}
	}
	return watched, watched.decide(w.Clock.Now())
}

// project writes status.ready of a Job of ours. Another controller's Job needs no signals either.
func (w *Watcher) project(ctx context.Context, watched *watchedJob, seen *batchv1.Job, ready int32) (err error) {
	if seen == nil {
		seen, err = w.Kubernetes.BatchV1().Jobs(watched.namespace).Get(ctx, watched.name, k8s.FromCache)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("get Job %s/%s: %w", watched.namespace, watched.name, err)
		}
	}
	taken := false
	switch {
	case err != nil, seen.UID != watched.uid, seen.Status.StartTime == nil:
		// The Job is not in the cache, or its workflow has not begun: it takes no ready Pods yet.
	case !claim.Ours(seen, w.TakeOverJobs):
		w.change(watched.markSettled)
		return nil
	default:
		if taken, err = k8s.PatchJobReady(ctx, w.Kubernetes, watched.namespace, watched.name, watched.uid, ready); err != nil {
			return fmt.Errorf("write status.ready of Job %s/%s: %w", watched.namespace, watched.name, err)
		}
		w.Metrics.projections.Inc()
	}
	w.change(func(now time.Time) { watched.projected(ready, taken, now) })
	return nil
}

// read reads the Job, and keeps its selector. A Job that is gone is nil.
func (w *Watcher) read(ctx context.Context, job jobKey) (*batchv1.Job, error) {
	found, err := k8s.GetJob(ctx, w.Kubernetes, job.namespace, job.name, job.uid)
	if err == nil {
		if selector, err := claim.Selector(found); err == nil {
			w.change(func(time.Time) {
				if watched := w.jobs[job]; watched != nil {
					watched.selector = selector
				}
			})
		}
	}
	return orNil(found, err, "Job", job.namespace, job.name)
}

// owner is by what the Job's Pods are judged; found is the Job as just read, nil when it is gone.
func (w *Watcher) owner(job jobKey, found *batchv1.Job, unattended bool) claim.Owner {
	return claim.Owner{
		Namespace: job.namespace, Name: job.name, UID: job.uid, Job: found,
		TakeOver: w.TakeOverJobs, Unattended: unattended,
	}
}
