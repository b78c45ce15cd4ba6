package bridge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// Reasons of the Events on an object whose workflow had ended, or in whose place another ran.
const (
	restartedReason = event.WorkflowRestarted
	replacedReason  = event.WorkflowReplaced
)

// unattended maps the kind of an object to that of its key when its workflow does not run.
var unattended = map[kind]kind{
	jobKind:           unattendedJobKind,
	cronJobKind:       unattendedCronJobKind,
	nativeCronJobKind: unattendedNativeCronJobKind,
}

// startedAnew returns the reason and the message of the Event on an object of a kind, CronJob
// or Job, whose workflow was started; found is what ran in its place.
func startedAnew(kind string, found holder.Standing) (reason, message string) {
	stop := "set spec.suspend or delete it"
	if found == holder.Foreign {
		return replacedReason, fmt.Sprintf("Another workflow ran in Temporal under the ID of the %s's; terminated it and started the %s's own. To stop the %s, %s", kind, kind, kind, stop)
	}
	return restartedReason, fmt.Sprintf("The %s's workflow in Temporal had ended before the %s did; started it anew. To stop the %s, %s", kind, kind, kind, stop)
}

// syncUnattended starts the workflow of a Job anew that no longer has one, when the
// API server confirms that the Job is under way: a workflow that did its work ends
// before the cache says that its Job has.
func (c *controller) syncUnattended(ctx context.Context, name types.NamespacedName) error {
	found, err := c.liveJob(ctx, name)
	if err != nil || found == nil {
		return err
	}
	item := jobKey(found)
	if !toAttend(c.objects.owner, found, c.memory.restartsOf(item), c.Clock.Now()) {
		return nil
	}
	before, err := c.Temporal.Replace(ctx, c.messages.jobStart(found))
	if err != nil {
		return err
	}
	c.Metrics.sent("job-start", standingLabel(before))
	if before == holder.Ours || before == holder.Paused {
		return nil
	}
	c.memory.restarted(item, string(found.UID), c.Clock.Now())
	c.memory.putJob(name, &jobMemory{uid: string(found.UID), spec: job.SpecOf(found)})
	c.Logger.Warn("Job under way had no workflow, started one", "namespace", name.Namespace, "name", name.Name, "found", before)
	reason, message := startedAnew("Job", before)
	c.Recorder.Event(jobEventReference(found), corev1.EventTypeWarning, reason, message)
	return nil
}

// syncUnattendedCronJob is the same for a CronJob, when the API server confirms that it is there.
func (c *controller) syncUnattendedCronJob(ctx context.Context, item key) error {
	object, store := key{cronJobKind, item.NamespacedName}, k8s.OwnCronJobs(c.Clients.CronJobs)
	if item.kind == unattendedNativeCronJobKind {
		object, store = key{nativeCronJobKind, item.NamespacedName}, k8s.NativeCronJobs(c.Clients.Kubernetes)
	}
	cronJob := c.objects.cronJob(object)
	if cronJob == nil || !toAttendCronJob(cronJob, c.memory.restartsOf(object), c.Clock.Now()) {
		return nil
	}
	if exists, err := c.cronJobExists(ctx, store, item.NamespacedName); err != nil || !exists {
		return err
	}
	before, err := c.ensure(ctx, cronJob)
	if err != nil || before == holder.Ours || before == holder.Paused {
		return err
	}
	c.memory.restarted(object, string(cronJob.UID), c.Clock.Now())
	if before == holder.Foreign || acknowledgedCronJob(cronJob, c.reference(cronJob)) {
		reason, message := startedAnew("CronJob", before)
		c.Recorder.Event(eventReference(cronJob), corev1.EventTypeWarning, reason, message)
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
