package bridge

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
)

// mention is a Job at which a CronJob's workflow was asked to look, as one under way or
// as one that has ended.
type mention struct {
	uid   types.UID
	ended bool
}

// pruned is a finished Job that was deleted.
type pruned struct {
	name      string
	uid       types.UID
	condition batchv1.JobConditionType
}

// unexpected are the Jobs that a CronJob controls and of which its workflow may not know
// (parity 1.6, step 3): those under way that status does not list and that have had time
// to get there, and those that somebody has made by hand, as "kubectl create job --from"
// does, and that have ended. Those that a run has made have had time after the grace;
// again is when the next of them has, 0 where there is none.
func unexpected(cronJob *ostinatov1.CronJob, jobs []*batchv1.Job, grace time.Duration, now time.Time) (underWay, ended []*batchv1.Job, again time.Duration) {
	for _, job := range jobs {
		listed := slices.ContainsFunc(cronJob.Status.Active, func(active corev1.ObjectReference) bool { return active.UID == job.UID })
		switch {
		case listed:
		case finished(job):
			if !ofARun(job) {
				ended = append(ended, job)
			}
		default:
			wait := closedGrace
			if ofARun(job) {
				wait = grace
			}
			if wait -= now.Sub(job.CreationTimestamp.Time); wait <= 0 {
				underWay = append(underWay, job)
			} else {
				again = earliest(again, wait)
			}
		}
	}
	return underWay, ended, again
}

// prunedByOthers are the deleted Jobs that the workflow may still count for a history
// limit. Its own deletes leave as many Jobs as the limit allows.
func prunedByOthers(cronJob *ostinatov1.CronJob, deleted []pruned, jobs []*batchv1.Job) []pruned {
	left := map[batchv1.JobConditionType]int32{}
	for _, job := range jobs {
		if condition := claim.Finished(job); condition != nil {
			left[condition.Type]++
		}
	}
	spec := schedule.SpecOf(cronJob)
	return slices.DeleteFunc(slices.Clone(deleted), func(one pruned) bool { return left[one.condition] >= spec.HistoryLimit(one.condition) })
}

// mentionJobs asks a CronJob's workflow to look at Jobs of which it may not know, once
// each, and says when to look for others.
func (c *controller) mentionJobs(ctx context.Context, item key, cronJob *ostinatov1.CronJob, known *cronJobMemory) (again time.Duration, err error) {
	jobs := c.objects.jobsOf(cronJob)
	now := c.clock.Now()
	grace := closedGrace + c.behind.worstOf(now)
	underWay, ended, again := unexpected(cronJob, jobs, grace, now)
	known.mentioned = slices.DeleteFunc(known.mentioned, func(one mention) bool {
		return !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job.UID == one.uid })
	})
	for _, job := range slices.Concat(underWay, ended) {
		news := mention{uid: job.UID, ended: finished(job)}
		if slices.Contains(known.mentioned, news) {
			continue
		}
		if !news.ended {
			// The cache of CronJobs may be behind that of Jobs.
			live, err := k8s.GetCronJob(ctx, c.cronJobStore(cronJob), cronJob.Namespace, cronJob.Name, cronJob.UID)
			if err != nil {
				return 0, err
			}
			if confirmed, _, _ := unexpected(live, []*batchv1.Job{job}, grace, now); len(confirmed) == 0 {
				continue
			}
		}
		if err := c.mention(ctx, cronJob, job.Name, job.UID); err != nil {
			return 0, err
		}
		known.mentioned = append(known.mentioned, news)
	}
	deleted := c.memory.prunedOf(item)
	for _, one := range prunedByOthers(cronJob, deleted, jobs) {
		if err := c.mention(ctx, cronJob, one.name, one.uid); err != nil {
			return 0, err
		}
	}
	c.memory.prunedSeen(item, len(deleted))
	return again, nil
}

// mention asks a CronJob's workflow to look at a Job.
func (c *controller) mention(ctx context.Context, cronJob *ostinatov1.CronJob, name string, uid types.UID) error {
	found, err := c.temporal.Signal(ctx, cronJobReference(cronJob).CronJobWorkflowID(c.messages.cluster), jobSeen(cronJob, name, uid))
	if err == nil {
		c.metrics.sent("job-seen", foundLabel(found))
	}
	return err
}

// cronJobStore is where the API server has the CronJob.
func (c *controller) cronJobStore(cronJob *ostinatov1.CronJob) k8s.CronJobStore {
	if k8s.IsNative(cronJob) {
		return k8s.NativeCronJobs(c.clients.Kubernetes)
	}
	return k8s.OwnCronJobs(c.clients.CronJobs)
}
