package bridge

import (
	"errors"
	"reflect"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// childGrace is how long a CronJob's workflow has to start the workflow of a Job it created.
// After that the bridge does: its Job is no child in the Temporal UI, and its end is brought
// to the CronJob by signal.
const childGrace = time.Minute

// childRetry is when to look again for the workflow of a Job that was edited
// within childGrace.
const childRetry = time.Second

// jobMemory is what the bridge remembers of a Job. Losing it costs repeated messages only.
type jobMemory struct {
	// uid and spec are those last sent; empty before the first.
	uid  string
	spec job.Spec
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
	// taken says that the Job's workflow has this spec already.
	taken bool
	// stale asks to end a workflow that began before this time, since the built-in controller
	// has gone on with the Job; zero asks for nothing.
	stale time.Time
}

// decideJob decides what to send for a Job that exists. Nothing says which spec a Job's
// workflow has taken, so the first message after leader start for a Job that may have been
// edited is its spec. With sweep, a Job of ours that needs nothing is started, since its
// workflow may have been lost.
func decideJob(owner ownership, object *batchv1.Job, memory jobMemory, sweep bool, now time.Time) jobDecision {
	decision := decideMessage(owner, object, memory, sweep, now)
	if before, last := builtInWroteLast(object); last && decision.action != leaveJob && memory.uid != string(object.UID) {
		decision.stale = before
	}
	return decision
}

func decideMessage(owner ownership, object *batchv1.Job, memory jobMemory, sweep bool, now time.Time) jobDecision {
	if !owner.ours(object) || finished(object) {
		return jobDecision{action: leaveJob}
	}
	known := memory.uid == string(object.UID)
	acknowledged := acknowledgedJob(object)
	edited := object.Generation > 1 || acknowledged && settings(object)
	// The CronJob's workflow starts it as its child, where that has created it.
	grace := childGrace - now.Sub(object.CreationTimestamp.Time)
	_, theirs := builtInWroteLast(object)
	_, owned := owner.cronJobOf(object)
	expected := owned && ofARun(object) && !theirs && !known && !acknowledged && grace > 0
	switch {
	case memory.uid != "" && !known:
		// Re-created under its name: a workflow of the old Job may still run.
		return jobDecision{action: sendJob}
	case known && changed(memory.spec, job.SpecOf(object)):
		return jobDecision{action: sendJob}
	case known && !sweep:
		return jobDecision{action: leaveJob}
	case expected && edited:
		return jobDecision{action: sendJob, runningOnly: true, again: childRetry}
	case expected:
		return jobDecision{action: leaveJob, again: grace}
	case !known && edited:
		return jobDecision{action: sendJob}
	}
	if owned && !known {
		if acknowledged && !sweep {
			return jobDecision{action: leaveJob, taken: true}
		}
		return jobDecision{action: startJob}
	}
	return jobDecision{action: startJob, insist: !known && !acknowledged}
}

// ofARun reports whether a controller has made the Job for a run of its CronJob. One
// that "kubectl create job --from" has made is the CronJob's too, and says no time.
func ofARun(job *batchv1.Job) bool {
	_, ok := job.Annotations[names.ScheduledTimestampAnnotation]
	return ok
}

// settingAnnotations change what a Job's workflow does. Their edits leave the
// generation as it is.
var settingAnnotations = []string{names.PendingDeadlineAnnotation, names.BackoffBaseAnnotation, names.BackoffCapAnnotation}

// settings reports whether the Job has such annotations of its own.
func settings(job *batchv1.Job) bool {
	return slices.ContainsFunc(settingAnnotations, func(annotation string) bool {
		_, ok := job.Annotations[annotation]
		return ok
	})
}

// changed reports whether what a workflow goes by differs: a setting, or the generation,
// which is earlier where the API server's data was restored.
func changed(before, after job.Spec) bool { return !reflect.DeepEqual(before, after) }

// finished reports whether the Job has condition Complete or Failed.
func finished(job *batchv1.Job) bool {
	return claim.Finished(job) != nil
}

// acknowledgedJob reports whether a workflow of this very Job has written its
// status: it has a start time, or was found suspended. That of a Job taken over
// may be the built-in controller's, so there the API server's notes count.
func acknowledgedJob(job *batchv1.Job) bool {
	written := job.Status.StartTime != nil || slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobSuspended
	})
	if _, last := builtInWroteLast(job); last {
		return false
	}
	return written && (claim.Ours(job, false) || statusWrite(job, k8s.JobFieldManager) != nil)
}

// strayJob reports whether a workflow has no business with the Job any more: it
// is not Ostinato's, or the built-in controller has finished it.
func strayJob(owner ownership, job *batchv1.Job) bool {
	if !owner.ours(job) {
		return true
	}
	_, last := builtInWroteLast(job)
	return last && finished(job)
}

// errNoFinishTime means that a finished Job's condition has no lastTransitionTime.
var errNoFinishTime = errors.New("the Job's terminal condition has no lastTransitionTime, so the end of its TTL is unknown")

// ttlDecision says what spec.ttlSecondsAfterFinished asks for now.
type ttlDecision struct {
	// expired is when the Job's time was over: it is to be deleted. Zero before,
	// and for a Job that stays.
	expired time.Time
	// again is when to look again; 0 means at the next change.
	again time.Duration
	// skewed is set when the Job has finished in the future, by this clock.
	skewed bool
}

// hasTTL reports whether the Job is to be deleted some time: it has finished, has
// a TTL, and is not being deleted (parity 2.15). Who manages it does not matter.
func hasTTL(job *batchv1.Job) bool {
	return job.Spec.TTLSecondsAfterFinished != nil && job.DeletionTimestamp == nil && finished(job)
}

// decideTTL decides whether a Job has outlived its TTL. The error is
// errNoFinishTime; another look may tell more.
func decideTTL(job *batchv1.Job, now time.Time) (ttlDecision, error) {
	if !hasTTL(job) {
		return ttlDecision{}, nil
	}
	finishedAt := claim.Finished(job).LastTransitionTime
	if finishedAt.IsZero() {
		return ttlDecision{}, errNoFinishTime
	}
	decision := ttlDecision{skewed: finishedAt.After(now)}
	end := finishedAt.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second)
	if decision.again = end.Sub(now); decision.again <= 0 {
		decision.expired, decision.again = end, 0
	}
	return decision, nil
}

// undrained says why a Job that is handed back is not to be let go yet; empty means that it
// may be. The controller that gets it goes by the status alone, and would count a Pod again
// that still carries the tracking finalizer. So nothing may be under way, and what is counted
// must be released.
func undrained(object *batchv1.Job, workflow JobWorkflow) string {
	known, written := workflow.Description.Status, object.Status
	switch {
	case workflow.AtWork:
		return "its workflow is at work"
	case known.Succeeded != written.Succeeded || known.Failed != written.Failed || known.CompletedIndexes != written.CompletedIndexes,
		!ptr.Equal(known.FailedIndexes, written.FailedIndexes):
		return "its workflow has not heard that its status was written"
	}
	for _, pod := range workflow.Description.Pods {
		if pod.Fate != job.Undecided && pod.Tracked && !pod.Gone && !pod.Disowned {
			return "Pod " + pod.Name + " is counted and not released"
		}
	}
	return ""
}
