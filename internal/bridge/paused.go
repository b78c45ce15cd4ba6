package bridge

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
)

// Reasons of the condition WorkflowPaused. The first is that of the Warning Event, too.
const (
	pausedReason   = event.WorkflowPaused
	unpausedReason = "WorkflowNotPaused"
)

// pausedAdvice is what the condition and the Events say.
func pausedAdvice(workflowID string) string {
	return fmt.Sprintf("Somebody has paused the workflow %s in Temporal, or pinned it to a build of the worker, so nothing of it is done: "+
		"unpause or unpin it there; to stop the object, set spec.suspend", workflowID)
}

// pausedCondition returns the condition WorkflowPaused of a CronJob of ours, and whether it
// has to be written.
func pausedCondition(cronJob *ostinatov1.CronJob, workflowID string, paused bool, now time.Time) (condition metav1.Condition, write bool) {
	condition = metav1.Condition{
		Type: ostinatov1.ConditionWorkflowPaused, Status: metav1.ConditionFalse,
		Reason: unpausedReason, Message: "The CronJob's workflow is not paused",
	}
	if paused {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, pausedReason, pausedAdvice(workflowID)
	}
	return renewed(cronJob, condition, now)
}

// paused notes that somebody has paused or pinned an object's workflow. It is left to that
// person. A CronJob of ours gets a condition, others an Event.
func (c *controller) paused(item key) {
	if c.memory.paused.put(item, metav1.ConditionTrue) == metav1.ConditionTrue {
		return
	}
	c.Logger.Warn("somebody has paused the workflow", "kind", item.kind, "namespace", item.Namespace, "name", item.Name)
	if item.kind == cronJobKind {
		c.main.Add(item)
	} else if object := c.objects.find(item); object != nil {
		c.warn(object, pausedReason, pausedAdvice(c.workflowID(item)))
	}
}

// countPaused counts the workflows that are paused, and forgets objects that are gone.
func (c *controller) countPaused() {
	count := map[kind]int{}
	c.memory.paused.retain(func(item key, paused metav1.ConditionStatus) bool {
		there := c.underWay(item)
		if there && paused == metav1.ConditionTrue {
			count[item.kind]++
		}
		return there
	})
	c.Metrics.paused.WithLabelValues("CronJob").Set(float64(count[cronJobKind] + count[nativeCronJobKind]))
	c.Metrics.paused.WithLabelValues("Job").Set(float64(count[jobKind]))
}
