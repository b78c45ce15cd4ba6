package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// SetSuspend writes spec.suspend of a CronJob or Job of ours, and who says that he did
// it, when and why. It returns the spec that results. An answer that a repetition can't
// change is a RefusedErrorType error.
func (a *Activities) SetSuspend(ctx context.Context, request protocol.SetSuspendRequest) (protocol.SetSuspendResult, error) {
	write := a.suspendCronJob
	switch request.Kind {
	case protocol.CronJobKind:
	case protocol.JobKind:
		write = a.suspendJob
	default:
		return protocol.SetSuspendResult{}, invalidRequest(fmt.Errorf("kind %.70q can't be suspended: want %s or %s", request.Kind, protocol.CronJobKind, protocol.JobKind))
	}
	var result protocol.SetSuspendResult
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		result, err = write(ctx, request)
		return err
	})
	return suspendAnswer(request, result, err)
}

// suspendCronJob writes unless the CronJob changes meanwhile, which is a conflict.
func (a *Activities) suspendCronJob(ctx context.Context, request protocol.SetSuspendRequest) (protocol.SetSuspendResult, error) {
	cronJob, err := a.cronJob(ctx, request.Object)
	if err != nil || cronJob == nil {
		return protocol.SetSuspendResult{Gone: err == nil}, err
	}
	spec := schedule.SpecOf(cronJob)
	if request.AfterFailures {
		if !request.Suspend || spec.Suspend || !schedule.MayPause(cronJob) {
			return protocol.SetSuspendResult{CronJobSpec: &spec}, nil
		}
	} else if refused := a.refuseSignal(cronJob.Annotations, suspendSignal(request)); refused != nil {
		a.Events.onCronJob(request.Object, event.Warning(event.SignalRefused, refused.Message))
		return protocol.SetSuspendResult{}, refusedError(refused, "%s", doingSuspend(request))
	}
	if overtaken(cronJob.Annotations, request.At) {
		return protocol.SetSuspendResult{CronJobSpec: &spec}, nil
	}
	if why := notTakenBack(request, cronJob, spec.Suspend); why != "" {
		a.Events.onCronJob(request.Object, event.Warning(event.SignalRefused, why))
		return protocol.SetSuspendResult{CronJobSpec: &spec}, nil
	}
	already := request.Suspend && spec.Suspend
	patch, err := suspendPatch(request, cronJob.ResourceVersion, a.Clock.Now(), already)
	if err != nil {
		return protocol.SetSuspendResult{}, err
	}
	patched, err := a.cronJobs(request.Object.Native).Patch(ctx, cronJob.Namespace, cronJob.Name, patch)
	if err != nil {
		return protocol.SetSuspendResult{}, err
	}
	if !request.AfterFailures {
		a.Events.onCronJob(request.Object, signalAnswer(request, already))
	}
	spec = schedule.SpecOf(patched)
	return protocol.SetSuspendResult{CronJobSpec: &spec}, nil
}

// suspendJob writes unless the Job changes meanwhile, which is a conflict.
func (a *Activities) suspendJob(ctx context.Context, request protocol.SetSuspendRequest) (protocol.SetSuspendResult, error) {
	owner, is, err := a.job(ctx, request.Object, live)
	if err != nil || is != ours {
		return protocol.SetSuspendResult{Gone: err == nil && is == gone, Foreign: is == foreign}, err
	}
	if refused := a.refuseSignal(owner.Annotations, suspendSignal(request)); refused != nil {
		a.Events.onJob(request.Object, event.Warning(event.SignalRefused, refused.Message))
		return protocol.SetSuspendResult{}, refusedError(refused, "%s", doingSuspend(request))
	}
	spec := a.specOf(owner)
	if overtaken(owner.Annotations, request.At) {
		return protocol.SetSuspendResult{JobSpec: &spec}, nil
	}
	suspended := ptr.Deref(owner.Spec.Suspend, false)
	if why := notTakenBack(request, owner, suspended); why != "" {
		a.Events.onJob(request.Object, event.Warning(event.SignalRefused, why))
		return protocol.SetSuspendResult{JobSpec: &spec}, nil
	}
	already := request.Suspend && suspended
	patch, err := suspendPatch(request, owner.ResourceVersion, a.Clock.Now(), already)
	if err != nil {
		return protocol.SetSuspendResult{}, err
	}
	patched, err := a.Kubernetes.BatchV1().Jobs(owner.Namespace).Patch(ctx, owner.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: k8s.JobFieldManager})
	if err != nil {
		return protocol.SetSuspendResult{}, err
	}
	a.Events.onJob(request.Object, signalAnswer(request, already))
	spec = a.specOf(patched)
	return protocol.SetSuspendResult{JobSpec: &spec}, nil
}

// notTakenBack says why a resume leaves the object suspended, which is not what it takes back;
// empty where it does not.
func notTakenBack(request protocol.SetSuspendRequest, object metav1.Object, suspended bool) string {
	if request.Suspend || request.Force || !suspended {
		return ""
	}
	why := k8s.SuspenderOf(object).Refuses(request.Note.By, request.Reason)
	if why == "" {
		return ""
	}
	return "Signal " + suspendSignal(request) + " was not carried out: " + why
}

// longestOvertaken bounds how long an attempt goes on that Temporal has given up. What is
// older by more than that is not overtaken: a clock was set.
const longestOvertaken = time.Minute

// overtaken reports whether the object has taken this wish, or one that was heard after it. An
// attempt whose answer was lost has written the wish, and somebody may have taken it back since.
// An attempt that was given up may still write when the next wish is carried out: without this a
// suspend of long ago could have the last word.
func overtaken(annotations map[string]string, heard time.Time) bool {
	last, err := time.Parse(time.RFC3339Nano, annotations[names.SuspendedAtAnnotation])
	ahead := last.Sub(heard)
	return err == nil && ahead >= 0 && ahead <= longestOvertaken
}

// suspendAnswer judges an error of the write; others are judged already. The UID in the
// patch has just been seen: a conflict that stays means that others write all the time.
func suspendAnswer(request protocol.SetSuspendRequest, result protocol.SetSuspendResult, err error) (protocol.SetSuspendResult, error) {
	var judged *temporal.ApplicationError
	if err == nil || errors.As(err, &judged) {
		return result, err
	}
	if refused := refusal(err); refused != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return protocol.SetSuspendResult{}, refusedError(refused, "%s", doingSuspend(request))
	}
	return protocol.SetSuspendResult{}, outage(err, "%s", doingSuspend(request))
}

func doingSuspend(request protocol.SetSuspendRequest) string {
	return fmt.Sprintf("set suspend of %s %s/%s", request.Kind, request.Object.Namespace, request.Object.Name)
}

func suspendSignal(request protocol.SetSuspendRequest) string {
	if request.Suspend {
		return steering.Suspend
	}
	return steering.Resume
}

// refuseSignal says why an object does not take a signal that people send through
// Temporal; nil when it does. An Event on the object answers for it, since Temporal
// tells the sender nothing.
func (a *Activities) refuseSignal(annotations map[string]string, signal string) *protocol.Refusal {
	accepted, why := steering.Accepts(a.AcceptSignals, annotations, signal)
	if accepted {
		return nil
	}
	return &protocol.Refusal{Reason: protocol.RefusedSignal, Message: why}
}

// signalAnswer is the Event of a suspend or resume that was written. The signal counts
// whatever its argument; that nothing was made of it is told, and that the object was
// suspended already.
func signalAnswer(request protocol.SetSuspendRequest, already bool) event.Event {
	taken := "Signal " + suspendSignal(request) + " was taken"
	if already {
		taken = "Signal " + suspendSignal(request) + ", of an object that is suspended already, was taken"
	}
	if request.Superseded > 0 {
		taken += fmt.Sprintf(" in place of %d before it", request.Superseded)
	}
	if request.Unread != "" {
		return event.Warning(event.SignalUnread, taken+" without its argument: "+k8s.Truncated(request.Unread, maxAnnotation)+
			`; want text, or JSON such as {"note": "maintenance", "by": "ada"}`)
	}
	if by := request.Note.By; by != "" {
		taken += " from " + k8s.Truncated(by, maxAnnotation/2)
	}
	if note := request.Note.Note; note != "" {
		taken += ": " + k8s.Truncated(note, maxAnnotation)
	}
	return event.Normal(event.SignalTaken, taken)
}

// suspendPatch is a merge patch of the object as it was read; an absent note or sender removes
// an older one. An object that is suspended already says on who has suspended it. A time that
// has not come is made up: with it nobody would be heard until then.
func suspendPatch(request protocol.SetSuspendRequest, resourceVersion string, now time.Time, already bool) ([]byte, error) {
	heard := request.At
	if heard.After(now) {
		heard = now
	}
	annotations := map[string]any{names.SuspendedAtAnnotation: heard.UTC().Format(time.RFC3339Nano)}
	if !already {
		annotations[names.SuspendedByAnnotation] = orNull(request.Note.By)
		annotations[names.SuspendNoteAnnotation] = orNull(request.Note.Note)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": request.Object.UID, "resourceVersion": resourceVersion, "annotations": annotations},
		"spec":     map[string]any{"suspend": request.Suspend},
	})
	if err != nil {
		return nil, fmt.Errorf("encode suspend patch: %w", err)
	}
	return patch, nil
}

// maxAnnotation bounds what a signal may put into an annotation, in bytes.
const maxAnnotation = 512

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return k8s.Truncated(text, maxAnnotation)
}
