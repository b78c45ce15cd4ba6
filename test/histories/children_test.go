package histories

import (
	"time"

	sdk "go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/histories/play"
)

// childBegins begins the workflow of a Job, of which nothing is played but its end.
func (w *world) childBegins(id, _ string, arguments []any) {
	uid := types.UID(arguments[0].(protocol.JobInput).Job.UID)
	begun := child{id, time.Now()}
	w.children[uid] = begun
	w.tell(play.Signal{Argument: play.ChildBegun{ID: id}})
	w.agenda.Plan(time.Now().Add(time.Second+offset), func() { w.childLooks(uid, begun) })
}

// childLooks tells the end of a Job that has ended, or is gone, before its workflow has looked at it.
func (w *world) childLooks(uid types.UID, known child) {
	if w.children[uid] != known {
		return
	}
	for _, one := range w.cluster.jobs() {
		if one.UID != uid {
			continue
		}
		if claim.Finished(&one) != nil {
			w.tell(childEnded(known.id, &one))
		}
		return
	}
	gone := batchv1.Job{}
	gone.UID = uid
	w.tell(childEnded(known.id, &gone))
}

// childEnded is how the workflow of a Job ends, which has ended or is gone.
func childEnded(id string, one *batchv1.Job) play.Signal {
	result := protocol.JobClosing{UID: string(one.UID), Outcome: job.Deleted}
	ended := claim.Finished(one)
	if ended != nil {
		result.Outcome, result.Reason, result.StartTime = job.Outcome(ended.Type), ended.Reason, one.Status.StartTime.UTC()
		result.CompletionTime = ended.LastTransitionTime.UTC()
	}
	closed := play.ChildEnded{ID: id, Result: result}
	if ended != nil && ended.Type == batchv1.JobFailed {
		closed.Err = sdk.NewApplicationError("the Job has failed", protocol.JobFailedErrorType, result)
	}
	return play.Signal{Argument: closed}
}
