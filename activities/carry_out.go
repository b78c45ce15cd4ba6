package activities

import (
	"cmp"
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

// CarryOut carries out a JobRequest. An error means that the API server could not be asked, and
// that the whole request is to be repeated. After a refused create the rest is left to the next
// plan; failures of single Pods end nothing. Work on many Pods is rate limited (BulkQPS).
//
// An attempt that has made or deleted Pods, or released some, reports them, whatever has no answer then: a request that was
// repeated until each of hundreds of writes has one would never end. The next plan does the rest.
//
// It may run again after it succeeded, since a lost workflow task forgets its local activities.
// A status that is there already shows it, and its Events are not emitted twice.
func (a *Activities) CarryOut(ctx context.Context, request protocol.JobRequest) (_ protocol.JobResult, err error) {
	if err := invalidRequest(cmp.Or(bounded(list{"creates", len(request.Creates), job.MaxPods}, list{"deletes", len(request.Deletes), job.MaxPods},
		list{"releases", len(request.Releases), job.MaxPods}, list{"counted", len(request.Counted), job.MaxCounted},
		list{"events", len(request.Events), event.MaxPerRequest}), errors.Join(event.Validate(request.Events), invalidHandled(request.Handled),
		job.ValidateStatus(ptr.Deref(request.Status, batchv1.JobStatus{}))))); err != nil {
		return protocol.JobResult{}, err
	}
	started := a.Clock.Now()
	ctx, cancel := leavingAnswers(ctx)
	defer cancel()
	owner, result, fresh, done, err := a.plannedJob(ctx, request)
	if done {
		return result, err
	}
	if matched(owner, request.Judge, &result) {
		return result, nil
	}
	defer func() { a.Metrics.observeSync(owner, request, started, a.Clock.Now(), err) }()

	report, refuted, err := a.audit(ctx, owner, request)
	if err == nil && refuted && fresh == cached {
		// What is counted may follow from what an earlier plan has counted since.
		current, answer, done, failure := a.plannedNow(ctx, request)
		if done {
			return answer, failure
		}
		if current.ResourceVersion != owner.ResourceVersion {
			report, refuted, err = a.audit(ctx, current, request)
		}
		owner = current
	}
	if err == nil && !refuted {
		report, refuted, err = a.auditFailure(ctx, owner, request)
	}
	if err != nil || refuted {
		result.Report = report
		return result, err
	}
	refused, beside, err := a.refuseCreates(ctx, owner, request)
	if err != nil {
		return result, err
	}
	if refused != nil {
		result.Refused, result.Unseen = refused, beside
		if refused.Reason == ledger.NotPrescribed {
			result.Current, result.CurrentSpec = &owner.Status, ptr.To(a.specOf(owner))
		}
		return result, nil
	}
	events := a.Events.besides(len(request.Events))
	pace := a.pace(len(request.Creates)+len(request.Deletes), len(request.Releases))
	// The answers to creates are waited for if the attempt is given up, so that no Pod comes beside the next plan.
	result.Created, result.Refused, err = a.createPods(ctx, context.WithoutCancel(ctx), owner, request.Creates, request.Status, events, pace)
	if err != nil || result.Refused != nil {
		return result, err
	}
	pods := a.seekPods(ctx, owner, request, pace)
	report, deleted, err := eachTarget(ctx, request.Deletes, func(ctx context.Context, target job.Delete) (job.Report, error) {
		return pods.act(ctx, target.UID, func() (report job.Report, wrote bool, err error) {
			report, err = a.deletePod(ctx, owner, target, false, events)
			return report, false, err
		})
	})
	result.Report = result.And(report)
	acted := deleted || len(result.Created) > 0
	if err != nil && !acted {
		return result, err
	}
	if request.Status != nil {
		result, done, err = a.applyJobStatus(ctx, owner, request, result)
		if err != nil && acted {
			result.StatusRefused, err = clip.Message(err.Error()), nil
		}
		if err != nil || !done {
			return result, err
		}
	} else {
		a.Metrics.countHandled(request.Handled)
		a.Events.on(aJob(request.Job), request.Events...)
	}
	result.Logs = a.readLogs(ctx, owner, request.Releases, pods)
	releasable := mayRelease(owner, request)
	report, released, err := eachTarget(ctx, request.Releases, func(ctx context.Context, release job.Release) (job.Report, error) {
		if !releasable(release.UID) {
			return job.Report{Failures: []job.PodFailure{{UID: release.UID, Message: "the Job does not name the Pod as counted", Unnoted: true}}}, nil
		}
		return pods.act(ctx, release.UID, func() (job.Report, bool, error) { return a.releasePod(ctx, owner, release) })
	})
	result.Report = result.And(report)
	if acted || released {
		err = nil
	}
	return result, err
}

// pace returns what to wait for ahead of each Pod of a request.
func (a *Activities) pace(writes, releases int) func(context.Context) error {
	if !job.Bulk(writes, releases) {
		return atOnce
	}
	return func(ctx context.Context) error {
		if err := a.bulk.Wait(ctx); err != nil {
			return outage(err, "wait for the limit of bulk work")
		}
		return nil
	}
}

// unplanned reports whether the Job has another spec than the plan, or a later status, and answers with both.
func (a *Activities) unplanned(owner *batchv1.Job, request protocol.JobRequest, result *protocol.JobResult) bool {
	if job.SpecOf(owner).Digest() == request.Digest {
		if !statusIsLater(owner, request) {
			return false
		}
		result.Current = &owner.Status
	}
	result.Unplanned, result.CurrentSpec = true, ptr.To(a.specOf(owner))
	return true
}

// statusIsLater reports whether the Job's status is later than the plan's. An earlier attempt may have written the first
// status, and had no answer.
func statusIsLater(owner *batchv1.Job, request protocol.JobRequest) bool {
	if request.Base == nil || !job.Overtaken(owner.Status, k8s.CountersByOthers(owner), *request.Base) {
		return false
	}
	return request.Status == nil || !k8s.HasJobStatus(owner, request.Status)
}

// matched reports whether the indexes meet a rule of the Job's success policy, and answers with the rule.
func matched(owner *batchv1.Job, completed job.Indexes, result *protocol.JobResult) bool {
	rule, ok := job.MatchedRule(owner, completed)
	if ok {
		result.Matched = &rule
	}
	return ok
}

// applyJobStatus writes the status; done is false when the result says why not. Events are emitted when the
// write changed the status of a Job that had not ended: what ended it has emitted its own.
func (a *Activities) applyJobStatus(
	ctx context.Context, owner *batchv1.Job, request protocol.JobRequest, result protocol.JobResult,
) (_ protocol.JobResult, done bool, err error) {
	before, after, other, err := a.writeJobStatus(ctx, owner, request)
	refused := refusal(err)
	switch {
	case other != nil:
		return *other, false, nil
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return result, false, nil
	case refused != nil:
		a.Metrics.countRefusal("JobStatus", refused)
		result, err = a.refuseStatus(ctx, owner, refused, result)
		return result, false, err
	case err != nil:
		return result, false, outage(err, "apply status of Job %s/%s", owner.Namespace, owner.Name)
	case apiequality.Semantic.DeepEqual(before.Status, after.Status):
		return result, true, nil
	}
	a.Metrics.countStatus(before, after, request.Handled)
	if claim.Finished(before) == nil {
		a.Events.on(aJob(request.Job), request.Events...)
	}
	return result, true, nil
}

// refuseStatus reports the refusal and the Job as it now is, so that the next plan starts from there.
func (a *Activities) refuseStatus(ctx context.Context, owner *batchv1.Job, refused *protocol.Refusal, result protocol.JobResult) (protocol.JobResult, error) {
	current, err := k8s.GetJob(ctx, a.Kubernetes, owner.Namespace, owner.Name, owner.UID)
	switch {
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return result, nil
	case err != nil:
		return result, outage(err, "get Job %s/%s, which refused its status", owner.Namespace, owner.Name)
	}
	result.StatusRefused, result.Current, result.CurrentSpec = refused.Message, &current.Status, ptr.To(a.specOf(current))
	return result, nil
}

// plannedJob reads the Job of a request; done says that the answer is given already. No live read is needed where the
// request begins with the write of a status, which the API server refuses unless the object in etcd is as it was read,
// and asks for no logs, which the Job may have opted out of meanwhile. A failure is judged by the Job as it is now.
func (a *Activities) plannedJob(ctx context.Context, request protocol.JobRequest) (owner *batchv1.Job, result protocol.JobResult, fresh freshness, done bool, err error) {
	logs := slices.ContainsFunc(request.Releases, func(release job.Release) bool { return release.Logs })
	_, fails := job.FailureReason(ptr.Deref(request.Status, batchv1.JobStatus{}))
	if request.Status != nil && !fails && len(request.Creates) == 0 && len(request.Deletes) == 0 && !logs {
		owner, result, done, err = a.jobFor(ctx, request.Job, cached)
		if err == nil && !done && !a.unplanned(owner, request, new(protocol.JobResult)) {
			return owner, result, cached, false, nil
		}
	}
	owner, result, done, err = a.plannedNow(ctx, request)
	return owner, result, live, done, err
}

// plannedNow is plannedJob live: the watch cache may be behind what was planned from.
func (a *Activities) plannedNow(ctx context.Context, request protocol.JobRequest) (owner *batchv1.Job, result protocol.JobResult, done bool, err error) {
	owner, result, done, err = a.jobFor(ctx, request.Job, live)
	return owner, result, done || err == nil && a.unplanned(owner, request, &result), err
}

// statusAttempts bounds how often a status is merged anew with what another writer has put on the Job.
const statusAttempts = 5

// writeJobStatus writes the status, unless other says that the Job is not the planned one any more. Where Pods were made or
// deleted by the plan, its status is written all the same.
func (a *Activities) writeJobStatus(
	ctx context.Context, owner *batchv1.Job, request protocol.JobRequest,
) (before, after *batchv1.Job, other *protocol.JobResult, err error) {
	for attempt := 1; ; attempt++ {
		noted, err := a.noting(ctx, owner, request)
		if err != nil {
			return nil, nil, nil, err
		}
		after, err = write(ctx, func(ctx context.Context) (*batchv1.Job, error) {
			return k8s.WriteJobStatus(ctx, a.Kubernetes, owner, request.Status, noted)
		})
		if !apierrors.IsConflict(err) || attempt == statusAttempts {
			return owner, after, nil, err
		}
		current, answer, done, err := a.jobFor(ctx, request.Job, live)
		if err != nil {
			return nil, nil, nil, err
		}
		acted := len(request.Creates) > 0 || len(request.Deletes) > 0
		if done || !acted && a.unplanned(current, request, &answer) {
			return nil, nil, &answer, nil
		}
		owner = current
	}
}
