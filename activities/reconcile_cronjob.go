package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// ReconcileCronJob carries out a CronJobRequest. Its result says what became of
// it; an error means that the API server could not be asked, and that the whole
// is to be repeated. It is a RefusedErrorType error, which Temporal does not
// repeat by itself, when the delete of a Job that is to be replaced was refused.
//
// The Events of the request are emitted also when the start was refused: they
// tell of what has happened.
func (a *Activities) ReconcileCronJob(ctx context.Context, request protocol.CronJobRequest) (result protocol.CronJobResult, err error) {
	if err := bounded(len(request.Deletes), len(request.Look), len(request.Events), len(request.Known)); err != nil {
		return result, err
	}
	cronJob, err := a.cronJob(ctx, request.CronJob)
	if err != nil || cronJob == nil {
		return protocol.CronJobResult{Gone: err == nil}, err
	}
	defer beat(ctx)()
	if request.Signal != "" {
		if result.Refused = a.refuseSignal(cronJob.Annotations, request.Signal); result.Refused != nil {
			a.Events.onCronJob(request.CronJob, event.Warning(signalRefused, result.Refused.Message))
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
	var replacing *schedule.Start
	if request.Start != nil {
		result.Started, result.Refused, err = a.judgeStart(ctx, cronJob, *request.Start)
		if err != nil {
			return result, err
		}
		if a.acceptsStart(cronJob, *request.Start) {
			replacing = request.Start
		}
	}
	if result.Refused == nil {
		if result.Deleted, err = a.deleteJobs(ctx, cronJob, request.Deletes, replacing); err != nil {
			return result, err
		}
	}
	if request.Start != nil && result.Started == nil && result.Refused == nil {
		result.Started, result.Refused, err = a.startJob(ctx, cronJob, *request.Start)
		if err != nil {
			return result, err
		}
	}
	if request.Judge && result.Refused == nil {
		result.Judgement = a.judgeTemplate(ctx, cronJob, request.Status)
	}
	if request.Status != nil && result.Refused == nil {
		a.applyCronJobStatus(ctx, cronJob, request, &result)
	}
	a.Events.onCronJob(request.CronJob, request.Events...)
	a.announceJudgement(request.CronJob, result.Judgement)
	return result, nil
}

// deleteJobs deletes what is replaced or falls out of the history limits, and
// names what is gone or is not the CronJob's. Only a replaced Job has to be gone. start is
// the run that takes its place, if it may start.
func (a *Activities) deleteJobs(ctx context.Context, cronJob *ostinatov1.CronJob, deletes []schedule.Delete, start *schedule.Start) ([]string, error) {
	gone := make([]bool, len(deletes))
	indexes := make([]int, len(deletes))
	for i := range indexes {
		indexes[i] = i
	}
	err := each(indexes, func(i int) (err error) {
		gone[i], err = a.deleteJob(ctx, cronJob, deletes[i], start)
		return err
	})
	var names []string
	for i, target := range deletes {
		if gone[i] {
			names = append(names, target.Name)
		}
	}
	return names, err
}

// deleteJob deletes a Job of the CronJob, if it may be deleted. The Job is read first,
// from the watch cache, since a delete can't say whose the Job must be.
func (a *Activities) deleteJob(ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete, start *schedule.Start) (gone bool, err error) {
	reference := cronJobReference(cronJob)
	found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, target.Name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) || err == nil && string(found.UID) != target.UID {
		found, err = k8s.GetJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID))
	}
	switch {
	case errors.Is(err, k8s.ErrGone), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return true, nil
	case err != nil && target.Replaced:
		return false, outage(err, "get Job %s/%s, which is to be replaced", cronJob.Namespace, target.Name)
	case err != nil:
		return false, nil
	}
	if why := schedule.Deletable(cronJob, target, claim.Finished(found) != nil, start); why != "" {
		if target.Replaced {
			return false, refusedError(&protocol.Refusal{Reason: protocol.RefusedNotPrescribed, Message: why}, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
		}
		return false, nil
	}
	deleted, err := k8s.DeleteJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID))
	switch {
	case err == nil:
		if deleted {
			a.Events.onCronJob(reference, event.Normal(successfulDelete, "Deleted job "+target.Name))
		}
		return true, nil
	case answered(err):
		// Upstream's own words (parity 1.9).
		a.Events.onCronJob(reference, event.Warning(failedDelete, fmt.Sprintf("Deleted job: %v", err)))
	}
	if !target.Replaced {
		return false, nil
	}
	if refused := refusal(err); refused != nil {
		return false, refusedError(refused, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
	}
	return false, outage(err, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
}

// judgeStart says why the run may not be started for the CronJob as it now is, whatever
// a plan says, before anything is deleted for it; neither is set when it may. A Job that
// an earlier attempt has made counts all the same: its run has started.
func (a *Activities) judgeStart(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	refused, err := a.refuseStart(ctx, cronJob, start)
	if refused == nil || err != nil {
		return nil, nil, err
	}
	found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, start.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return nil, refused, nil
	case err != nil:
		return nil, nil, outage(err, "get Job %s/%s", cronJob.Namespace, start.Name)
	}
	return a.startedJob(found, start), nil, nil
}

func (a *Activities) refuseStart(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.Refusal, error) {
	if why := schedule.Prescribed(cronJob, start, a.Clock.Now()); why != "" {
		return &protocol.Refusal{Reason: protocol.RefusedNotPrescribed, Message: why}, nil
	}
	if refused := a.refuseManual(cronJob, start); refused != nil {
		a.Events.onCronJob(cronJobReference(cronJob), event.Warning(signalRefused, refused.Message))
		return refused, nil
	}
	if start.IsTooLate(a.Clock.Now()) {
		return &protocol.Refusal{
			Reason:  protocol.RefusedTooLate,
			Message: "it is too late for the run of " + start.Scheduled.UTC().Format(time.RFC3339),
		}, nil
	}
	return a.refuseBeside(ctx, cronJob, start)
}

// refuseBeside says why the run may not start beside the runs that are active by the
// CronJob's status, where that bounds their number.
func (a *Activities) refuseBeside(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.Refusal, error) {
	spec := start.Under(schedule.SpecOf(cronJob))
	policy, capacity := spec.ConcurrencyPolicy, spec.Capacity()
	if capacity == 0 || policy == batchv1.ReplaceConcurrent || len(cronJob.Status.Active) < capacity {
		return nil, nil
	}
	var running []string
	for _, active := range cronJob.Status.Active {
		if active.Name == start.Name {
			continue
		}
		found, err := k8s.GetJob(ctx, a.Kubernetes, cronJob.Namespace, active.Name, active.UID)
		switch {
		case errors.Is(err, k8s.ErrGone):
		case err != nil:
			return nil, outage(err, "get Job %s/%s", cronJob.Namespace, active.Name)
		case claim.Finished(found) == nil && claim.OfCronJob(found, cronJob.Name, cronJob.UID):
			running = append(running, active.Name)
		}
		if len(running) == capacity {
			return &protocol.Refusal{
				Reason:  protocol.RefusedNotPrescribed,
				Message: fmt.Sprintf("Job %s runs, and concurrencyPolicy is %s", running[0], policy),
			}, nil
		}
	}
	return nil, nil
}

// refuseManual says why the CronJob does not take the signal that asked for the run; nil
// when it does, and for a scheduled run.
func (a *Activities) refuseManual(cronJob *ostinatov1.CronJob, start schedule.Start) *protocol.Refusal {
	if !start.Manual {
		return nil
	}
	if start.Backfill != 0 {
		return a.refuseSignal(cronJob.Annotations, steering.Backfill)
	}
	return a.refuseSignal(cronJob.Annotations, steering.Trigger)
}

// acceptsStart reports whether the run may start as it asks to: that its Job is there
// already does not make it so.
func (a *Activities) acceptsStart(cronJob *ostinatov1.CronJob, start schedule.Start) bool {
	return schedule.Prescribed(cronJob, start, a.Clock.Now()) == "" && a.refuseManual(cronJob, start) == nil
}

// startJob creates the run's Job or finds it made by an earlier attempt.
func (a *Activities) startJob(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	reference := cronJobReference(cronJob)
	wanted := k8s.RenderJob(cronJob, start, a.jobWorkflow(cronJob.Namespace, start.Name))
	// A Job's name keeps it from being made twice only as long as it is there.
	owned, release, err := a.owned(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	created, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(owned, wanted, metav1.CreateOptions{})
	switch {
	case err == nil:
		a.Events.onCronJob(reference, event.Normal(successfulCreate, "Created job "+created.Name))
		if !start.Manual {
			a.Metrics.creationSkew.Observe(created.CreationTimestamp.Sub(start.Scheduled).Seconds())
		}
		return a.startedJob(created, start), nil, nil
	case apierrors.IsAlreadyExists(err):
		return a.findJob(ctx, cronJob, start)
	}
	refused := refusal(err)
	if answered(err) && (refused == nil || refused.Reason != protocol.RefusedNamespaceTerminating) {
		a.Events.onCronJob(reference, event.Warning(failedCreate, fmt.Sprintf("Error creating job: %v", err)))
	}
	if refused != nil {
		a.Metrics.countRefusal("Job", refused)
		return nil, refused, nil
	}
	return nil, nil, outage(err, "create Job %s/%s", cronJob.Namespace, start.Name)
}

// findJob looks at the Job that has the wanted name already.
func (a *Activities) findJob(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, start.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, outage(err, "get Job %s/%s, whose name is taken", cronJob.Namespace, start.Name)
	}
	if !claim.OfCronJob(found, cronJob.Name, cronJob.UID) {
		refused := foreignObject(fmt.Sprintf("Job %q exists and is not controlled by CronJob %q", start.Name, cronJob.Name))
		a.Metrics.countRefusal("Job", refused)
		a.Events.onCronJob(cronJobReference(cronJob), event.Warning(failedCreate, "Error creating job: "+refused.Message))
		return nil, refused, nil
	}
	return a.startedJob(found, start), nil, nil
}

func (a *Activities) startedJob(stored *batchv1.Job, start schedule.Start) *protocol.StartedJob {
	return &protocol.StartedJob{
		Run: schedule.Run{
			Name:            stored.Name,
			UID:             string(stored.UID),
			Scheduled:       start.Scheduled,
			Manual:          start.Manual,
			Backfill:        start.Backfill,
			Started:         stored.CreationTimestamp.UTC(),
			ResourceVersion: stored.ResourceVersion,
		},
		Spec:    a.specOf(stored),
		Managed: claim.Ours(stored, a.TakeOverJobs),
	}
}

// applyCronJobStatus writes the status with the run in it that was started. That it
// can't be written stops no run: it is part of the result, and tried again later.
func (a *Activities) applyCronJobStatus(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.CronJobRequest, result *protocol.CronJobResult) {
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
	ctx, release, err := a.owned(ctx)
	if err != nil {
		result.StatusFailed = k8s.Bounded(err.Error())
		return
	}
	defer release()
	ctx, cancel := withHalfTheTime(ctx)
	defer cancel()
	err = k8s.ApplyCronJobStatus(ctx, a.cronJobs(k8s.IsNative(cronJob)), cronJob, &status)
	switch {
	case err == nil:
		return
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return
	}
	result.StatusFailed = k8s.Bounded(err.Error())
	if answered(err) {
		a.Events.onCronJob(cronJobReference(cronJob), event.Warning(failedStatus, "Error updating status: "+err.Error()))
	}
	if refused := refusal(err); refused != nil {
		a.Metrics.countRefusal("CronJobStatus", refused)
	}
	activity.GetLogger(ctx).Error("CronJob status not written", "namespace", cronJob.Namespace, "cronjob", cronJob.Name, "error", err)
}

// withHalfTheTime leaves time to report that a request was not answered.
func withHalfTheTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

func cronJobReference(cronJob *ostinatov1.CronJob) protocol.ObjectReference {
	return protocol.ObjectReference{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID), Native: k8s.IsNative(cronJob),
	}
}
