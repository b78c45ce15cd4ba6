package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// ReconcileCronJob carries out a CronJobRequest. Its result says what became of
// it; an error means that the API server could not be asked, and that the whole
// is to be repeated. It is a RefusedErrorType error, which Temporal does not
// repeat by itself, when the delete of a Job that is to be replaced was refused.
//
// A run that was to be replaced and has ended is left, and is in the result. The status is
// not written then: it says otherwise, and is to be planned anew.
//
// The start of a run whose time has not come is held until then, and the CronJob looked at
// once more. Where it can't be, the error is one of TooEarlyErrorType, to be repeated. What else is to be done waits for the other Jobs of the same moment. The
// status of a request that is about neither a start nor a look goes before its deletes.
//
// The Events of the request are emitted also when the start was refused: they
// tell of what has happened.
func (a *Activities) ReconcileCronJob(ctx context.Context, request protocol.CronJobRequest) (result protocol.CronJobResult, err error) {
	if err := bounded(list{"deletes", len(request.Deletes), mostJobDeletes}, list{"look", len(request.Look), mostLooks},
		list{"events", len(request.Events), mostAsked}, list{"known", len(request.Known), mostKnown}); err != nil {
		return result, err
	}
	if err := errors.Join(event.Validate(request.Events), invalidCronJobStatus(request)); err != nil {
		return result, invalidRequest(err)
	}
	if err := a.tooOld(ctx, request.Task); err != nil {
		return result, err
	}
	if err := a.giveBack(request.Start); err != nil {
		return result, err
	}
	ctx, stop := a.keep(ctx)
	defer stop()
	if guardedCronJob(request) {
		return a.settle(ctx, request)
	}
	cronJob, err := a.cronJob(ctx, request.CronJob)
	if err != nil || cronJob == nil {
		return protocol.CronJobResult{Gone: err == nil}, err
	}
	if request.Signal != "" {
		if result.Refused = a.refuseSignal(cronJob.Annotations, request.Signal); result.Refused != nil {
			a.Events.onCronJob(request.CronJob, event.Warning(event.SignalRefused, result.Refused.Message))
		}
		return result, nil
	}
	if err := a.lookAtRuns(ctx, cronJob, request, &result); err != nil {
		return result, err
	}
	if spec := schedule.SpecOf(cronJob); spec.Digest() != request.Digest {
		result.CurrentSpec = &spec
		return result, nil
	}
	if cronJob, err = a.start(ctx, cronJob, request, &result); err != nil || cronJob == nil {
		return result, err
	}
	if ranAndIsGone(result.Started) {
		result.Ended = append(result.Ended, protocol.FinishedJob{Run: result.Started.Run, Outcome: job.Deleted})
	}
	if request.Judge && result.Refused == nil {
		result.Judgement = a.judgeTemplate(ctx, cronJob, request.Status)
	}
	if request.Status != nil && result.Refused == nil && len(result.Ended) == 0 {
		a.applyCronJobStatus(ctx, cronJob, live, request, &result)
	}
	a.Events.onCronJob(request.CronJob, request.Events...)
	a.announceJudgement(request.CronJob, result.Judgement)
	return result, nil
}

// invalidCronJobStatus says what no plan writes.
func invalidCronJobStatus(request protocol.CronJobRequest) error {
	if request.Status == nil {
		return nil
	}
	return schedule.ValidateStatus(*request.Status, request.CronJob.Namespace)
}

// deleteJobs deletes what is replaced or falls out of the history limits, and
// names what is gone or is not the CronJob's. Only a replaced Job has to be gone, or to have
// ended: those that have are returned. start is the run that takes its place, if it may start.
func (a *Activities) deleteJobs(
	ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.CronJobRequest, start *schedule.Start,
) (deleted []string, ended []protocol.FinishedJob, _ error) {
	deletes, events := request.Deletes, a.Events.besides(len(request.Events))
	gone, finished := make([]bool, len(deletes)), make([]*protocol.FinishedJob, len(deletes))
	indexes := make([]int, len(deletes))
	for i := range indexes {
		indexes[i] = i
	}
	err := each(indexes, func(i int) (err error) {
		gone[i], finished[i], err = a.deleteJob(ctx, cronJob, deletes[i], start, events)
		return err
	})
	for i, target := range deletes {
		if gone[i] {
			deleted = append(deleted, target.Name)
		}
		if finished[i] != nil {
			ended = append(ended, *finished[i])
		}
	}
	return deleted, ended, err
}

// deleteJob deletes a Job of the CronJob, if it may be deleted. One that is to be replaced and
// has ended is returned in place of that. The Job is read first, from the watch cache, since a
// delete can't say whose the Job must be.
func (a *Activities) deleteJob(
	ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete, start *schedule.Start, events *announcer,
) (gone bool, ended *protocol.FinishedJob, err error) {
	reference := cronJobReference(cronJob)
	found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, target.Name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) || err == nil && string(found.UID) != target.UID {
		found, err = k8s.GetJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID))
	}
	switch {
	case errors.Is(err, k8s.ErrGone), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return true, nil, nil
	case err != nil && target.Replaced:
		return false, nil, outage(err, "get Job %s/%s, which is to be replaced", cronJob.Namespace, target.Name)
	case err != nil:
		return false, nil, nil
	}
	if target.Replaced {
		if ended = finishedJob(found, runOf(cronJob, found)); ended != nil {
			return false, ended, nil
		}
	}
	if why := schedule.Deletable(cronJob, target, claim.Finished(found) != nil, start); why != "" {
		if target.Replaced {
			return false, nil, refusedError(&protocol.Refusal{Reason: protocol.RefusedNotPrescribed, Message: why}, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
		}
		return false, nil, nil
	}
	deleted, err := k8s.DeleteJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID))
	switch {
	case err == nil:
		if deleted {
			events.onCronJob(reference, event.Normal(event.SuccessfulDelete, "Deleted job "+target.Name))
		}
		return true, nil, nil
	case answered(err):
		// Upstream's own words (parity 1.9).
		events.onCronJob(reference, event.Warning(event.FailedDelete, fmt.Sprintf("Deleted job: %v", err)))
	}
	if !target.Replaced {
		return false, nil, nil
	}
	if refused := refusal(err); refused != nil {
		return false, nil, refusedError(refused, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
	}
	return false, nil, outage(err, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
}

// applyCronJobStatus writes the status with the run in it that was started. That it
// can't be written stops no run: it is part of the result, and tried again later.
func (a *Activities) applyCronJobStatus(ctx context.Context, cronJob *ostinatov1.CronJob, fresh freshness, request protocol.CronJobRequest, result *protocol.CronJobResult) {
	status := *request.Status
	if result.Started != nil {
		status = schedule.StatusStarted(status, result.Started.Run, cronJob.Namespace)
		status = schedule.StatusRecorded(status, *request.Start, result.Started.Run)
	}
	if result.Judgement != nil {
		status = schedule.StatusJudged(status, *result.Judgement)
	}
	status.Workflow = &ostinatov1.WorkflowReference{
		Namespace: a.Namespace,
		ID:        cronJobReference(cronJob).CronJobWorkflowID(a.Cluster),
	}
	// One that was given up would write what is over.
	ctx, release, err := owned(ctx)
	if err != nil {
		result.StatusFailed = k8s.Bounded(err.Error())
		return
	}
	defer release()
	ctx, cancel := leavingTime(ctx)
	defer cancel()
	err = a.inTurn(ctx, cronJob.Namespace, func() error {
		return a.writeCronJobStatus(ctx, cronJob, fresh, request, &status, result)
	})
	switch {
	case err == nil:
		return
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return
	}
	result.StatusFailed = k8s.Bounded(err.Error())
	if answered(err) {
		a.Events.onCronJob(cronJobReference(cronJob), event.Warning(event.FailedUpdateStatus, "Error updating status: "+err.Error()))
	}
	if refused := refusal(err); refused != nil {
		a.Metrics.countRefusal("CronJobStatus", refused)
	}
	activity.GetLogger(ctx).Error("CronJob status not written", "namespace", cronJob.Namespace, "cronjob", cronJob.Name, "error", err)
}

// inTurn writes when it is the namespace's turn, or not at all: a turn that came too late
// would end in a write that the API server gives up, and that costs it as much.
func (a *Activities) inTurn(ctx context.Context, namespace string, write func() error) error {
	waiting, cancel := leavingTime(ctx)
	defer cancel()
	leave, err := a.writes.take(waiting, namespace)
	if err != nil {
		return err
	}
	defer leave()
	return write()
}

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
