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
// The Events of the request are emitted also when the start was refused: they
// tell of what has happened.
func (a *Activities) ReconcileCronJob(ctx context.Context, request protocol.CronJobRequest) (result protocol.CronJobResult, err error) {
	cronJob, err := k8s.GetCronJob(ctx, a.CronJobs, request.CronJob.Namespace, request.CronJob.Name, types.UID(request.CronJob.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		return protocol.CronJobResult{Gone: true}, nil
	case err != nil:
		return result, outage(err, "get CronJob %s/%s", request.CronJob.Namespace, request.CronJob.Name)
	}
	if result.Deleted, err = a.deleteJobs(ctx, request); err != nil {
		return result, err
	}
	if request.Start != nil {
		result.Started, result.Refused, err = a.startJob(ctx, cronJob, *request.Start)
		if err != nil {
			return result, err
		}
	}
	if request.Status != nil && result.Refused == nil {
		if err := a.applyCronJobStatus(ctx, cronJob, *request.Status, &result); err != nil {
			return result, err
		}
	}
	a.Events.onCronJob(request.CronJob, request.Events...)
	return result, nil
}

// deleteJobs deletes what is replaced or falls out of the history limits, and
// names what is gone. Only a replaced Job has to be gone.
func (a *Activities) deleteJobs(ctx context.Context, request protocol.CronJobRequest) ([]string, error) {
	gone := make([]bool, len(request.Deletes))
	indexes := make([]int, len(request.Deletes))
	for i := range indexes {
		indexes[i] = i
	}
	err := each(indexes, func(i int) error {
		target := request.Deletes[i]
		deleted, err := k8s.DeleteJob(ctx, a.Kubernetes, request.CronJob.Namespace, target.Name, types.UID(target.UID))
		switch {
		case err == nil:
			gone[i] = true
			if deleted {
				a.Events.onCronJob(request.CronJob, event.Normal(successfulDelete, "Deleted job "+target.Name))
			}
			return nil
		case answered(err):
			// Upstream's own words (parity 1.9).
			a.Events.onCronJob(request.CronJob, event.Warning(failedDelete, fmt.Sprintf("Deleted job: %v", err)))
		}
		if !target.Replaced {
			return nil
		}
		if refused := refusal(err); refused != nil {
			return refusedError(refused, "delete replaced Job %s/%s", request.CronJob.Namespace, target.Name)
		}
		return outage(err, "delete replaced Job %s/%s", request.CronJob.Namespace, target.Name)
	})
	var names []string
	for i, target := range request.Deletes {
		if gone[i] {
			names = append(names, target.Name)
		}
	}
	return names, err
}

// startJob creates the run's Job or finds it made by an earlier attempt.
func (a *Activities) startJob(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	reference := cronJobReference(cronJob)
	if cronJob.DeletionTimestamp != nil {
		return nil, &protocol.Refusal{Reason: protocol.RefusedOther, Message: "the CronJob is being deleted"}, nil
	}
	if start.IsTooLate(a.Clock.Now()) {
		return a.findLateJob(ctx, cronJob, start)
	}
	wanted := k8s.RenderJob(cronJob, start, a.jobWorkflow(cronJob.Namespace, start.Name))
	created, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
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

// findLateJob finds the Job that an earlier attempt made, when it is too late to
// make one.
func (a *Activities) findLateJob(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	_, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, start.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &protocol.Refusal{
			Reason:  protocol.RefusedTooLate,
			Message: "it is too late for the run of " + start.Scheduled.UTC().Format(time.RFC3339),
		}, nil
	}
	return a.findJob(ctx, cronJob, start)
}

// findJob looks at the Job that has the wanted name already.
func (a *Activities) findJob(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, start.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, outage(err, "get Job %s/%s, whose name is taken", cronJob.Namespace, start.Name)
	}
	if !metav1.IsControlledBy(found, cronJob) {
		refused := foreign(fmt.Sprintf("Job %q exists and is not controlled by CronJob %q", start.Name, cronJob.Name))
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
			Started:         stored.CreationTimestamp.UTC(),
			ResourceVersion: stored.ResourceVersion,
		},
		Spec:    job.SpecOf(stored).WithDefaults(a.JobDefaults),
		Managed: k8s.Managed(stored, a.TakeOverJobs),
	}
}

// applyCronJobStatus writes the status with the run in it that was started. A
// status that is refused must not stop the schedule: it is announced, and the
// next one is another attempt.
func (a *Activities) applyCronJobStatus(ctx context.Context, cronJob *ostinatov1.CronJob, status ostinatov1.CronJobStatus, result *protocol.CronJobResult) error {
	if result.Started != nil {
		status = schedule.StatusStarted(status, result.Started.Run, cronJob.Namespace)
	}
	status.Workflow = &ostinatov1.WorkflowReference{
		Namespace: a.Namespace,
		ID:        a.Cluster.CronJobWorkflowID(cronJob.Namespace, cronJob.Name),
	}
	err := k8s.ApplyCronJobStatus(ctx, a.CronJobs, cronJob, &status)
	if err == nil {
		return nil
	}
	if errors.Is(err, k8s.ErrGone) {
		result.Gone = true
		return nil
	}
	if refused := refusal(err); refused != nil {
		a.Metrics.countRefusal("CronJobStatus", refused)
		a.Events.onCronJob(cronJobReference(cronJob), event.Warning(failedStatus, "Error updating status: "+refused.Message))
		activity.GetLogger(ctx).Error("CronJob status refused",
			"namespace", cronJob.Namespace, "cronjob", cronJob.Name, "reason", refused.Reason, "message", refused.Message)
		return nil
	}
	return outage(err, "apply status of CronJob %s/%s", cronJob.Namespace, cronJob.Name)
}

func cronJobReference(cronJob *ostinatov1.CronJob) protocol.ObjectReference {
	return protocol.ObjectReference{Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID)}
}
