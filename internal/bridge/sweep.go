package bridge

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
)

// sweepAll puts every object into the sweep again: a workflow may have been terminated by hand or lost with Temporal's
// data. It forgets objects that are over: a Job may have ended while a message for it was under way.
func (c *controller) sweepAll(context.Context) {
	c.memory.jobs.retain(func(item key, _ jobMemory) bool { return c.underWay(item) })
	c.memory.restarts.retain(func(item key, _ restarts) bool { return c.underWay(item) })
	c.objects.eachCronJob(func(cronJob *ostinatov1.CronJob) { c.sweep.Add(cronJobKey(cronJob)) })
	c.objects.eachJob(func(job *batchv1.Job) {
		if !finished(job) {
			c.sweep.Add(jobKey(job))
		}
	})
}

// underWay reports whether the object is a CronJob that is there, or a Job that has not finished.
func (c *controller) underWay(item key) bool {
	object := c.objects.find(item)
	job, ofJob := object.(*batchv1.Job)
	return object != nil && !(ofJob && finished(job))
}

// scan finds running workflows of a kind whose object went away, or to another controller,
// while nobody led, once for every leader.
func (c *controller) scan(ctx context.Context, kind kind) error {
	workflowType, parse := protocol.CronJobWorkflow, c.Config.Cluster.ParseCronJobWorkflowID
	switch kind {
	case nativeCronJobKind:
		parse = c.Config.Cluster.ParseNativeCronJobWorkflowID
	case jobKind:
		workflowType, parse = protocol.JobWorkflow, c.Config.Cluster.ParseJobWorkflowID
	}
	return c.Temporal.Running(ctx, workflowType, func(page []string) bool {
		for _, workflowID := range page {
			namespace, name, ok := parse(workflowID)
			item := keyOf(kind, &metav1.ObjectMeta{Namespace: namespace, Name: name})
			if ok && nameable(item.NamespacedName) && c.objects.jobs.of(namespace) != nil {
				c.judgeRunning(item)
			}
		}
		return true
	})
}

// judgeRunning queues what a running workflow needs whose object is not Ostinato's any more.
func (c *controller) judgeRunning(item key) {
	job := c.objects.job(item.NamespacedName)
	switch {
	case item.kind == nativeCronJobKind && !c.objects.owner.takeOver.CronJobs:
		c.sweep.Add(item.to(endForeign))
	case c.objects.find(item) == nil:
		c.sweep.Add(item.to(endOrphan))
	case item.kind == jobKind && foreignJob(c.objects.owner, job):
		c.handBack(item)
	}
}

// syncOrphan tells a workflow that its object is gone, when the API server confirms it. Visibility and the cache may
// both be behind. The workflow is asked for its object's UID, since nothing else knows it.
func (c *controller) syncOrphan(ctx context.Context, item key) error {
	if object, err := c.live(ctx, item); err != nil || object != nil {
		return err
	}
	workflowID := c.workflowID(item)
	uid, found, err := c.Temporal.ObjectUID(ctx, workflowID)
	if err != nil || !found {
		return err
	}
	c.Logger.Info("object of a running workflow is gone", "workflow", workflowID, "uid", uid)
	return c.sayGone(ctx, item, uid)
}

// nameable reports whether an object can have the namespace and name that a workflow ID holds.
func nameable(name types.NamespacedName) bool {
	return protocol.ObjectReference{Namespace: name.Namespace, Name: name.Name, UID: "any"}.Validate() == nil
}
