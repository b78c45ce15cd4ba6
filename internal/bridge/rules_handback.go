package bridge

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
)

// undrained says why a Job that is handed back is not to be let go yet; empty means
// that it may be. The status is all that the controller that gets it goes by, and a
// Pod that the status counts and that still carries the tracking finalizer is one to
// count for it. So nothing may be under way, and what is counted must be released.
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
