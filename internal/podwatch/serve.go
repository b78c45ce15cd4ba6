package podwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/queue"
)

func (w *Watcher) serve(ctx context.Context, key key) (again time.Duration, err error) {
	limited, cancel := context.WithTimeout(ctx, serveTimeout)
	defer cancel()
	if key.orphan {
		err = w.claimOrphan(limited, key)
	} else {
		again, err = w.serveJob(limited, key)
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Warn("Pod facts not delivered, will retry", "namespace", key.namespace, "name", key.name, "error", err)
	}
	return again, err
}

func (w *Watcher) serveJob(ctx context.Context, key key) (again time.Duration, err error) {
	watched, due := w.decide(key.jobKey)
	if watched == nil {
		return 0, nil
	}
	if !due.again.IsZero() {
		if again = due.again.Sub(w.Clock.Now()); again <= 0 {
			again = queue.AtOnce
		}
	}
	var lookErr error
	if len(due.look) > 0 {
		if lookErr = w.look(ctx, watched, due.look); lookErr == nil {
			again = queue.AtOnce
		}
	}
	if due.verify {
		settled, err := w.releaseOrphans(ctx, watched, false)
		if settled || err != nil {
			return queue.AtOnce, errors.Join(lookErr, err)
		}
	}
	switch {
	case len(due.facts) > 0:
		again, err = queue.AtOnce, w.send(ctx, watched, due.facts, w.queue.Failures(key) < quietTries)
	case due.project:
		again, err = queue.AtOnce, w.project(ctx, watched, due.ready)
	}
	return again, errors.Join(lookErr, err)
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
func (w *Watcher) project(ctx context.Context, watched *watchedJob, ready int32) error {
	w.mutex.Lock()
	ours := watched.ours
	w.mutex.Unlock()
	if ours == nil {
		// One read from the API server's cache serves for as long as the Job is watched.
		found, err := w.Kubernetes.BatchV1().Jobs(watched.namespace).Get(ctx, watched.name, k8s.FromCache)
		switch {
		case err == nil && found.UID == watched.uid && found.Status.StartTime != nil:
			ours = w.learn(found)
		case err != nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("get Job %s/%s: %w", watched.namespace, watched.name, err)
		}
	}
	taken := false
	switch {
	case ours == nil:
		// The Job is not in the cache, or its workflow has not begun: it takes no ready Pods yet.
	case !*ours:
		w.change(watched.markSettled)
		return nil
	default:
		var err error
		if taken, err = k8s.PatchJobReady(ctx, w.Kubernetes, watched.namespace, watched.name, watched.uid, ready); err != nil {
			return fmt.Errorf("write status.ready of Job %s/%s: %w", watched.namespace, watched.name, err)
		}
		w.Metrics.projections.Inc()
		w.projections.Add(1)
	}
	w.change(func(now time.Time) { watched.projected(ready, taken, now) })
	return nil
}

// learn keeps what can be known of a Job whose Pods are watched and may be judged later. It returns whether the Job is ours.
func (w *Watcher) learn(found *batchv1.Job) *bool {
	ours := claim.Ours(found, w.TakeOverJobs)
	selector, err := claim.Selector(found)
	w.change(func(time.Time) {
		watched := w.jobs[jobKey{namespace: found.Namespace, name: found.Name, uid: found.UID}]
		if watched == nil {
			return
		}
		watched.ours = &ours
		if err == nil {
			watched.selector = selector
		}
	})
	return &ours
}

// read reads the Job, and keeps what it learns about it. A Job that is gone is nil.
func (w *Watcher) read(ctx context.Context, job jobKey) (*batchv1.Job, error) {
	found, err := k8s.GetJob(ctx, w.Kubernetes, job.namespace, job.name, job.uid)
	if err == nil {
		w.learn(found)
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
