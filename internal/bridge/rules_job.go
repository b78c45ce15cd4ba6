package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// childGrace is how long a CronJob's workflow has to start the workflow of a Job
// it created before the bridge does. It covers an API server that answers
// slowly: a Job that the bridge starts is no child in the Temporal UI, and its
// end is brought to the CronJob by signal.
const childGrace = time.Minute

// childRetry is when to look again for the workflow of a Job that was edited
// within childGrace.
const childRetry = time.Second

// jobMemory is what the bridge remembers of a Job while it leads. Losing it
// costs repeated messages only.
type jobMemory struct {
	// uid and generation are those last sent; empty before the first.
	uid        string
	generation int64
}

// jobAction says what to send for a Job.
type jobAction string

const (
	// leaveJob: nothing.
	leaveJob jobAction = "leave"
	// startJob: a start that does nothing when the workflow runs.
	startJob jobAction = "start"
	// sendJob: the spec, by signal with start.
	sendJob jobAction = "send"
)

// jobDecision is what to do for a Job now, and when to look again at the latest;
// 0 means at the next change.
type jobDecision struct {
	action jobAction
	again  time.Duration
	// runningOnly asks to send the spec only to a workflow that runs: the CronJob's
	// workflow is about to start it.
	runningOnly bool
	// insist asks to send the spec when a start meets a running workflow: it may
	// be that of a Job of the same name that is gone.
	insist bool
}

// decideJob decides what to send for a Job that exists. A Job that is not
// Ostinato's, or that has finished, needs nothing. Nothing tells which
// generation a Job's workflow has taken, so the first message after leader start
// for a Job that was ever edited is its spec. With sweep, a Job that needs
// nothing is started, since its workflow may have been lost.
func decideJob(job *batchv1.Job, memory jobMemory, sweep bool, now time.Time) jobDecision {
	if !managed(job) || finished(job) {
		return jobDecision{action: leaveJob}
	}
	known := memory.uid == string(job.UID)
	// The CronJob's workflow starts it as its child.
	grace := childGrace - now.Sub(job.CreationTimestamp.Time)
	expected := ownerCronJob(job) != nil && !known && !acknowledgedJob(job) && grace > 0
	switch {
	case memory.uid != "" && !known:
		// Re-created under its name: a workflow of the old Job may still run.
		return jobDecision{action: sendJob}
	case known && job.Generation > memory.generation:
		return jobDecision{action: sendJob}
	case known && !sweep:
		return jobDecision{action: leaveJob}
	case expected && job.Generation > 1:
		return jobDecision{action: sendJob, runningOnly: true, again: childRetry}
	case expected:
		return jobDecision{action: leaveJob, again: grace}
	case !known && job.Generation > 1:
		return jobDecision{action: sendJob}
	}
	if owned := ownerCronJob(job) != nil; owned && !known {
		if acknowledgedJob(job) && !sweep {
			return jobDecision{action: leaveJob}
		}
		return jobDecision{action: startJob}
	}
	return jobDecision{action: startJob, insist: !known && !acknowledgedJob(job)}
}

// managed reports whether the Job is Ostinato's.
func managed(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy == names.JobController
}

// finished reports whether the Job has condition Complete or Failed.
func finished(job *batchv1.Job) bool {
	return terminalCondition(job) != nil
}

func terminalCondition(job *batchv1.Job) *batchv1.JobCondition {
	index := slices.IndexFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) && condition.Status == corev1.ConditionTrue
	})
	if index < 0 {
		return nil
	}
	return &job.Status.Conditions[index]
}

// acknowledgedJob reports whether a workflow of this very Job has written its
// status: it has a start time, or was found suspended.
func acknowledgedJob(job *batchv1.Job) bool {
	return job.Status.StartTime != nil || slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobSuspended
	})
}

// ownerCronJob returns the owner reference to the CronJob of batch.ostinato.dev
// that controls the Job, or nil.
func ownerCronJob(job *batchv1.Job) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || owner.Kind != ostinatov1.CronJobKind.Kind || owner.APIVersion != ostinatov1.GroupVersion.String() {
		return nil
	}
	return owner
}
