package bridge

import (
	"context"
	"slices"

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
	all := slices.DeleteFunc(slices.Clone(cronJob.Status.Conditions), func(condition metav1.Condition) bool {
		return condition.Type != ostinatov1.ConditionNativeCronJobActive && condition.Type != ostinatov1.ConditionWorkflowPaused
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
		take(pausedCondition(cronJob, c.workflowID(item), paused == metav1.ConditionTrue, c.Clock.Now()))
	}
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
