package bridge

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// writeConditions writes the conditions of a CronJob of ours that are the bridge's, when one of them has
// changed, and emits an Event for each that has become True.
func (c *controller) writeConditions(ctx context.Context, item key, cronJob *ostinatov1.CronJob) error {
	if k8s.IsNative(cronJob) || cronJob.DeletionTimestamp != nil {
		return nil
	}
	// One apply has them all: a condition that it left out would be taken away.
	var all, changed []metav1.Condition
	take := func(kind string, known bool, judge func() (metav1.Condition, bool)) {
		before := meta.FindStatusCondition(cronJob.Status.Conditions, kind)
		if known {
			if condition, write := judge(); write {
				all, changed = append(all, condition), append(changed, condition)
				return
			}
		}
		if before != nil {
			all = append(all, *before)
		}
	}
	now := c.Clock.Now()
	native, known := c.objects.namesake(item.NamespacedName)
	take(ostinatov1.ConditionNativeCronJobActive, known, func() (metav1.Condition, bool) { return namesakeCondition(cronJob, native, now) })
	paused := c.memory.paused.get(item)
	take(ostinatov1.ConditionWorkflowPaused, paused != "", func() (metav1.Condition, bool) {
		return pausedCondition(cronJob, c.messages.cluster, paused == metav1.ConditionTrue, now)
	})
	if len(changed) == 0 {
		return nil
	}
	if err := k8s.ApplyCronJobConditions(ctx, c.Clients.CronJobs, cronJob, all...); err != nil {
		return err
	}
	for _, condition := range changed {
		if condition.Status == metav1.ConditionTrue {
			c.warn(cronJob, condition.Reason, condition.Message)
		}
	}
	return nil
}
