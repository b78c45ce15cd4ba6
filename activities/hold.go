package activities

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// maxAhead is how far the clock by which a run comes due may be ahead of this process's
	// for its start to be held.
	maxAhead = 3 * time.Second
	// mostHeld is how many are held at a time where Options does not say.
	mostHeld = 1000
)

// hold waits until the time of the run has come, by the clock of this process. It reports
// whether it has waited. A refusal says that it can't: so long it may not wait, or others
// would be kept from work by those that wait.
func (a *Activities) hold(ctx context.Context, namespace string, start schedule.Start) (held bool, refused *protocol.Refusal, err error) {
	wait := start.Scheduled.Sub(a.Clock.Now())
	if wait <= 0 || start.Manual && start.Backfill == 0 {
		return false, nil, nil
	}
	if wait > a.StartLead+maxAhead || !a.held.enter(namespace) {
		return false, &protocol.Refusal{
			Reason:  protocol.RefusedTooEarly,
			Message: "the time of the run of " + start.Scheduled.UTC().Format(time.RFC3339) + " has not come",
		}, nil
	}
	defer a.held.exit(namespace)
	for wait > 0 {
		timer := a.Clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return true, nil, outage(ctx.Err(), "wait for the time of Job %s", start.Name)
		}
		wait = start.Scheduled.Sub(a.Clock.Now())
	}
	return true, nil, nil
}

// lookAgain returns the CronJob as it is now that the time of the run has come. Where it
// has changed it is judged anew; nil where the result says that it was edited or is gone.
func (a *Activities) lookAgain(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.CronJobRequest, result *protocol.CronJobResult) (*ostinatov1.CronJob, error) {
	reference := request.CronJob
	glance, err := a.cronJobs(reference.Native).Glance(ctx, reference.Namespace, reference.Name)
	switch {
	case err == nil && glance.UID == cronJob.UID && glance.ResourceVersion == cronJob.ResourceVersion && glance.Generation == cronJob.Generation:
		return cronJob, nil
	case err != nil && !apierrors.IsNotFound(err):
		return nil, outage(err, "get CronJob %s/%s", reference.Namespace, reference.Name)
	}
	// The watch cache of another API server may be behind: only a live read tells.
	if cronJob, err = a.cronJob(ctx, reference); err != nil || cronJob == nil {
		result.Gone = err == nil
		return nil, err
	}
	if spec := schedule.SpecOf(cronJob); spec.Digest() != request.Digest {
		result.CurrentSpec = &spec
		return nil, nil
	}
	result.Started, result.Refused, err = a.judgeStart(ctx, cronJob, *request.Start)
	return cronJob, err
}
