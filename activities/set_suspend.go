package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// SetSuspend writes spec.suspend of a CronJob or Job of ours, and who did it, when and why; or that a Job is stopped. It returns the
// spec that results. An answer that a repetition can't change is a RefusedErrorType error.
func (a *Activities) SetSuspend(ctx context.Context, request protocol.SetSuspendRequest) (result protocol.SetSuspendResult, err error) {
	if request.Kind != protocol.CronJobKind && request.Kind != protocol.JobKind {
		return result, invalidRequest(fmt.Errorf("kind %.70q can't be suspended: want %s or %s", request.Kind, protocol.CronJobKind, protocol.JobKind))
	}
	if err := invalidRequest(cmp.Or(mayStop(request), request.Basis.Validate())); err != nil {
		return result, err
	}
	// An object that changes between the read and the write is a conflict.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := a.suspendable(ctx, request)
		if result = found.answer; err != nil || found.object == nil {
			return err
		}
		do := a.suspend
		if request.Stop {
			do = a.stop
		}
		result, err = do(ctx, request, found)
		return err
	})
	var judged *temporal.ApplicationError
	switch refused := refusal(err); {
	case err == nil, errors.As(err, &judged):
		return result, err
	case refused != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		// The UID in the patch has just been seen: a conflict that stays means that others write all the time.
		return protocol.SetSuspendResult{}, refusedError(refused.Message, "%s", doingSuspend(request))
	}
	return protocol.SetSuspendResult{}, outage(err, "%s", doingSuspend(request))
}

// suspendable is a CronJob or a Job as it was read; object is nil where it is gone or foreign.
type suspendable struct {
	object              metav1.Object
	suspended, mayPause bool
	// answer is the result where nothing is written.
	answer protocol.SetSuspendResult
}

func (a *Activities) suspendable(ctx context.Context, request protocol.SetSuspendRequest) (suspendable, error) {
	if request.Kind == protocol.JobKind {
		owner, found, done, err := a.jobFor(ctx, request.Object, live)
		if done {
			return suspendable{answer: protocol.SetSuspendResult{Gone: found.Gone, Foreign: found.Foreign}}, err
		}
		return a.suspendableJob(owner), nil
	}
	cronJob, err := a.cronJob(ctx, request.Object)
	if err != nil || cronJob == nil {
		return suspendable{answer: protocol.SetSuspendResult{Gone: err == nil}}, err
	}
	if request.Basis.Overtakes(cronJob.Status) {
		return suspendable{answer: protocol.SetSuspendResult{Overtaken: true}}, nil
	}
	return suspendableCronJob(cronJob), nil
}

func suspendableCronJob(cronJob *ostinatov1.CronJob) suspendable {
	spec := schedule.SpecOf(cronJob)
	return suspendable{cronJob, spec.Suspend, schedule.MayPause(cronJob), protocol.SetSuspendResult{CronJobSpec: &spec}}
}

func (a *Activities) suspendableJob(owner *batchv1.Job) suspendable {
	spec := a.specOf(owner)
	return suspendable{owner, ptr.Deref(owner.Spec.Suspend, false), false, protocol.SetSuspendResult{JobSpec: &spec}}
}

// suspend judges the request by the object and writes it.
func (a *Activities) suspend(ctx context.Context, request protocol.SetSuspendRequest, found suspendable) (protocol.SetSuspendResult, error) {
	object := subject{request.Object, request.Kind == protocol.JobKind}
	pause, annotations := request.AfterFailures && request.Kind == protocol.CronJobKind, found.object.GetAnnotations()
	if pause {
		if !request.Suspend || found.suspended || !found.mayPause {
			return found.answer, nil
		}
	} else if refused := a.refuseSignal(annotations, request.Signal()); refused != nil {
		a.Events.on(object, event.Warning(event.SignalRefused, refused.Message))
		return protocol.SetSuspendResult{}, refusedError(refused.Message, "%s", doingSuspend(request))
	}
	if overtaken(annotations, request.At) {
		if request.Suspend && found.suspended && a.wrote(annotations, request) {
			found.answer.Suspender = a.suspender(request)
		}
		return found.answer, nil
	}
	// A time that has not come, clocks apart, is made up: with it the object would take no other wish until then.
	if now := a.Clock.Now(); request.At.After(now.Add(maxAhead)) {
		request.At = now
	}
	if !request.Suspend && !request.Force && found.suspended {
		// A resume leaves the object suspended where that is not what it takes back.
		if why := k8s.SuspenderOf(found.object, a.StampedUsers).Refuses(request.Note.By, request.Reason); why != "" {
			a.Events.on(object, event.Warning(event.SignalRefused, "Signal "+request.Signal()+" was not carried out: "+why))
			return found.answer, nil
		}
	}
	already := request.Suspend && found.suspended
	result, err := a.patchSuspend(ctx, request, found.object.GetResourceVersion(), already)
	if err == nil && !pause {
		a.Events.on(object, signalAnswer(request, a.userOf(request.Caller), already))
	}
	if err == nil && !pause && request.Suspend && !already {
		result.Suspender = a.suspender(request)
	}
	return result, err
}

// patchSuspend writes to the object as it was read. An object that is suspended already says on who has suspended it; an absent
// note or sender removes an older one.
func (a *Activities) patchSuspend(
	ctx context.Context, request protocol.SetSuspendRequest, resourceVersion string, already bool,
) (protocol.SetSuspendResult, error) {
	object, at := request.Object, request.At.UTC().Format(time.RFC3339Nano)
	annotations := map[string]any{names.SuspendHeardAtAnnotation: at}
	if !already {
		annotations[names.SuspendedAtAnnotation] = at
		annotations[names.SuspendedByAnnotation] = orNull(a.claimed(request))
		annotations[names.SuspendNoteAnnotation] = orNull(request.Note.Note)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID, "resourceVersion": resourceVersion, "annotations": annotations},
		"spec":     map[string]any{"suspend": request.Suspend},
	})
	if err != nil {
		return protocol.SetSuspendResult{}, fmt.Errorf("encode suspend patch: %w", err)
	}
	if request.Kind == protocol.JobKind {
		patched, err := a.Kubernetes.BatchV1().Jobs(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: k8s.JobFieldManager})
		if err != nil {
			return protocol.SetSuspendResult{}, err
		}
		return a.suspendableJob(patched).answer, nil
	}
	patched, err := a.cronJobs(object.Native).Patch(ctx, object.Namespace, object.Name, patch)
	if err != nil {
		return protocol.SetSuspendResult{}, err
	}
	return suspendableCronJob(patched).answer, nil
}

// claimed is the name that the object has. It proves none: there that of the user is claimed, too.
func (a *Activities) claimed(request protocol.SetSuspendRequest) string {
	return clip.Text(cmp.Or(request.Note.By, a.userOf(request.Caller)), maxAnnotation)
}

// suspender is who has sent the request.
func (a *Activities) suspender(request protocol.SetSuspendRequest) *schedule.Suspender {
	return &schedule.Suspender{
		By: request.Note.By, User: a.userOf(request.Caller), At: request.At, Why: request.Note.Note, Through: ledger.ThroughSignal,
	}
}

// wrote reports whether an earlier attempt, whose answer was lost, has written the wish.
func (a *Activities) wrote(annotations map[string]string, request protocol.SetSuspendRequest) bool {
	return annotations[names.SuspendedAtAnnotation] == request.At.UTC().Format(time.RFC3339Nano) &&
		annotations[names.SuspendedByAnnotation] == a.claimed(request)
}

// longestOvertaken bounds how long an attempt goes on that Temporal has given up. What is
// older by more than that is not overtaken: a clock was set.
const longestOvertaken = time.Minute

// overtaken reports whether the object has taken this wish, or one that was heard after it. An attempt whose answer was
// lost has written the wish, and a person may have taken it back since. An attempt that was given up may still write
// when the next wish is carried out: without this a suspend of long ago could have the last word.
func overtaken(annotations map[string]string, heard time.Time) bool {
	last, err := time.Parse(time.RFC3339Nano, annotations[names.SuspendHeardAtAnnotation])
	ahead := last.Sub(heard)
	return err == nil && ahead >= 0 && ahead <= longestOvertaken
}

func doingSuspend(request protocol.SetSuspendRequest) string {
	return fmt.Sprintf("%s %s %s/%s", request.Signal(), request.Kind, request.Object.Namespace, request.Object.Name)
}

// refuseSignal says why an object does not take a signal that people send through Temporal; nil when it does. An Event
// on the object answers for it, since Temporal tells the sender nothing.
func (a *Activities) refuseSignal(annotations map[string]string, signal string) *protocol.Refusal {
	accepted, why := steering.Accepts(a.AcceptSignals, annotations, signal)
	if accepted {
		return nil
	}
	return refuse(ledger.SignalRefused, "%s", why)
}

// signalAnswer is the Event of a suspend or resume that was written. The signal counts
// whatever its argument; the Event says if the argument, or a part of it, was unreadable.
func signalAnswer(request protocol.SetSuspendRequest, user string, already bool) event.Event {
	taken, is := "Signal "+request.Signal(), "suspended"
	if request.Stop {
		is = "stopped"
	}
	if already {
		taken += ", of an object that is " + is + " already,"
	}
	taken += " was taken"
	if request.Superseded > 0 {
		taken += fmt.Sprintf(" in place of %d before it", request.Superseded)
	}
	if who := ledger.Who(user, request.Note.By); who != "" {
		taken += " from " + who
	}
	if request.Unread != "" {
		without := " without its argument: "
		if request.Note != (protocol.SignalNote{}) || request.Reason != "" || request.Force {
			without = " without a part of its argument: "
		}
		return event.Warning(event.SignalUnread, taken+without+clip.Text(request.Unread, maxAnnotation)+
			`; want text, or JSON such as {"note": "maintenance", "by": "ada"}`)
	}
	if note := request.Note.Note; note != "" {
		taken += ": " + clip.Text(note, maxAnnotation)
	}
	return event.Normal(event.SignalTaken, taken)
}

// maxAnnotation bounds what a signal may put into an annotation, in bytes.
const maxAnnotation = 512

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return clip.Text(text, maxAnnotation)
}
