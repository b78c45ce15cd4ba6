package bridge

import (
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/protocol"
)

// attendRegularly makes rounds over the CronJobs and the Jobs under way: a workflow that
// somebody has cancelled, terminated, paused or replaced tells nobody. A round writes nothing.
// It reads the list of the workflows that run, and asks for those that are not in it:
// visibility may be behind, so only a description says that a workflow does not run.
func (c *controller) attendRegularly(ctx context.Context) {
	ticker := c.Clock.NewTicker(attendPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		begun := c.Clock.Now()
		if err := c.attend(ctx); err != nil && ctx.Err() == nil {
			// The others are looked at in the next round.
			c.Metrics.errors.WithLabelValues(errorClass(err)).Inc()
			c.Logger.Warn("a round over CronJobs and the Jobs under way has not asked for all", "class", errorClass(err), "error", err)
		}
		c.Metrics.attendSeconds.Observe(c.Clock.Since(begun).Seconds())
	}
}

// attend makes one round.
func (c *controller) attend(ctx context.Context) error {
	now := c.Clock.Now()
	cronJobs, jobs := map[string]key{}, map[string]key{}
	c.objects.eachCronJob(func(object *ostinatov1.CronJob) {
		if item := cronJobKey(object); toAttendCronJob(object, c.memory.restarts.get(item), now) {
			cronJobs[c.workflowID(item)] = item
		}
	})
	c.objects.eachJob(func(object *batchv1.Job) {
		if item := jobKey(object); toAttend(c.objects.owner, object, c.memory.restarts.get(item), now) {
			jobs[c.workflowID(item)] = item
		}
	})
	// First those on which the others depend.
	err := c.attendTo(ctx, protocol.CronJobWorkflow, cronJobs, &c.cronJobsUpTo)
	err = errors.Join(err, c.attendTo(ctx, protocol.JobWorkflow, jobs, &c.jobsUpTo))
	c.countPaused()
	return err
}

// attendTo makes the part of a round that looks for the workflows of one type. It goes on
// after the ID upTo, and after a question that fails, unless so many fail in a row that
// Temporal does not answer at all.
func (c *controller) attendTo(ctx context.Context, workflowType string, due map[string]key, upTo *string) error {
	round := newAttendance(due)
	if round.wantsPage() {
		c.list(ctx, workflowType, round)
	}
	var ids []string
	ids, *upTo = round.toAsk(*upTo)
	var problem error
	failures := 0
	for _, id := range ids {
		if err := c.attendLimiter.Wait(ctx); err != nil {
			return err
		}
		if err := c.ask(ctx, id, due[id]); err != nil {
			problem = err
			if failures++; failures == attendFailures {
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
func (c *controller) list(ctx context.Context, workflowType string, round *attendance) {
	ctx, cancel := context.WithTimeout(ctx, attendPeriod)
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
		return round.wantsPage() && c.attendLimiter.Wait(ctx) == nil
	})
	if err != nil {
		c.Metrics.errors.WithLabelValues(errorClass(err)).Inc()
		c.Logger.Warn("could not list the workflows, asking for each", "type", workflowType, "class", errorClass(err), "error", err)
	}
}

// ask asks what runs under the ID of an object's workflow.
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
