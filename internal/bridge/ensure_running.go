package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/starts"
)

// makeRound looks for the workflows of CronJobs and of Jobs under way: a workflow that was cancelled, terminated,
// paused or replaced reports nothing. A round writes nothing. It reads the list of the workflows that run, and asks for
// those that are not in it: visibility may be behind, so only a description says that a workflow does not run.
func (c *controller) makeRound(ctx context.Context) {
	begun := c.Clock.Now()
	cronJobs, jobs := map[string]key{}, map[string]key{}
	c.objects.eachCronJob(func(object *ostinatov1.CronJob) {
		if item := cronJobKey(object); toEnsureCronJob(object, c.memory.restarts.get(item), begun) {
			cronJobs[c.workflowID(item)] = item
		}
	})
	c.objects.eachJob(func(object *batchv1.Job) {
		if item := jobKey(object); toEnsure(c.objects.owner, object, c.memory.restarts.get(item), begun) {
			jobs[c.workflowID(item)] = item
		}
	})
	err := errors.Join(
		// First those on which the others depend.
		c.ensureRunningOf(ctx, protocol.CronJobWorkflow, cronJobs, &c.cronJobsUpTo),
		c.ensureRunningOf(ctx, protocol.JobWorkflow, jobs, &c.jobsUpTo),
	)
	c.countPaused()
	if err != nil && ctx.Err() == nil {
		// The others are looked at in the next round.
		c.failed(err, "a round over CronJobs and the Jobs under way has not asked for all")
	}
	c.Metrics.ensureSeconds.Observe(c.Clock.Since(begun).Seconds())
}

// ensureRunningOf makes the part of a round that looks for the workflows of one type. It goes on after the ID upTo, and
// after a question that fails, unless so many fail in a row that Temporal does not answer at all.
func (c *controller) ensureRunningOf(ctx context.Context, workflowType string, due map[string]key, upTo *string) error {
	round := newEnsureRound(due)
	if round.wantsPage() {
		c.list(ctx, workflowType, round)
	}
	var ids []string
	ids, *upTo = round.toAsk(*upTo)
	var problem error
	failures := 0
	for _, id := range ids {
		if err := c.ensureLimiter.Wait(ctx); err != nil {
			return err
		}
		if err := c.ask(ctx, id, due[id]); err != nil {
			problem = err
			if failures++; failures == ensureFailures {
				break
			}
			continue
		}
		failures = 0
	}
	return problem
}

// list reads which workflows of a type run, as far as visibility knows. If it does not answer, each workflow is asked for.
func (c *controller) list(ctx context.Context, workflowType string, round *ensureRound) {
	ctx, cancel := context.WithTimeout(ctx, ensurePeriod)
	defer cancel()
	err := c.Temporal.Running(ctx, workflowType, func(page []string) bool {
		// Visibility does not know of a pin, and of a pause later: a workflow that was paused is asked for.
		page = slices.DeleteFunc(page, func(id string) bool { return c.memory.paused.get(round.due[id]) == metav1.ConditionTrue })
		for _, id := range page {
			if item, ok := round.due[id]; ok {
				c.runs(item)
			}
		}
		round.read(page)
		return round.wantsPage() && c.ensureLimiter.Wait(ctx) == nil
	})
	if err != nil {
		c.failed(err, "could not list the workflows, asking for each", "type", workflowType)
	}
}

func (c *controller) ask(ctx context.Context, workflowID string, item key) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := c.Temporal.Look(ctx, workflowID)
	switch {
	case err != nil:
		return err
	case found == holder.Ours:
		c.runs(item)
	case found == holder.Paused:
		c.paused(item)
	default:
		c.main.Add(item.to(restart))
	}
	return nil
}

// runs notes that an object's workflow runs: the last restart of it holds.
func (c *controller) runs(item key) {
	c.memory.restarts.remove(item)
	// Its condition may be an earlier leader's.
	if c.memory.paused.put(item, metav1.ConditionFalse) != metav1.ConditionFalse && item.kind == cronJobKind {
		c.main.Add(item)
	}
}

// restart starts the workflow of an object anew that no longer has one, when the API server confirms that the object is
// there, and a Job under way: a workflow that did its work ends before the cache says that its Job has.
func (c *controller) restart(ctx context.Context, item key) error {
	item = item.to(follow)
	live, err := c.live(ctx, item)
	if err != nil {
		return err
	}
	var start starts.Start
	known, now := c.memory.restarts.get(item), c.Clock.Now()
	cronJob, _ := live.(*ostinatov1.CronJob)
	object, _ := live.(*batchv1.Job)
	switch {
	case cronJob != nil && toEnsureCronJob(cronJob, known, now):
		start, _ = c.cronJobMessages(cronJob, false)
	case object != nil && toEnsure(c.objects.owner, object, known, now):
		start, _ = c.jobMessages(object)
	default:
		return nil
	}
	before, err := c.ensure(ctx, item, start)
	if err != nil || before == holder.Ours || before == holder.Paused {
		return err
	}
	if object != nil {
		c.memory.jobs.put(item, jobMemory{uid: string(object.UID), spec: job.SpecOf(object)})
	}
	c.restarted(item, live, before)
	return nil
}

// restarted remembers that an object's workflow was started anew, and says so on the object, unless it is a CronJob that
// was waiting for its first workflow; found is what ran before.
func (c *controller) restarted(item key, object metav1.Object, found holder.Standing) {
	c.memory.restarts.put(item, c.memory.restarts.get(item).at(object.GetUID()).another(c.Clock.Now()))
	cronJob, ok := object.(*ostinatov1.CronJob)
	if ok && found != holder.Foreign && !acknowledgedCronJob(cronJob, c.reference(cronJob)) {
		return
	}
	reason, what := event.WorkflowRestarted, "The %[1]s's workflow in Temporal had ended before the %[1]s did; started it anew. "
	if found == holder.Foreign {
		reason = event.WorkflowReplaced
		what = "Another workflow ran in Temporal under the ID of the %[1]s's; terminated it and started the %[1]s's own. "
	}
	c.warn(object, reason, fmt.Sprintf(what+"To stop the %[1]s, set spec.suspend or delete it", item.kind.word()))
}

// ensure starts the workflow of an object unless it runs, in place of what else does.
func (c *controller) ensure(ctx context.Context, item key, start starts.Start) (before holder.Standing, err error) {
	before, err = c.Temporal.Replace(ctx, start)
	if err != nil {
		return before, err
	}
	label := foundLabel[before != holder.Nobody]
	if before == holder.Foreign {
		label = foreignLabel
	}
	c.Metrics.sent(strings.ToLower(item.kind.word())+"-start", label)
	if before == holder.Nobody || before == holder.Foreign {
		c.Logger.Warn(item.kind.word()+" had no workflow, started one", "namespace", item.Namespace, "name", item.Name, "found", before)
	}
	return before, nil
}

// sweepAll puts every object into the sweep again: a workflow may have been terminated by hand or lost with Temporal's
// data. It forgets objects that are over: a Job may have ended while a message for it was under way.
func (c *controller) sweepAll(context.Context) {
	c.memory.jobs.forget(func(item key, _ jobMemory) bool { return c.isOver(item) })
	c.memory.restarts.forget(func(item key, _ restarts) bool { return c.isOver(item) })
	c.objects.eachCronJob(func(cronJob *ostinatov1.CronJob) { c.sweep.Add(cronJobKey(cronJob)) })
	c.objects.eachJob(func(job *batchv1.Job) {
		if !finished(job) {
			c.sweep.Add(jobKey(job))
		}
	})
}

// isOver reports whether the object is gone, or a Job that has finished.
func (c *controller) isOver(item key) bool {
	object := c.objects.find(item)
	job, ofJob := object.(*batchv1.Job)
	return object == nil || ofJob && finished(job)
}

// scan finds, when a leader has listed a namespace, running workflows of a kind whose object went away, or to another
// controller, before.
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
			if ok && nameable(item.NamespacedName) && c.objects.jobs.Of(namespace) != nil {
				c.judgeRunning(item)
			}
		}
		return true
	})
}

// judgeRunning queues what a running workflow needs whose object is not Ostinato's any more.
func (c *controller) judgeRunning(item key) {
	switch {
	case item.kind == nativeCronJobKind && !c.objects.owner.takeOver.CronJobs:
		c.sweep.Add(item.to(endForeign))
	case !c.objects.of[item.kind].Synced(item.Namespace):
		// Another scan comes.
	case c.objects.find(item) == nil:
		c.sweep.Add(item.to(endOrphan))
	case item.kind == jobKind && foreignJob(c.objects.owner, c.objects.job(item.NamespacedName)):
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
