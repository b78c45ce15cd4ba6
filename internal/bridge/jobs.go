package bridge

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/jobwatch"
)

// syncJob sends what a Job's workflow needs to hear.
func (c *controller) syncJob(ctx context.Context, item key, sweep bool) (time.Duration, error) {
	// In this order: what is gone by now is no longer in the cache.
	gone := c.memory.gone.get(item)
	found := c.objects.job(item.NamespacedName)
	if found == nil || !c.objects.owner.ours(found) || finished(found) {
		return 0, c.forget(ctx, item, gone)
	}
	known := c.memory.jobs.get(item)
	if len(gone) > 0 && known.uid == "" {
		known.uid = gone[len(gone)-1]
	}
	var wait time.Duration
	if jobwatch.IsNew(found) {
		wait = c.memory.beginners.admit(found, c.Clock.Now())
	}
	decision := decideJob(c.objects.owner, found, known, sweep, wait, c.Clock.Now())
	reached, err := c.actOnJob(ctx, found, decision)
	if err != nil {
		return 0, err
	}
	// A workflow of a deleted Job starts over with the spec of the new one.
	c.memory.gone.done(item, gone)
	if !reached && !decision.taken {
		return decision.again, nil
	}
	c.memory.jobs.put(item, jobMemory{uid: string(found.UID), spec: job.SpecOf(found)})
	return 0, nil
}

// actOnJob carries out a decision; reached reports whether a workflow has the Job's spec now.
func (c *controller) actOnJob(ctx context.Context, job *batchv1.Job, decision decision) (reached bool, err error) {
	start, spec := c.jobMessages(job)
	if err := c.endStale(ctx, jobKey(job), decision.stale); err != nil {
		return false, err
	}
	switch {
	case decision.action == leave:
		return false, nil
	case decision.runningOnly:
		return c.signal(ctx, jobKey(job), spec)
	case decision.action == ensure:
		running, err := c.Temporal.Start(ctx, start)
		if err != nil {
			return false, err
		}
		c.Metrics.sent("job-start", foundLabel[running])
		if !running || !decision.insist {
			return true, nil
		}
	}
	if err := c.Temporal.SignalWithStart(ctx, start, spec); err != nil {
		return false, err
	}
	c.Metrics.sent("job-spec", "any")
	return true, nil
}

const (
	// ttlQueue is the name upstream's TTL controller gives its queue.
	ttlQueue = "ttl_jobs_to_delete"
	// ttlWorkers is how many Jobs are looked at at a time, as upstream.
	ttlWorkers = 5
)

// expire queues a Job that is added or changed and that has a TTL. All that there is to know of it is in the object, so
// a new leader goes on where another stopped, and one more beside it does no harm.
func (c *controller) expire(job *batchv1.Job) {
	if c.expiring != nil && hasTTL(job) {
		c.expiring.Add(jobKey(job))
	}
}

// handleExpiring deletes a Job whose time is over, or returns when to look again.
func (c *controller) handleExpiring(ctx context.Context, item key) (again time.Duration, err error) {
	defer func() {
		if err != nil {
			c.Logger.Warn("finished Job not cleaned up, will be repeated", "namespace", item.Namespace, "name", item.Name,
				"failures", c.expiring.Failures(item)+1, "error", err)
		}
	}()
	decision, err := decideTTL(c.objects.job(item.NamespacedName), c.Clock.Now())
	if decision.skewed {
		c.Logger.Warn("Job has finished in the future, so clocks differ; it is cleaned up later", "namespace", item.Namespace, "name", item.Name)
	}
	if err != nil || decision.expired.IsZero() {
		return decision.again, err
	}
	// A call in progress when the process is told to stop may end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	// The TTL may have been changed, or the Job be another one, since.
	object, err := c.live(ctx, item)
	if err != nil {
		return 0, err
	}
	live, _ := object.(*batchv1.Job)
	if decision, err = decideTTL(live, c.Clock.Now()); err != nil || decision.expired.IsZero() {
		return decision.again, err
	}
	return 0, c.deleteExpired(ctx, live, decision.expired)
}

func (c *controller) deleteExpired(ctx context.Context, job *batchv1.Job, expired time.Time) error {
	err := c.Clients.Kubernetes.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationForeground),
		Preconditions:     metav1.NewUIDPreconditions(string(job.UID)),
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("delete Job %s/%s of UID %s: %w", job.Namespace, job.Name, job.UID, err)
	}
	c.Metrics.ttlDeletion.Observe(c.Clock.Since(expired).Seconds())
	c.Logger.Debug("deleted a Job whose TTL was over", "namespace", job.Namespace, "name", job.Name, "uid", job.UID)
	return nil
}
