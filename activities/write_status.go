package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// WriteStatus writes the status of a CronJob, with a judgement of its template where that is asked for,
// and prunes its history: the status goes first, so that the history is pruned by the limits of the
// CronJob as it is. An error means that the API server could not be asked, and that the whole is to be
// repeated. That the status can't be written is no error: it is part of the result, and tried again later.
func (a *Activities) WriteStatus(ctx context.Context, request protocol.WriteStatusRequest) (result protocol.WriteStatusResult, err error) {
	if err := bounded(list{"prune", len(request.Prune), mostJobDeletes}, list{"events", len(request.Events), mostAsked}); err != nil {
		return result, err
	}
	if err := errors.Join(event.Validate(request.Events), invalidCronJobStatus(request.Status, request.CronJob.Namespace)); err != nil {
		return result, invalidRequest(err)
	}
	if err := a.tooOld(ctx, request.Task); err != nil {
		return result, err
	}
	cronJob, fresh, err := a.plannedCronJob(ctx, request, &result)
	if err != nil || cronJob == nil {
		return result, err
	}
	if request.Judge {
		result.Judgement = a.judgeTemplate(ctx, cronJob, request.Status)
	}
	guarded := fresh == live
	if request.Status != nil {
		status := *request.Status
		if result.Judgement != nil {
			status = schedule.StatusJudged(status, *result.Judgement)
		}
		written := a.applyCronJobStatus(ctx, cronJob, fresh, request.Digest, status)
		result.Gone, result.CurrentSpec, result.StatusFailed = written.gone, written.currentSpec, written.failed
		guarded = guarded || written.failed == ""
	}
	if !guarded && len(request.Prune) > 0 && !result.Gone && result.CurrentSpec == nil {
		// Nothing has guarded what was read.
		if cronJob, result.CurrentSpec, err = a.unedited(ctx, request.CronJob, request.Digest); err != nil {
			return result, err
		}
		result.Gone = cronJob == nil && result.CurrentSpec == nil
	}
	if result.Gone || result.CurrentSpec != nil {
		return protocol.WriteStatusResult{Gone: result.Gone, CurrentSpec: result.CurrentSpec}, nil
	}
	result.Pruned = a.prune(ctx, cronJob, request)
	a.Events.onCronJob(request.CronJob, request.Events...)
	a.announceJudgement(request.CronJob, result.Judgement)
	return result, nil
}

// invalidCronJobStatus says what no plan writes.
func invalidCronJobStatus(status *ostinatov1.CronJobStatus, namespace string) error {
	if status == nil {
		return nil
	}
	return schedule.ValidateStatus(*status, namespace)
}

// plannedCronJob returns the CronJob of a request as it is remembered, or as the watch
// cache has it, and reads it live where neither is what was planned for; nil where the
// result says that it is gone or edited. Of a remembered one there is no template.
//
// A write of the status is refused unless the CronJob is, in etcd, the one that was read, so it needs
// no live read before. A dry run leaves nothing behind, and the template that it tries is that of the
// generation which was planned for.
func (a *Activities) plannedCronJob(ctx context.Context, request protocol.WriteStatusRequest, result *protocol.WriteStatusResult) (*ostinatov1.CronJob, freshness, error) {
	reference := request.CronJob
	if request.Status != nil && !request.Judge {
		if known := a.known.cronJob(reference, request.Digest); known != nil {
			return known, cached, nil
		}
	}
	if request.Status != nil {
		glance, err := a.cronJobs(reference.Native).Get(ctx, reference.Namespace, reference.Name, k8s.FromCache)
		if err == nil && string(glance.UID) == reference.UID && schedule.SpecOf(glance).Digest() == request.Digest {
			return glance, cached, nil
		}
	}
	cronJob, current, err := a.unedited(ctx, reference, request.Digest)
	result.Gone, result.CurrentSpec = err == nil && cronJob == nil && current == nil, current
	return cronJob, live, err
}

// unedited reads the CronJob live; it is nil where it is gone, and where the spec that is returned is not
// the one of the digest.
func (a *Activities) unedited(ctx context.Context, reference protocol.ObjectReference, digest string) (*ostinatov1.CronJob, *schedule.Spec, error) {
	cronJob, err := a.cronJob(ctx, reference)
	if err != nil || cronJob == nil {
		return nil, nil, err
	}
	if spec := schedule.SpecOf(cronJob); spec.Digest() != digest {
		return nil, &spec, nil
	}
	return cronJob, nil, nil
}

// statusWritten says what came of a write of a CronJob's status: it was written where nothing is set.
type statusWritten struct {
	// gone: the CronJob is; currentSpec: it was edited since it was read.
	gone        bool
	currentSpec *schedule.Spec
	// failed is why the status was not written.
	failed string
}

// applyCronJobStatus writes the status, in the namespace's turn.
func (a *Activities) applyCronJobStatus(ctx context.Context, cronJob *ostinatov1.CronJob, fresh freshness, digest string, status ostinatov1.CronJobStatus) (written statusWritten) {
	status.Workflow = &ostinatov1.WorkflowReference{
		Namespace: a.Namespace,
		ID:        cronJobReference(cronJob).CronJobWorkflowID(a.Cluster),
	}
	// One that was given up would write what is over.
	ctx, release, err := owned(ctx)
	if err != nil {
		return statusWritten{failed: k8s.Bounded(err.Error())}
	}
	defer release()
	ctx, cancel := leavingTime(ctx)
	defer cancel()
	err = a.inTurn(ctx, cronJob.Namespace, func() (err error) {
		written, err = a.writeCronJobStatus(ctx, cronJob, fresh, digest, &status)
		return err
	})
	switch {
	case err == nil:
		return written
	case errors.Is(err, k8s.ErrGone):
		return statusWritten{gone: true}
	}
	if answered(err) {
		a.Events.onCronJob(cronJobReference(cronJob), event.Warning(event.FailedUpdateStatus, "Error updating status: "+err.Error()))
	}
	if refused := refusal(err); refused != nil {
		a.Metrics.countRefusal("CronJobStatus", refused)
	}
	activity.GetLogger(ctx).Error("CronJob status not written", "namespace", cronJob.Namespace, "cronjob", cronJob.Name, "error", err)
	return statusWritten{failed: k8s.Bounded(err.Error())}
}

// writeCronJobStatus writes the status. It does not where the CronJob was not read live and
// is not the one any more that was planned for.
func (a *Activities) writeCronJobStatus(
	ctx context.Context, cronJob *ostinatov1.CronJob, fresh freshness, digest string, status *ostinatov1.CronJobStatus,
) (written statusWritten, err error) {
	store := a.cronJobs(k8s.IsNative(cronJob))
	a.known.forgetCronJob(cronJob.UID)
	var stored *ostinatov1.CronJob
	if fresh == cached {
		stored, err = k8s.WriteCronJobStatus(ctx, store, cronJob, suspendedBy(cronJob, status))
		if apierrors.IsConflict(err) {
			cronJob, written.currentSpec, err = a.unedited(ctx, cronJobReference(cronJob), digest)
			if written.gone = err == nil && cronJob == nil && written.currentSpec == nil; err != nil || cronJob == nil {
				return written, err
			}
			fresh = live
		}
	}
	if fresh == live {
		stored, err = k8s.ApplyCronJobStatus(ctx, store, cronJob, suspendedBy(cronJob, status))
	}
	if err == nil && len(status.Active) > 0 {
		a.known.keepCronJob(stored)
	}
	return written, err
}

// suspendedBy returns the status with who has suspended the CronJob, which the object tells
// and no request.
func suspendedBy(cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) *ostinatov1.CronJobStatus {
	named := schedule.StatusSuspendedBy(*status, cronJob.Status, k8s.SuspenderOf(cronJob))
	return &named
}

// inTurn writes when it is the namespace's turn, or not at all: a turn that came too late
// would end in a write that the API server gives up, and that costs it as much.
func (a *Activities) inTurn(ctx context.Context, namespace string, write func() error) error {
	waiting, cancel := leavingTime(ctx)
	defer cancel()
	leave, err := a.writes.Take(waiting, namespace)
	if err != nil {
		return err
	}
	defer leave()
	return write()
}

// mostStatuses is how many statuses of CronJobs a process writes at a time: the API server is no faster with
// more, and what does not get its turn in time costs it nothing.
const mostStatuses = 64

// leavingTime leaves time for what comes after, as for a report that a request was not
// answered: a second, or half of what there is.
func leavingTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(deadline)
	return context.WithTimeout(ctx, max(left/2, left-time.Second))
}

func cronJobReference(cronJob *ostinatov1.CronJob) protocol.ObjectReference {
	return protocol.ObjectReference{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID), Native: k8s.IsNative(cronJob),
	}
}
