package bridge

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
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
	decision := decideJob(c.objects.owner, found, known, sweep, c.Clock.Now())
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
