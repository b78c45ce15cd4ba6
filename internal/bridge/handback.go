package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

const drainRetry = time.Second

// syncForeignJob ends the workflow of a Job that another controller has, when the API server confirms it: take-over was
// given up, or the built-in controller ended the Job meanwhile. A Job that the other controller has not written yet is
// drained first. The Pods that are left keep their finalizers, which are the other controller's.
func (c *controller) syncForeignJob(ctx context.Context, item key) (again time.Duration, err error) {
	live, err := c.live(ctx, item)
	if err != nil {
		return 0, err
	}
	found, _ := live.(*batchv1.Job)
	if found == nil {
		c.handedBack(item)
		return 0, c.syncOrphan(ctx, item)
	}
	var why string
	if foreignJob(c.objects.owner, found) {
		why, err = c.letGo(ctx, item, found)
	}
	switch {
	case err != nil:
		return 0, err
	case why == "":
		c.handedBack(item)
		return 0, nil
	case c.memory.foreign.put(item, why) != why:
		c.Logger.Info("a Job is handed back later", "namespace", item.Namespace, "name", item.Name, "since", why)
	}
	return drainRetry, nil
}

// letGo ends the workflow of a foreign Job, or says why not yet.
func (c *controller) letGo(ctx context.Context, item key, found *batchv1.Job) (why string, err error) {
	asked := c.Clock.Now()
	workflow, err := c.Temporal.DescribeJob(ctx, c.workflowID(item))
	if err != nil || !workflow.Running {
		return "", err
	}
	uid := workflow.Description.Job.UID
	if uid != string(found.UID) {
		return "", c.sayGone(ctx, item, uid)
	}
	if _, theirs := builtInWroteLast(found); !theirs {
		if why := undrained(found, workflow); why != "" {
			return why, nil
		}
	}
	ended, err := c.terminate(ctx, item, asked, "another controller has the Job; its Pods are left as they are", "another controller has the Job")
	if err != nil || !ended {
		return "its workflow has ended or begun anew", err
	}
	return "", nil
}

// syncForeignCronJob ends the workflow of a CronJob that is the built-in controller's. There is nothing to drain: that
// controller goes on from the names of the Jobs and from the status, whatever the workflow has done of a plan.
func (c *controller) syncForeignCronJob(ctx context.Context, item key) error {
	// Whenever it began, by clocks that may differ.
	before := c.Clock.Now().Add(time.Hour)
	_, err := c.terminate(ctx, item, before, "CronJobs of batch/v1 are not taken over; its Jobs are left as they are", "is the built-in controller's")
	return err
}

// endStale ends a workflow that began before the built-in controller went on with its object. Another starts from the status.
func (c *controller) endStale(ctx context.Context, item key, before time.Time) error {
	if before.IsZero() {
		return nil
	}
	kind := item.kind.word()
	_, err := c.terminate(ctx, item, before,
		fmt.Sprintf("kube-controller-manager has gone on with the %s since this workflow began; it starts anew from the %s's status", kind, kind),
		fmt.Sprintf("is behind the %s's status, started anew", kind))
	return err
}

// terminate ends the workflow of an object that began before a time; reason is for Temporal, why for the log.
func (c *controller) terminate(ctx context.Context, item key, before time.Time, reason, why string) (ended bool, err error) {
	ended, err = c.Temporal.Terminate(ctx, c.workflowID(item), before, reason)
	if ended {
		c.Metrics.sent(strings.ToLower(item.kind.word())+"-terminate", "running")
		c.Logger.Warn("terminated a "+item.kind.word()+"'s workflow", "namespace", item.Namespace, "name", item.Name, "why", why)
	}
	return ended, err
}

func (c *controller) handBack(item key) {
	item = item.to(endForeign)
	c.memory.foreign.put(item, c.memory.foreign.get(item))
	c.Metrics.toHandBack.Set(float64(c.memory.foreign.len()))
	c.sweep.Add(item)
}

func (c *controller) handedBack(item key) {
	known, left := c.memory.foreign.remove(item), c.memory.foreign.len()
	c.Metrics.toHandBack.Set(float64(left))
	if known && left == 0 {
		c.Logger.Info("every Job that is another controller's is handed back")
	}
}
