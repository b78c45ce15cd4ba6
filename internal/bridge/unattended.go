package bridge

import (
	"context"
	"fmt"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/job"
)

// Reasons of the Events on an object whose workflow had ended, or in whose place another ran.
const (
	restartedReason = event.WorkflowRestarted
	replacedReason  = event.WorkflowReplaced
)

// startedAnew returns the reason and the message of the Event on an object of a kind, CronJob
// or Job, whose workflow was started; found is what ran in its place.
func startedAnew(kind string, found holder.Standing) (reason, message string) {
	stop := "set spec.suspend or delete it"
	if found == holder.Foreign {
		return replacedReason, fmt.Sprintf("Another workflow ran in Temporal under the ID of the %s's; terminated it and started the %s's own. To stop the %s, %s", kind, kind, kind, stop)
	}
	return restartedReason, fmt.Sprintf("The %s's workflow in Temporal had ended before the %s did; started it anew. To stop the %s, %s", kind, kind, kind, stop)
}

// restartJob starts the workflow of a Job anew that no longer has one, when the
// API server confirms that the Job is under way: a workflow that did its work ends
// before the cache says that its Job has.
func (c *controller) restartJob(ctx context.Context, item key) error {
	item = item.to(follow)
	live, err := c.liveJob(ctx, item.NamespacedName)
	if err != nil || live == nil || !toAttend(c.objects.owner, live, c.memory.restartsOf(item), c.Clock.Now()) {
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
	c.memory.restarted(item, string(live.UID), c.Clock.Now())
	c.memory.putJob(item, &jobMemory{uid: string(live.UID), spec: job.SpecOf(live)})
	c.Logger.Warn("Job under way had no workflow, started one", "namespace", item.Namespace, "name", item.Name, "found", before)
	reason, message := startedAnew("Job", before)
	c.warn(live, reason, message)
	return nil
}

// restartCronJob is the same for a CronJob, when the API server confirms that it is there.
func (c *controller) restartCronJob(ctx context.Context, item key) error {
	item = item.to(follow)
	cronJob := c.objects.cronJob(item)
	if cronJob == nil || !toAttendCronJob(cronJob, c.memory.restartsOf(item), c.Clock.Now()) {
		return nil
	}
	if exists, err := c.exists(ctx, item); err != nil || !exists {
		return err
	}
	before, err := c.ensure(ctx, cronJob)
	if err != nil || before == holder.Ours || before == holder.Paused {
		return err
	}
	c.memory.restarted(item, string(cronJob.UID), c.Clock.Now())
	if before == holder.Foreign || acknowledgedCronJob(cronJob, c.reference(cronJob)) {
		reason, message := startedAnew("CronJob", before)
		c.warn(cronJob, reason, message)
	}
	return nil
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
