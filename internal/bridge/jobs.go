package bridge

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// syncJob sends what a Job's workflow needs to hear.
func (c *controller) syncJob(ctx context.Context, name types.NamespacedName, sweep bool) (time.Duration, error) {
	item := key{jobKind, name}
	job := c.objects.job(name)
	gone := c.memory.goneOf(item)
	if job == nil || !managed(job) || finished(job) {
		if err := c.sayGone(ctx, c.messages.cluster.JobWorkflowID(name.Namespace, name.Name), gone); err != nil {
			return 0, err
		}
		c.memory.goneSent(item, len(gone))
		c.memory.putJob(name, nil)
		return 0, nil
	}
	known := c.memory.job(name)
	if len(gone) > 0 && known.uid == "" {
		known.uid = gone[len(gone)-1]
	}
	decision := decideJob(job, known, sweep, c.clock.Now())
	reached, err := c.actOnJob(ctx, job, decision)
	if err != nil {
		return 0, err
	}
	// A workflow of a deleted Job starts over with the spec of the new one.
	c.memory.goneSent(item, len(gone))
	if !reached {
		return decision.again, nil
	}
	c.memory.putJob(name, &jobMemory{uid: string(job.UID), generation: job.Generation})
	return 0, nil
}

// actOnJob carries out a decision; reached reports whether a workflow has the
// Job's spec now.
func (c *controller) actOnJob(ctx context.Context, job *batchv1.Job, decision jobDecision) (reached bool, err error) {
	start, spec := c.messages.jobStart(job), c.messages.jobSpec(job)
	switch {
	case decision.action == leaveJob:
		return false, nil
	case decision.runningOnly:
		found, err := c.temporal.Signal(ctx, start.ID, spec)
		if err == nil {
			c.metrics.sent("job-spec", foundLabel(found))
		}
		return found, err
	case decision.action == startJob:
		running, err := c.temporal.Start(ctx, start)
		if err != nil {
			return false, err
		}
		c.metrics.sent("job-start", foundLabel(running))
		if !running || !decision.insist {
			return true, nil
		}
	}
	if err := c.temporal.SignalWithStart(ctx, start, spec); err != nil {
		return false, err
	}
	c.metrics.sent("job-spec", "any")
	return true, nil
}

// job returns what is remembered of a Job.
func (m *memory) job(name types.NamespacedName) jobMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.jobs[name]
}

// putJob remembers a Job; nil forgets it.
func (m *memory) putJob(name types.NamespacedName, known *jobMemory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known == nil {
		delete(m.jobs, name)
		return
	}
	m.jobs[name] = *known
}
