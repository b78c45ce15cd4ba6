package bridge

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/job"
)

// restartJob starts the workflow of a Job anew that no longer has one, when the
// API server confirms that the Job is under way: a workflow that did its work ends
// before the cache says that its Job has.
func (c *controller) restartJob(ctx context.Context, item key) error {
	item = item.to(follow)
	live, err := c.liveJob(ctx, item.NamespacedName)
	if err != nil || live == nil || !toAttend(c.objects.owner, live, c.memory.restarts.get(item), c.Clock.Now()) {
		return err
	}
	before, err := c.Temporal.Replace(ctx, c.messages.jobStart(live))
	if err != nil {
		return err
	}
	c.Metrics.sent("job-start", standingLabel(before))
	if before == holder.Ours || before == holder.Paused {
		return nil
	}
	c.memory.jobs.put(item, jobMemory{uid: string(live.UID), spec: job.SpecOf(live)})
	c.Logger.Warn("Job under way had no workflow, started one", "namespace", item.Namespace, "name", item.Name, "found", before)
	c.restarted(item, live, before)
	return nil
}

// restartCronJob is the same for a CronJob, when the API server confirms that it is there.
func (c *controller) restartCronJob(ctx context.Context, item key) error {
	item = item.to(follow)
	cronJob := c.objects.cronJob(item)
	if cronJob == nil || !toAttendCronJob(cronJob, c.memory.restarts.get(item), c.Clock.Now()) {
		return nil
	}
	if exists, err := c.exists(ctx, item); err != nil || !exists {
		return err
	}
	before, err := c.ensure(ctx, cronJob)
	if err != nil || before == holder.Ours || before == holder.Paused {
		return err
	}
	c.restarted(item, cronJob, before)
	return nil
}

// restarted remembers that an object's workflow was started anew, and says so on the object,
// unless it is a CronJob that was waiting for its first workflow; found is what ran before.
func (c *controller) restarted(item key, object metav1.Object, found holder.Standing) {
	c.memory.restarts.put(item, c.memory.restarts.get(item).another(string(object.GetUID()), c.Clock.Now()))
	kind := "Job"
	if cronJob, ok := object.(*ostinatov1.CronJob); ok {
		kind = "CronJob"
		if found != holder.Foreign && !acknowledgedCronJob(cronJob, c.reference(cronJob)) {
			return
		}
	}
	stop := fmt.Sprintf("To stop the %s, set spec.suspend or delete it", kind)
	if found == holder.Foreign {
		c.warn(object, event.WorkflowReplaced, fmt.Sprintf(
			"Another workflow ran in Temporal under the ID of the %s's; terminated it and started the %s's own. %s", kind, kind, stop))
		return
	}
	c.warn(object, event.WorkflowRestarted, fmt.Sprintf(
		"The %s's workflow in Temporal had ended before the %s did; started it anew. %s", kind, kind, stop))
}

// ensure starts the workflow of a CronJob unless it runs, in place of what else does.
func (c *controller) ensure(ctx context.Context, cronJob *ostinatov1.CronJob) (before holder.Standing, err error) {
	before, err = c.Temporal.Replace(ctx, c.messages.cronJobStart(cronJob))
	if err != nil {
		return before, err
	}
	c.Metrics.sent("cronjob-start", standingLabel(before))
	if before == holder.Nobody || before == holder.Foreign {
		c.Logger.Warn("CronJob had no workflow, started one", "namespace", cronJob.Namespace, "name", cronJob.Name, "found", before)
	}
	return before, nil
}

// foreignLabel stands for a workflow that was not Ostinato's.
const foreignLabel = "foreign"

// standingLabel is the value of the label "workflow" of the messages metric.
func standingLabel(found holder.Standing) string {
	if found == holder.Foreign {
		return foreignLabel
	}
	return foundLabel(found != holder.Nobody)
}
