package bridge

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// mentionJobs asks a CronJob's workflow to look at Jobs that it may not know, as far as the
// turn allows, and says when to look for others.
func (c *controller) mentionJobs(ctx context.Context, item key, cronJob *ostinatov1.CronJob, known *cronJobMemory, turn *turn) (again time.Duration, err error) {
	jobs, now := c.objects.jobsOf(cronJob), c.Clock.Now()
	known.mentioned = mentionsOf(jobs, known.mentioned)
	due, again := unexpected(cronJob, jobs, known.mentioned, now)
	for _, job := range due {
		if ok, err := turn.take(ctx); !ok || err != nil {
			return again, err
		}
		if err := c.mentionJob(ctx, cronJob, job); err != nil {
			return 0, err
		}
		subject := subjectOf(job)
		known.mentioned[subject] = mention{known.mentioned[subject].another(now), cronJob.ResourceVersion}
		again = earliest(again, firstRepeat)
	}
	return again, c.mentionPruned(ctx, item, cronJob, jobs, turn)
}

// mentionJob asks a CronJob's workflow to look at a Job, unless the API server's CronJob
// lists it: the cache of CronJobs may be behind that of Jobs.
func (c *controller) mentionJob(ctx context.Context, cronJob *ostinatov1.CronJob, job *batchv1.Job) error {
	if !finished(job) {
		live, err := k8s.GetCronJob(ctx, c.cronJobStore(cronJobKey(cronJob).kind), cronJob.Namespace, cronJob.Name, cronJob.UID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(live.Status.Active, func(run corev1.ObjectReference) bool { return run.UID == job.UID }) {
			return nil
		}
	}
	return c.mention(ctx, cronJob, job.Name, job.UID)
}

// mentionPruned asks a CronJob's workflow to look at finished Jobs that others have
// deleted, once each, and forgets those that need nothing.
func (c *controller) mentionPruned(ctx context.Context, item key, cronJob *ostinatov1.CronJob, jobs []*batchv1.Job, turn *turn) error {
	deleted := c.memory.pruned.get(item)
	counted := prunedByOthers(cronJob, deleted, jobs)
	for i, one := range deleted {
		if slices.Contains(counted, one) {
			if ok, err := turn.take(ctx); !ok || err != nil {
				return err
			}
			if err := c.mention(ctx, cronJob, one.name, one.uid); err != nil {
				return err
			}
		}
		c.memory.pruned.done(item, deleted[i:i+1])
	}
	return nil
}

// mention asks a CronJob's workflow to look at the Job of a name and UID.
func (c *controller) mention(ctx context.Context, cronJob *ostinatov1.CronJob, name string, uid types.UID) error {
	found, err := c.Temporal.Signal(ctx, c.workflowID(cronJobKey(cronJob)), jobSeen(cronJob, name, uid))
	if err == nil {
		c.Metrics.sent("job-seen", foundLabel(found))
	}
	return err
}
