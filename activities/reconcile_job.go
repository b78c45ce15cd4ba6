package activities

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// ReconcileJob carries out a JobRequest. Its result says what became of it; an
// error means that the API server could not be asked, and that the whole is to
// be repeated. A refused create ends it: later Creates, the Status, the Releases
// and the Events are left to the next plan.
//
// It may run again after it succeeded: what a local activity has done is forgotten
// with the workflow task that it ran in, when a signal comes before the task ends.
// A status that is there already tells, and its Events are not said twice.
func (a *Activities) ReconcileJob(ctx context.Context, request protocol.JobRequest) (result protocol.JobResult, err error) {
	started := a.Clock.Now()
	owner, err := k8s.GetJob(ctx, a.Kubernetes, request.Job.Namespace, request.Job.Name, types.UID(request.Job.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		return protocol.JobResult{Gone: true}, nil
	case err != nil:
		return result, outage(err, "get Job %s/%s", request.Job.Namespace, request.Job.Name)
	}
	defer func() { a.Metrics.observeSync(owner, request, started, a.Clock.Now(), err) }()

	if refused := a.refuseCreates(owner, request.Creates); refused != nil {
		return a.refusedJob(owner, refused), nil
	}
	result.Created, result.Refused, err = a.createFor(ctx, owner, request)
	if err != nil || result.Refused != nil {
		return result, err
	}
	events := a.Events.perPod()
	err = each(request.Deletes, func(target job.Delete) error { return a.deletePod(ctx, request.Job, target, events) })
	if err != nil {
		return result, err
	}
	news := true
	if request.Status != nil {
		var done bool
		news, done, err = a.applyJobStatus(ctx, owner, request, &result)
		if err != nil || !done {
			return result, err
		}
	}
	if news {
		a.Events.onJob(request.Job, request.Events...)
	}
	result.Logs = a.readLogs(ctx, request.Job.Namespace, request.Releases)
	err = each(request.Releases, func(release job.Release) error { return a.releasePod(ctx, request.Job, release) })
	return result, err
}

// createFor creates the few Pods of a JobRequest.
func (a *Activities) createFor(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest) ([]protocol.CreatedPod, *protocol.Refusal, error) {
	if len(request.Creates) == 0 {
		return nil, nil, nil
	}
	progress := newCreation(request.Creates, nil)
	progress.planned = request.Status
	err := a.createPods(ctx, owner, request.Creates, progress, func(context.Context) error { return nil })
	return progress.created(), progress.refused(), err
}

// applyJobStatus writes the status; done is false when the result says why not, and
// news when the status was there already.
func (a *Activities) applyJobStatus(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest, result *protocol.JobResult) (news, done bool, err error) {
	before, after, err := k8s.ApplyJobStatus(ctx, a.Kubernetes, owner, request.Status)
	if err == nil {
		if apiequality.Semantic.DeepEqual(before.Status, after.Status) {
			return false, true, nil
		}
		a.Metrics.countStatus(before, after, request.Handled)
		return true, true, nil
	}
	if errors.Is(err, k8s.ErrGone) {
		result.Gone = true
		return false, false, nil
	}
	if refused := refusal(err); refused != nil {
		a.Metrics.countRefusal("JobStatus", refused)
		return false, false, a.refuseStatus(ctx, owner, refused, result)
	}
	return false, false, outage(err, "apply status of Job %s/%s", owner.Namespace, owner.Name)
}

// refuseStatus reports the refusal and the Job as it now is, so that the next
// plan starts from there.
func (a *Activities) refuseStatus(ctx context.Context, owner *batchv1.Job, refused *protocol.Refusal, result *protocol.JobResult) error {
	current, err := k8s.GetJob(ctx, a.Kubernetes, owner.Namespace, owner.Name, owner.UID)
	switch {
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return nil
	case err != nil:
		return outage(err, "get Job %s/%s, which refused its status", owner.Namespace, owner.Name)
	}
	spec := job.SpecOf(current).WithDefaults(a.JobDefaults)
	result.StatusRefused, result.Current, result.CurrentSpec = refused.Message, &current.Status, &spec
	return nil
}

func (a *Activities) releasePod(ctx context.Context, owner protocol.ObjectReference, release job.Release) error {
	if _, err := k8s.ReleasePod(ctx, a.Kubernetes, owner.Namespace, release.Name, types.UID(release.UID), release.Phase != ""); err != nil {
		return outage(err, "release Pod %s/%s", owner.Namespace, release.Name)
	}
	return nil
}
