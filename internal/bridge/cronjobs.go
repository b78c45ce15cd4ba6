package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// syncCronJob sends what a CronJob's workflow needs to hear, and of reminders what the
// turn allows.
func (c *controller) syncCronJob(ctx context.Context, item key, sweep bool, turn *turn) (time.Duration, error) {
	// In this order: what is gone by now is no longer in the cache.
	gone := c.memory.gone.get(item)
	cronJob := c.objects.cronJob(item)
	if cronJob == nil {
		if err := c.sayGone(ctx, item, gone...); err != nil {
			return 0, err
		}
		c.memory.gone.done(item, gone)
		c.memory.cronJobs.remove(item)
		c.memory.pruned.remove(item)
		return 0, nil
	}
	// A workflow of a deleted CronJob starts over with the spec of the new one.
	defer c.memory.gone.done(item, gone)

	known := c.memory.cronJobs.get(item).of(cronJob)
	reference := c.reference(cronJob)
	decision := decideCronJob(cronJob, reference, known, sweep, c.Config.OverdueGrace, c.Clock.Now())
	if err := c.endStale(ctx, cronJob, decision.stale); err != nil {
		return 0, err
	}
	if err := c.actOnCronJob(ctx, cronJob, decision.action, &known, turn); err != nil {
		return 0, err
	}
	if acknowledgedCronJob(cronJob, reference) {
		known.taken(cronJob)
	}
	again, err := c.closeRuns(ctx, cronJob, &known, turn)
	if err == nil {
		var later time.Duration
		later, err = c.mentionJobs(ctx, item, cronJob, &known, turn)
		again = earliest(again, later)
	}
	c.memory.cronJobs.put(item, known)
	return earliest(decision.again, again), errors.Join(err, c.writeConditions(ctx, item, cronJob))
}

// endStale ends a workflow that began before the built-in controller went on with the
// CronJob; another starts from the status that there is now.
func (c *controller) endStale(ctx context.Context, cronJob *ostinatov1.CronJob, before time.Time) error {
	if before.IsZero() {
		return nil
	}
	item := cronJobKey(cronJob)
	ended, err := c.Temporal.Terminate(ctx, c.workflowID(item), before,
		"kube-controller-manager has gone on with the CronJob since this workflow began; it starts anew from the CronJob's status")
	if ended {
		c.endedCronJob(item, "is behind the CronJob's status, started anew")
	}
	return err
}

// endedCronJob counts and logs the end of a workflow that the bridge has ended.
func (c *controller) endedCronJob(item key, why string) {
	c.Metrics.sent("cronjob-terminate", "running")
	c.Logger.Warn("terminated a CronJob's workflow", "namespace", item.Namespace, "name", item.Name, "why", why)
}

// actOnCronJob carries out a decision and remembers it.
func (c *controller) actOnCronJob(ctx context.Context, cronJob *ostinatov1.CronJob, action cronJobAction, known *cronJobMemory, turn *turn) error {
	now := c.Clock.Now()
	switch action {
	case leaveCronJob:
		return nil
	case ensureCronJob:
		_, err := c.ensure(ctx, cronJob)
		return err
	case pokeCronJob:
		if ok, err := turn.take(ctx); !ok || err != nil {
			return err
		}
	}
	start := c.messages.cronJobStart(cronJob)
	if err := c.Temporal.SignalWithStart(ctx, start, c.messages.cronJobSpec(cronJob, action == pokeCronJob)); err != nil {
		return err
	}
	if action == pokeCronJob {
		c.poked(cronJob, known, now)
		return nil
	}
	c.Metrics.sent("cronjob-spec", "any")
	known.generation, known.sent = cronJob.Generation, known.sentFor(cronJob).another(now)
	return nil
}

// poked records a poke. The first for a run is worth an Event.
func (c *controller) poked(cronJob *ostinatov1.CronJob, known *cronJobMemory, now time.Time) {
	next := cronJob.Status.NextScheduleTime.UTC()
	c.Metrics.sent("cronjob-overdue", "any")
	c.Metrics.pokes.Inc()
	pokes := known.pokesFor(cronJob)
	if pokes.times == 0 {
		c.Logger.Warn("run overdue, poked the workflow", "namespace", cronJob.Namespace, "name", cronJob.Name, "due", next)
		c.warn(cronJob, event.RunOverdue,
			fmt.Sprintf("The run due at %s has not started; asked its workflow to look at the clock", next.Format(time.RFC3339)))
	}
	known.overdue, known.pokes = next, pokes.another(now)
}

// closeRuns tells the workflow of runs that ended and that it still lists.
func (c *controller) closeRuns(ctx context.Context, cronJob *ostinatov1.CronJob, known *cronJobMemory, turn *turn) (time.Duration, error) {
	now := c.Clock.Now()
	known.closings = c.closings(cronJob, *known, now)
	var again time.Duration
	for i := range known.closings {
		run := &known.closings[i]
		due, wait := run.due(now)
		if !due {
			again = earliest(again, wait)
			continue
		}
		if run.grace > 0 {
			if ok, err := turn.take(ctx); err != nil {
				return 0, err
			} else if !ok {
				continue
			}
		}
		if run.result.Outcome == job.Deleted {
			live, err := c.liveJob(ctx, types.NamespacedName{Namespace: cronJob.Namespace, Name: run.name})
			if err != nil {
				return 0, err
			}
			if live != nil && string(live.UID) == run.uid {
				// The cache is behind status.
				run.since = now
				again = earliest(again, closedGrace)
				continue
			}
		}
		found, err := c.Temporal.Signal(ctx, c.workflowID(cronJobKey(cronJob)), c.messages.jobClosed(cronJob, *run))
		if err != nil {
			return 0, err
		}
		c.Metrics.sent("job-closed", foundLabel(found))
		run.sentAt = now
		again = earliest(again, closedRepeat)
	}
	return again, nil
}

func (c *controller) closings(cronJob *ostinatov1.CronJob, known cronJobMemory, now time.Time) []closing {
	return closingsOf(c.objects.owner, cronJob.Status.Active, known.closings, c.jobsIn(cronJob.Namespace), now)
}

// jobsIn finds the Jobs of a namespace by their names, nil where there is none.
func (c *controller) jobsIn(namespace string) func(name string) *batchv1.Job {
	return func(name string) *batchv1.Job {
		return c.objects.job(types.NamespacedName{Namespace: namespace, Name: name})
	}
}

// liveJob returns the Job that the API server has, since the cache may be behind; nil where
// there is none.
func (c *controller) liveJob(ctx context.Context, name types.NamespacedName) (*batchv1.Job, error) {
	live, err := c.Clients.Kubernetes.BatchV1().Jobs(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Job %s: %w", name, err)
	}
	return live, nil
}

// exists reports whether the API server has a key's object.
func (c *controller) exists(ctx context.Context, item key) (bool, error) {
	if item.kind == jobKind {
		live, err := c.liveJob(ctx, item.NamespacedName)
		return live != nil, err
	}
	_, err := c.cronJobStore(item.kind).Get(ctx, item.Namespace, item.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get CronJob %s: %w", item, err)
	}
	return true, nil
}

// cronJobStore is where the API server has the CronJobs of a kind.
func (c *controller) cronJobStore(kind kind) k8s.CronJobStore {
	if kind == nativeCronJobKind {
		return k8s.NativeCronJobs(c.Clients.Kubernetes)
	}
	return k8s.OwnCronJobs(c.Clients.CronJobs)
}

// earliest returns the shorter of two waits, of which 0 means none.
func earliest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
