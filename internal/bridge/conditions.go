package bridge

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
)

// writeConditions writes the bridge's conditions of a CronJob of ours that have changed, with an Event for each now True.
func (c *controller) writeConditions(ctx context.Context, item key, cronJob *ostinatov1.CronJob) error {
	if k8s.IsNative(cronJob) || cronJob.DeletionTimestamp != nil {
		return nil
	}
	// One apply has them all: a condition that it left out would be taken away. So would Ready, once it was written here.
	all := slices.DeleteFunc(slices.Clone(cronJob.Status.Conditions), func(condition metav1.Condition) bool {
		return !slices.Contains(schedule.BridgeConditionTypes, condition.Type) && condition.Type != ostinatov1.ConditionReady
	})
	var changed []metav1.Condition
	take := func(condition metav1.Condition, write bool) {
		if write {
			meta.SetStatusCondition(&all, condition)
			changed = append(changed, condition)
		}
	}
	if native, known := c.objects.namesake(item.NamespacedName); known {
		take(namesakeCondition(cronJob, native, c.Clock.Now()))
	}
	if paused := c.memory.paused.get(item); paused != "" {
		condition, write := pausedCondition(cronJob, c.workflowID(item), paused == metav1.ConditionTrue, c.Clock.Now())
		take(condition, write)
		take(readyCondition(cronJob, condition, c.Clock.Now()))
	}
	if runs, known := c.stuckRuns(cronJob); known {
		take(stuckCondition(cronJob, runs, c.Clock.Now()))
	}
	if len(changed) == 0 {
		return nil
	}
	err := k8s.ApplyCronJobConditions(ctx, c.Clients.CronJobs, cronJob, all...)
	if apierrors.IsConflict(err) {
		// The cache is behind.
		c.main.AddAfter(item, time.Second)
		return nil
	}
	if err != nil {
		return err
	}
	for _, condition := range changed {
		// Of a run that is stuck its Job has the Event, and of Ready the condition that it follows.
		if condition.Status == metav1.ConditionTrue && condition.Type != ostinatov1.ConditionRunStuck && condition.Type != ostinatov1.ConditionReady {
			c.warn(cronJob, condition.Reason, condition.Message)
		}
	}
	return nil
}

// namesakeChanged queues our CronJob of the name, if there is one.
func (c *controller) namesakeChanged(native *ostinatov1.CronJob) {
	item := keyOf(cronJobKind, native)
	if c.objects.cronJob(item) != nil {
		c.main.Add(item)
	}
}

// paused notes that an object's workflow is paused or pinned. A CronJob of ours gets a condition, others an Event.
func (c *controller) paused(item key) {
	if c.memory.paused.put(item, metav1.ConditionTrue) == metav1.ConditionTrue {
		return
	}
	c.Logger.Warn("the workflow is paused", "kind", item.kind, "namespace", item.Namespace, "name", item.Name)
	if item.kind == cronJobKind {
		c.main.Add(item)
	} else if object := c.objects.find(item); object != nil {
		c.warn(object, pausedReason, pausedAdvice(c.workflowID(item)))
	}
}

// countPaused counts the workflows that are paused, and forgets objects that are gone.
func (c *controller) countPaused() {
	count := map[string]int{}
	c.memory.paused.forget(func(item key, paused metav1.ConditionStatus) bool {
		over := c.isOver(item)
		if !over && paused == metav1.ConditionTrue {
			count[item.kind.word()]++
		}
		return over
	})
	for _, kind := range []kind{cronJobKind, jobKind} {
		c.Metrics.paused.WithLabelValues(kind.word()).Set(float64(count[kind.word()]))
	}
}
