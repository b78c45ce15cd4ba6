package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// mayStop returns an error for a stop that no workflow of ours asks for.
func mayStop(request protocol.SetSuspendRequest) error {
	if request.Stop && (request.Kind != protocol.JobKind || request.Suspend || request.AfterFailures) {
		return errors.New("a stop is of a Job, and nothing else")
	}
	return nil
}

// stop writes the annotation that ends a Job, as its owner does with kubectl: the Pods end because the Job says so, and
// this request ends none. A Job that has ended, or is stopped, stays as it is.
func (a *Activities) stop(
	ctx context.Context, request protocol.SetSuspendRequest, found suspendable,
) (protocol.SetSuspendResult, error) {
	object := aJob(request.Object)
	if refused := a.refuseSignal(found.object.GetAnnotations(), request.Signal()); refused != nil {
		a.Events.on(object, event.Warning(event.SignalRefused, refused.Message))
		return protocol.SetSuspendResult{}, refusedError(refused.Message, "%s", doingSuspend(request))
	}
	if owner, ok := found.object.(*batchv1.Job); ok && claim.Finished(owner) != nil {
		a.Events.on(object, event.Warning(event.SignalRefused, "Signal stop was not carried out: the Job has ended"))
		return found.answer, nil
	}
	stop := job.Stop{By: a.claimed(request), Note: request.Note.Note}.Annotation()
	already := job.StopOf(found.object.GetAnnotations())
	if already != nil && already.Annotation() == stop {
		// An earlier attempt has written it, and had no answer.
		return found.answer, nil
	}
	if already == nil {
		stopped, err := a.patchStop(ctx, request.Object, found.object.GetResourceVersion(), stop)
		if err != nil {
			return protocol.SetSuspendResult{}, err
		}
		found.answer = a.suspendableJob(stopped).answer
	}
	a.Events.on(object, signalAnswer(request, a.userOf(request.Caller), already != nil))
	return found.answer, nil
}

// stopper says who has stopped a Job that has ended, and why: by its condition, which names what was claimed then; or
// by the user whom admission has stamped, where the annotation is still the one that the condition quotes. It is empty
// for other ends.
func (a *Activities) stopper(found *batchv1.Job, ended batchv1.JobCondition) string {
	if ended.Reason != event.Stopped {
		return ""
	}
	stop, user := job.StopOf(found.Annotations), found.Annotations[names.StopUserAnnotation]
	if !a.StampedUsers || user == "" || stop == nil || stop.String() != ended.Message {
		said := strings.TrimPrefix(ended.Message, job.WasStopped)
		if strings.HasPrefix(said, ":") {
			// The reason of a stop without a name may read like one.
			return "without a name" + said
		}
		return strings.TrimSpace(said)
	}
	who := "by " + ledger.Who(clip.Text(user, maxAnnotation), stop.By)
	if stop.Note != "" {
		who += ": " + stop.Note
	}
	return who
}

func (a *Activities) patchStop(
	ctx context.Context, object protocol.ObjectReference, resourceVersion, stop string,
) (*batchv1.Job, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": resourceVersion, "annotations": map[string]any{names.StopAnnotation: stop},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode stop patch: %w", err)
	}
	return a.Kubernetes.BatchV1().Jobs(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: k8s.JobFieldManager})
}
