package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// syncCronJob sends what a CronJob's workflow needs to hear, and of reminders what the turn allows.
func (c *controller) syncCronJob(ctx context.Context, item key, sweep bool, turn *turn) (time.Duration, error) {
	// In this order: what is gone by now is no longer in the cache.
	gone := c.memory.gone.get(item)
	cronJob := c.objects.cronJob(item)
	if cronJob == nil {
		return 0, c.forget(ctx, item, gone)
	}
	// A workflow of a deleted CronJob starts over with the spec of the new one.
	defer c.memory.gone.done(item, gone)

	known := c.memory.cronJobs.get(item).of(cronJob)
	reference := c.reference(cronJob)
	now, run := c.Clock.Now(), c.objects.dueRun(cronJob)
	decision := decideCronJob(cronJob, reference, known, sweep, overdueCronJob(cronJob, run, c.Config.OverdueGrace, now), now)
	if err := c.endStale(ctx, item, decision.stale); err != nil {
		return 0, err
	}
	if err := c.actOnCronJob(ctx, cronJob, decision.action, run != nil, &known, turn); err != nil {
		return 0, err
	}
	if acknowledgedCronJob(cronJob, reference) {
		known.sent = known.sent.at(cronJob.Generation)
	}
	again, err := c.closeRuns(ctx, cronJob, &known, turn)
	if err == nil {
		var later time.Duration
		later, err = c.reportUnknownJobs(ctx, item, cronJob, &known, turn)
		again = earliest(again, later)
	}
	c.memory.cronJobs.put(item, known)
	return earliest(decision.again, again), errors.Join(err, c.writeConditions(ctx, item, cronJob))
}

// actOnCronJob carries out a decision and remembers it. started says that the run which is due has its Job.
func (c *controller) actOnCronJob(ctx context.Context, cronJob *ostinatov1.CronJob, action action, started bool, known *cronJobMemory, turn *turn) error {
	now := c.Clock.Now()
	start, spec := c.cronJobMessages(cronJob, action == nudge)
	switch action {
	case leave:
		return nil
	case ensure:
		_, err := c.ensure(ctx, cronJobKey(cronJob), start)
		return err
	case nudge:
		if ok, err := turn.take(ctx); !ok || err != nil {
			return err
		}
		// The cache may be behind.
		live, err := c.live(ctx, dueRunKey(cronJob))
		if job, ok := live.(*batchv1.Job); err != nil || !started && ok && claim.OfCronJob(job, cronJob.Name, cronJob.UID) {
			return err
		}
	}
	if err := c.Temporal.SignalWithStart(ctx, start, spec); err != nil {
		return err
	}
	if action == send {
		c.Metrics.sent("cronjob-spec", "any")
		known.sent = known.sent.at(cronJob.Generation).another(now)
		return nil
	}
	c.Metrics.sent("cronjob-overdue", "any")
	c.Metrics.nudges.Inc()
	nudges := known.nudgesFor(cronJob)
	if nudges.times == 0 && !started {
		// The first for a run is worth an Event.
		next := cronJob.Status.NextScheduleTime.UTC()
		c.Logger.Warn("run overdue, nudged the workflow", "namespace", cronJob.Namespace, "name", cronJob.Name, "due", next)
		c.warn(cronJob, event.RunOverdue,
			fmt.Sprintf("The run due at %s has not started; asked its workflow to look at the clock", next.Format(time.RFC3339)))
	}
	known.nudges = nudges.another(now)
	return nil
}

// closeRuns tells the workflow of runs that ended and that it still lists.
func (c *controller) closeRuns(ctx context.Context, cronJob *ostinatov1.CronJob, known *cronJobMemory, turn *turn) (time.Duration, error) {
	var again time.Duration
	now := c.Clock.Now()
	known.closings = c.objects.owner.closings(cronJob, known.closings, c.objects.job, now)
	for i := range known.closings {
		run := &known.closings[i]
		if wait := run.wait(now); wait > 0 {
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
		if run.deleted {
			live, err := c.live(ctx, keyOf(jobKind, &metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: run.name}))
			if err != nil {
				return 0, err
			}
			if live != nil && string(live.GetUID()) == run.uid {
				// The cache is behind status.
				run.since = now
				again = earliest(again, closedGrace)
				continue
			}
		}
		if err := c.report(ctx, cronJob, run.name, types.UID(run.uid)); err != nil {
			return 0, err
		}
		run.sentAt = now
		again = earliest(again, closedRepeat)
	}
	return again, nil
}

// live returns the object of a key that the API server has, since the cache may be behind; nil where there is none.
func (c *controller) live(ctx context.Context, item key) (object metav1.Object, err error) {
	if item.kind == jobKind {
		object, err = c.Clients.Kubernetes.BatchV1().Jobs(item.Namespace).Get(ctx, item.Name, metav1.GetOptions{})
	} else {
		object, err = c.cronJobStore(item.kind).Get(ctx, item.Namespace, item.Name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", item.kind.word(), item, err)
	}
	return object, nil
}

func (c *controller) cronJobStore(kind kind) k8s.CronJobStore {
	if kind == nativeCronJobKind {
		return k8s.NativeCronJobs(c.Clients.Kubernetes)
	}
	return k8s.OwnCronJobs(c.Clients.CronJobs)
}

// earliest returns the shorter of two waits; 0 means none.
func earliest(a, b time.Duration) time.Duration { return cmp.Or(min(a, b), max(a, b)) }

// reminderShare is the part of the sweep's rate that reminders may take.
const reminderShare = 0.1

// turn says whether a pass over a CronJob may send a reminder: of an overdue run, of a Job that status does not list,
// or of the end of a run that it lists. In a herd, and after an outage, all workflows are late and catch up by
// themselves, so reminders have their own queue and rate. A pass there sends one: namespaces share the rate.
type turn struct {
	// limiter is nil where the pass may send none, or no more.
	limiter flowcontrol.RateLimiter
	// wanted says that there is one more to send.
	wanted bool
}

// take waits until a reminder may be sent. It returns false where this pass may send none.
func (t *turn) take(ctx context.Context) (bool, error) {
	if t.limiter == nil {
		t.wanted = true
		return false, nil
	}
	limiter := t.limiter
	t.limiter = nil
	return true, limiter.Wait(ctx)
}

// reportUnknownJobs asks a workflow to look at Jobs it may not know, as the turn allows; again is when to look for others.
func (c *controller) reportUnknownJobs(ctx context.Context, item key, cronJob *ostinatov1.CronJob, known *cronJobMemory, turn *turn) (again time.Duration, err error) {
	jobs, now := c.objects.jobsOf(cronJob), c.Clock.Now()
	known.reported = known.reported.of(jobs)
	due, again := unexpected(cronJob, jobs, known.reported, now)
	for _, job := range due {
		if ok, err := turn.take(ctx); !ok || err != nil {
			return again, err
		}
		if err := c.reportUnknownJob(ctx, cronJob, job); err != nil {
			return 0, err
		}
		subject := subjectOf(job)
		report := known.reported[subject].another(now)
		report.of = cronJob.ResourceVersion
		known.reported[subject] = report
		again = earliest(again, firstRepeat)
	}
	return again, c.reportPruned(ctx, item, cronJob, jobs, turn)
}

// reportUnknownJob asks a workflow to look at a Job that the API server's CronJob does not list: that of the cache may lag.
func (c *controller) reportUnknownJob(ctx context.Context, cronJob *ostinatov1.CronJob, job *batchv1.Job) error {
	if !finished(job) {
		live, err := k8s.GetCronJob(ctx, c.cronJobStore(cronJobKey(cronJob).kind), cronJob.Namespace, cronJob.Name, cronJob.UID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(live.Status.Active, func(run corev1.ObjectReference) bool { return run.UID == job.UID }) {
			return nil
		}
	}
	return c.report(ctx, cronJob, job.Name, job.UID)
}

// reportPruned asks a workflow to look at finished Jobs that others have deleted, once each, and forgets the other ones.
func (c *controller) reportPruned(ctx context.Context, item key, cronJob *ostinatov1.CronJob, jobs []*batchv1.Job, turn *turn) error {
	deleted := c.memory.pruned.get(item)
	counted := prunedByOthers(cronJob, deleted, jobs)
	for i, one := range deleted {
		if slices.Contains(counted, one) {
			if ok, err := turn.take(ctx); !ok || err != nil {
				return err
			}
			if err := c.report(ctx, cronJob, one.name, one.uid); err != nil {
				return err
			}
		}
		c.memory.pruned.done(item, deleted[i:i+1])
	}
	return nil
}

func (c *controller) report(ctx context.Context, cronJob *ostinatov1.CronJob, name string, uid types.UID) error {
	seen := protocol.JobSeen{CronJobUID: string(cronJob.UID), Name: name, UID: string(uid)}
	_, err := c.signal(ctx, cronJobKey(cronJob), Signal{protocol.JobSeenSignal, seen})
	return err
}
