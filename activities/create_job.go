package activities

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
)

// createJob creates the run's Job or finds it made by an earlier attempt. It leaves the Event of a new one to the caller. The
// create outlasts a cancellation of the attempt, which ends with the answer to it.
func (s *startAttempt) createJob(ctx context.Context) (stored *batchv1.Job, isNew bool, err error) {
	cronJob, start := s.object, s.request.Start
	wanted := k8s.RenderJob(cronJob, start, s.jobWorkflow(cronJob.Namespace, start.Name))
	// A Job's name keeps it from being made twice only as long as it is there.
	created, err := write(ctx, func(ctx context.Context) (*batchv1.Job, error) {
		s.sent = true
		return s.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	})
	switch {
	case err == nil:
		if !start.Manual {
			s.Metrics.creationSkew.Observe(created.CreationTimestamp.Sub(start.Scheduled).Seconds())
		}
		return created, true, nil
	case apierrors.IsAlreadyExists(err):
		found, err := s.takenName(ctx)
		return found, false, err
	}
	refused := refusedCreate(err)
	if refused != nil {
		// Admission judges before the name is looked at, and the Job that an earlier attempt has made may have used up the quota.
		if found, err := s.job(ctx, cronJob); found != nil && !s.byHand(found) || err != nil {
			return found, false, err
		}
	}
	if answered(err) && (refused == nil || refused.Reason != ledger.NamespaceTerminating) {
		s.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.FailedCreate, fmt.Sprintf("Error creating job: %v", err)))
	}
	if refused != nil {
		s.Metrics.countRefusal("Job", refused)
		s.result.Refused = refused
		return nil, false, nil
	}
	return nil, false, outage(err, "create Job %s/%s", cronJob.Namespace, start.Name)
}

// byHand reports whether a person has made the Job that has the name of a manual run: it is not what another has asked for. The
// name is no secret.
func (s *startAttempt) byHand(found *batchv1.Job) bool {
	return s.request.Start.Manual && s.maker(found) != ""
}

// takenName returns the Job that has the name of the run, if it is the run's. That of a trigger is not older than the trigger.
func (s *startAttempt) takenName(ctx context.Context) (*batchv1.Job, error) {
	cronJob, start := s.object, s.request.Start
	found, err := s.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, start.Name, metav1.GetOptions{})
	if err != nil {
		return nil, outage(err, "get Job %s/%s, whose name is taken", cronJob.Namespace, start.Name)
	}
	ours := claim.OfCronJob(found, cronJob.Name, cronJob.UID)
	older := start.Manual && start.Backfill == 0 && found.CreationTimestamp.Add(maxAhead).Before(start.Scheduled)
	refused := refuse(ledger.ForeignObject, "Job %q exists and is not controlled by CronJob %q", start.Name, cronJob.Name)
	switch {
	case !ours:
	case s.byHand(found):
		refused = refuse(ledger.ForeignObject, "Job %q exists, and %s has made it", start.Name, s.maker(found))
	case older:
		refused = refuse(ledger.ForeignObject, "Job %q exists, and is older than the trigger", start.Name)
	default:
		return found, nil
	}
	s.Metrics.countRefusal("Job", refused)
	s.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.FailedCreate, "Error creating job: "+refused.Message))
	s.result.Refused = refused
	return nil, nil
}
