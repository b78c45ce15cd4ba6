package bridge

import (
	"reflect"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/jobwatch"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// startGrace is how long others have to start the workflow of a new Job: a CronJob's workflow that of a run's Job, and the
// watch of new Jobs that of another one. After that the bridge does. The UI of Temporal does not show it as a child then, and
// a signal brings its end.
const startGrace = time.Minute

// startRetry is when to look again for the workflow of a Job edited within startGrace.
const startRetry = time.Second

// jobMemory is what the bridge remembers of a Job. Losing it costs repeated messages only.
type jobMemory struct {
	// uid and spec are those last sent; empty before the first.
	uid  string
	spec job.Spec
}

// decideJob decides what to send for a Job. Nothing says which spec its workflow has: one that may have been edited
// gets its spec after a leader starts. With sweep, the workflow of one that needs nothing is started: it may be lost.
func decideJob(owner ownership, object *batchv1.Job, memory jobMemory, sweep bool, now time.Time) decision {
	if !owner.ours(object) || finished(object) {
		return decision{}
	}
	known := memory.uid == string(object.UID)
	acknowledged := acknowledgedJob(object)
	edited := object.Generation > 1 || acknowledged && slices.ContainsFunc(settingAnnotations, func(annotation string) bool {
		return metav1.HasAnnotation(object.ObjectMeta, annotation)
	})
	grace := startGrace - now.Sub(object.CreationTimestamp.Time)
	before, theirs := builtInWroteLast(object)
	_, owned := owner.cronJobOf(object)
	// The CronJob's workflow starts that of a run as its child, and the watch those of other new Jobs, with their first Pods.
	others := owned && ofARun(object) || jobwatch.IsNew(object)
	expected := others && !theirs && !known && !acknowledged && grace > 0
	switch {
	case known && changed(memory.spec, job.SpecOf(object)):
		return decision{action: send}
	case known && !sweep:
		return decision{}
	case known:
		return decision{action: ensure}
	case memory.uid != "":
		// Re-created under its name: a workflow of the old Job may still run.
		return decision{action: send, stale: before}
	case expected && edited:
		return decision{action: send, runningOnly: true, again: startRetry}
	case expected:
		return decision{again: grace}
	case edited:
		return decision{action: send, stale: before}
	case acknowledged && !sweep:
		return decision{taken: true}
	}
	return decision{action: ensure, insist: !owned && !acknowledged, stale: before}
}

// ofARun reports whether a controller has made the Job for a run of its CronJob: "kubectl create job --from" notes no time.
func ofARun(job *batchv1.Job) bool {
	return metav1.HasAnnotation(job.ObjectMeta, names.ScheduledTimestampAnnotation)
}

// settingAnnotations change what a Job's workflow does. Their edits leave the generation as it is.
var settingAnnotations = []string{
	names.PendingDeadlineAnnotation, names.BackoffBaseAnnotation, names.BackoffCapAnnotation, names.StopAnnotation,
	names.EvidenceSuccessesAnnotation,
}

// changed reports whether what a workflow goes by differs: a setting, or the generation, which a restored API server lowers.
func changed(before, after job.Spec) bool { return !reflect.DeepEqual(before, after) }

// finished reports whether the Job has condition Complete or Failed.
func finished(job *batchv1.Job) bool { return claim.Finished(job) != nil }

// acknowledgedJob reports whether a workflow of this very Job has written its status: it has a start time, or was found
// suspended. That of a Job taken over may be the built-in controller's, so there the API server's notes count.
func acknowledgedJob(job *batchv1.Job) bool {
	written := job.Status.StartTime != nil || slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobSuspended
	})
	_, theirs := builtInWroteLast(job)
	return written && !theirs && (claim.Ours(job, false) || statusWrite(job, k8s.JobFieldManager) != nil)
}

// foreignJob reports whether a workflow has no business with the Job: it is not ours, or the built-in controller finished it.
func foreignJob(owner ownership, job *batchv1.Job) bool {
	_, theirs := builtInWroteLast(job)
	return !owner.ours(job) || theirs && finished(job)
}

// undrained says why a Job can't be handed back yet, or nothing. The next controller goes by the status alone, and
// would count a Pod with the tracking finalizer again: nothing may be under way, and what is counted must be released.
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
