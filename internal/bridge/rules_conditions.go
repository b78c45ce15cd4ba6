package bridge

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/schedule"
)

// Reasons of the conditions of the CronJob itself. The first of each is that of the Warning Event, too.
const (
	namesakeActiveReason    = event.NativeCronJobActive
	namesakeSuspendedReason = "NativeCronJobSuspended"
	namesakeGoneReason      = "NoNativeCronJob"

	pausedReason   = event.WorkflowPaused
	unpausedReason = "WorkflowNotPaused"
)

// ConditionReasonsOf are the reasons of each of the bridge's conditions, and that which it gives to Ready.
var ConditionReasonsOf = map[string][]string{
	ostinatov1.ConditionNativeCronJobActive: {namesakeActiveReason, namesakeSuspendedReason, namesakeGoneReason},
	ostinatov1.ConditionWorkflowPaused:      {pausedReason, unpausedReason},
	ostinatov1.ConditionReady:               {pausedReason},
	ostinatov1.ConditionRunStuck:            append(slices.Clone(stuckReasons), notStuckReason),
}

// namesakeNoted is the status of the condition NativeCronJobActive, "" where there is none.
func namesakeNoted(cronJob *ostinatov1.CronJob) metav1.ConditionStatus {
	return ptr.Deref(meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionNativeCronJobActive), metav1.Condition{}).Status
}

// namesakeCondition returns the condition NativeCronJobActive, and whether to write it. native is the CronJob of batch/v1 with
// the same name, or nil.
func namesakeCondition(cronJob, native *ostinatov1.CronJob, now time.Time) (condition metav1.Condition, write bool) {
	condition = metav1.Condition{Type: ostinatov1.ConditionNativeCronJobActive, Status: metav1.ConditionFalse}
	switch {
	case native == nil || native.DeletionTimestamp != nil:
		condition.Reason, condition.Message = namesakeGoneReason, "There is no batch/v1 CronJob of the same name"
	case ptr.Deref(native.Spec.Suspend, false):
		condition.Reason, condition.Message = namesakeSuspendedReason, "The batch/v1 CronJob of the same name is suspended"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, namesakeActiveReason
		condition.Message = fmt.Sprintf("A batch/v1 CronJob of the same name is active, so the work may run twice: "+
			"delete it (kubectl -n %s delete cronjobs.batch %s --cascade=orphan, which leaves its Jobs) or suspend it", cronJob.Namespace, cronJob.Name)
	}
	return renewed(cronJob, condition, now)
}

// pausedAdvice is what the condition and the Events say.
func pausedAdvice(workflowID string) string {
	return fmt.Sprintf("The workflow %[1]s is paused in Temporal, or pinned to a build of the worker, so it does nothing: "+
		"unpause it (temporal workflow unpause --workflow-id %[1]s) or unpin it; to stop the object, set spec.suspend", workflowID)
}

// pausedCondition returns the condition WorkflowPaused of a CronJob of ours, and whether it has to be written.
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

// readyCondition returns the condition Ready of a CronJob whose workflow was paused at some time, and whether it has to be
// written. It is the worker's, which can't say that the workflow is paused, and which may write no status for days after it.
func readyCondition(cronJob *ostinatov1.CronJob, paused metav1.Condition, now time.Time) (condition metav1.Condition, write bool) {
	known := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionReady)
	switch {
	case known == nil:
		return metav1.Condition{}, false
	case paused.Status == metav1.ConditionTrue:
		condition = metav1.Condition{
			Type: ostinatov1.ConditionReady, Status: metav1.ConditionFalse, Reason: pausedReason, Message: paused.Message,
		}
	case known.Reason == pausedReason:
		condition = schedule.Ready(cronJob)
	default:
		return metav1.Condition{}, false
	}
	condition, write = renewed(cronJob, condition, now)
	condition.ObservedGeneration = known.ObservedGeneration
	return condition, write
}

// readyFollows reports whether Ready says of a pause what the condition WorkflowPaused does. An activity that is under way when
// its workflow is paused writes what it was given.
func readyFollows(cronJob *ostinatov1.CronJob) bool {
	ready := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionReady)
	paused := meta.IsStatusConditionTrue(cronJob.Status.Conditions, ostinatov1.ConditionWorkflowPaused)
	return ready == nil || paused == (ready.Reason == pausedReason)
}

// renewed completes a condition of a CronJob, and reports whether it has to be written: one that was never True is not.
func renewed(cronJob *ostinatov1.CronJob, condition metav1.Condition, now time.Time) (_ metav1.Condition, write bool) {
	condition.ObservedGeneration, condition.LastTransitionTime = cronJob.Generation, metav1.NewTime(now.Truncate(time.Second))
	known := meta.FindStatusCondition(cronJob.Status.Conditions, condition.Type)
	if known == nil {
		return condition, condition.Status == metav1.ConditionTrue
	}
	if known.Status == condition.Status {
		condition.LastTransitionTime = known.LastTransitionTime
	}
	return condition, known.Status != condition.Status || known.Reason != condition.Reason || known.Message != condition.Message
}
