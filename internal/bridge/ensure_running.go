package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// makeRound looks for the workflows of CronJobs and of Jobs under way: one that somebody has cancelled, terminated,
// paused or replaced tells nobody. A round writes nothing. It reads the list of the workflows that run, and asks for
// those that are not in it: visibility may be behind, so only a description says that a workflow does not run.
func (c *controller) makeRound(ctx context.Context) {
	begun := c.Clock.Now()
	if err := c.ensureRunning(ctx); err != nil && ctx.Err() == nil {
		// The others are looked at in the next round.
		c.failed(err, "a round over CronJobs and the Jobs under way has not asked for all")
	}
	c.Metrics.ensureSeconds.Observe(c.Clock.Since(begun).Seconds())
}

func (c *controller) ensureRunning(ctx context.Context) error {
	now := c.Clock.Now()
	cronJobs, jobs := map[string]key{}, map[string]key{}
	c.objects.eachCronJob(func(object *ostinatov1.CronJob) {
		if item := cronJobKey(object); toEnsureCronJob(object, c.memory.restarts.get(item), now) {
			cronJobs[c.workflowID(item)] = item
		}
	})
	c.objects.eachJob(func(object *batchv1.Job) {
		if item := jobKey(object); toEnsure(c.objects.owner, object, c.memory.restarts.get(item), now) {
			jobs[c.workflowID(item)] = item
		}
	})
	// First those on which the others depend.
	err := c.ensureRunningOf(ctx, protocol.CronJobWorkflow, cronJobs, &c.cronJobsUpTo)
	err = errors.Join(err, c.ensureRunningOf(ctx, protocol.JobWorkflow, jobs, &c.jobsUpTo))
	c.countPaused()
	return err
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

// list reads which workflows of a type run, as far as visibility knows. Where it does not
// answer, the workflows are asked for.
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
	if err != nil {
		return err
	}
	switch found {
	case holder.Ours:
		c.runs(item)
	case holder.Paused:
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
	var start Start
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

// restarted remembers that an object's workflow was started anew, and says so on the object,
// unless it is a CronJob that was waiting for its first workflow; found is what ran before.
func (c *controller) restarted(item key, object metav1.Object, found holder.Standing) {
	c.memory.restarts.put(item, c.memory.restarts.get(item).at(object.GetUID()).another(c.Clock.Now()))
	cronJob, ok := object.(*ostinatov1.CronJob)
	if ok && found != holder.Foreign && !acknowledgedCronJob(cronJob, c.reference(cronJob)) {
		return
	}
	kind := item.kind.word()
	stop := fmt.Sprintf("To stop the %s, set spec.suspend or delete it", kind)
	if found == holder.Foreign {
		c.warn(object, event.WorkflowReplaced, fmt.Sprintf(
			"Another workflow ran in Temporal under the ID of the %s's; terminated it and started the %s's own. %s", kind, kind, stop))
		return
	}
	c.warn(object, event.WorkflowRestarted, fmt.Sprintf(
		"The %s's workflow in Temporal had ended before the %s did; started it anew. %s", kind, kind, stop))
}

// ensure starts the workflow of an object unless it runs, in place of what else does.
func (c *controller) ensure(ctx context.Context, item key, start Start) (before holder.Standing, err error) {
	before, err = c.Temporal.Replace(ctx, start)
	if err != nil {
		return before, err
	}
	c.Metrics.sent(strings.ToLower(item.kind.word())+"-start", standingLabel(before))
	if before == holder.Nobody || before == holder.Foreign {
		c.Logger.Warn(item.kind.word()+" had no workflow, started one", "namespace", item.Namespace, "name", item.Name, "found", before)
	}
	return before, nil
}

const foreignLabel = "foreign"

// standingLabel is the value of the label "workflow" of the messages metric.
func standingLabel(found holder.Standing) string {
	if found == holder.Foreign {
		return foreignLabel
	}
	return foundLabel(found != holder.Nobody)
}
