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
	owner, result, fresh, done, err := a.plannedJob(ctx, request)
	if done {
		return result, err
	}
	if matched(owner, request.Judge, &result) {
		return result, nil
	}
	defer func() { a.Metrics.observeSync(owner, request, started, a.Clock.Now(), err) }()

	refused, err := a.refuseCreates(ctx, owner, request.Creates)
	if err != nil {
		return result, err
	}
	if refused != nil {
		result.Refused = refused
		if refused.Reason == ledger.NotPrescribed {
			result.Current, result.CurrentSpec = &owner.Status, ptr.To(a.specOf(owner))
		}
		return result, nil
	}
	events := a.Events.besides(len(request.Events))
	pace, _ := a.pace(len(request.Creates)+len(request.Deletes), len(request.Releases))
	// An attempt that is given up ends with the answers to its creates, so that no Pod comes beside the next plan.
	result.Created, result.Refused, err = a.createPods(context.WithoutCancel(ctx), owner, request.Creates, request.Status, events,
		func(context.Context) error { return pace(ctx) })
	if err = cmp.Or(err, ctx.Err()); err != nil || result.Refused != nil {
		return result, err
	}
	pods := a.seekPods(ctx, owner, request)
	err = eachTarget(request.Deletes, &result.Report, func(target job.Delete) (job.Report, error) {
		return pods.act(target.UID, "", func() (report job.Report, wrote bool, err error) {
			if err := pace(ctx); err != nil {
				return report, false, outage(err, "wait to delete Pod %s/%s", owner.Namespace, target.Name)
			}
			report, err = a.deletePod(ctx, owner, target, false, events)
			return report, false, err
		})
	})
	if err != nil {
		return result, err
	}
	if request.Status != nil {
		if result, done, err = a.requestJobStatus(ctx, owner, fresh, request, result); err != nil || !done {
			return result, err
		}
	} else {
		a.Metrics.countHandled(request.Handled)
		a.Events.on(aJob(request.Job), request.Events...)
	}
	result.Logs = a.readLogs(ctx, owner, request.Releases, pods)
	err = eachTarget(request.Releases, &result.Report, func(release job.Release) (job.Report, error) {
		return pods.act(release.UID, release.Phase, func() (report job.Report, wrote bool, err error) {
			if err := pace(ctx); err != nil {
				return report, false, outage(err, "wait to release Pod %s/%s", owner.Namespace, release.Name)
			}
			return a.releasePod(ctx, owner, release)
		})
	})
	return result, err
}

// pace returns what to wait for ahead of each Pod of a request, and whether that is the limit of bulk work.
func (a *Activities) pace(writes, releases int) (wait func(context.Context) error, bulk bool) {
	if job.Bulk(writes, releases) {
		return a.bulk.Wait, true
	}
	return atOnce, false
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

// requestJobStatus writes the status and emits the request's Events; done is false when the result says why not. The write goes
// on where the attempt that sent it is given up, and its Events come: the next attempt finds the status there.
func (a *Activities) requestJobStatus(ctx context.Context, owner *batchv1.Job, fresh freshness, request protocol.JobRequest, result protocol.JobResult) (protocol.JobResult, bool, error) {
	var done bool
	var err error
	given, answered := result, make(chan struct{})
	go func() {
		defer close(answered)
		done, err = a.applyJobStatus(ctx, owner, fresh, request, &given)
	}()
	select {
	case <-ctx.Done():
		return result, false, outage(ctx.Err(), "apply status of Job %s/%s", owner.Namespace, owner.Name)
	case <-answered:
		return given, done, err
	}
}

// applyJobStatus writes the status; done is false when the result says why not. Events are emitted when the
// write changed the status of a Job that had not ended: what ended it has emitted its own.
func (a *Activities) applyJobStatus(ctx context.Context, owner *batchv1.Job, fresh freshness, request protocol.JobRequest, result *protocol.JobResult) (done bool, err error) {
	before, after, over, err := a.writeJobStatus(ctx, owner, fresh, request, result)
	refused := refusal(err)
	switch {
	case over:
		return false, err
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return false, nil
	case refused != nil:
		a.Metrics.countRefusal("JobStatus", refused)
		return false, a.refuseStatus(ctx, owner, refused, result)
	case err != nil:
		return false, outage(err, "apply status of Job %s/%s", owner.Namespace, owner.Name)
	case apiequality.Semantic.DeepEqual(before.Status, after.Status):
		return true, nil
	}
	a.Metrics.countStatus(before, after, request.Handled)
	if claim.Finished(before) == nil {
		a.Events.on(aJob(request.Job), request.Events...)
	}
	return true, nil
}

// refuseStatus reports the refusal and the Job as it now is, so that the next plan starts from there.
func (a *Activities) refuseStatus(ctx context.Context, owner *batchv1.Job, refused *protocol.Refusal, result *protocol.JobResult) error {
	current, err := k8s.GetJob(ctx, a.Kubernetes, owner.Namespace, owner.Name, owner.UID)
	switch {
	case errors.Is(err, k8s.ErrGone):
		result.Gone = true
		return nil
	case err != nil:
		return outage(err, "get Job %s/%s, which refused its status", owner.Namespace, owner.Name)
	}
	result.StatusRefused, result.Current, result.CurrentSpec = refused.Message, &current.Status, ptr.To(a.specOf(current))
	return nil
}

// plannedJob reads the Job of a request; done says that the answer is given already. No live read is needed where the
// request begins with the write of a status, which the API server refuses unless the object in etcd is as it was read,
// and asks for no logs, which the Job may have opted out of meanwhile.
func (a *Activities) plannedJob(ctx context.Context, request protocol.JobRequest) (owner *batchv1.Job, result protocol.JobResult, fresh freshness, done bool, err error) {
	logs := slices.ContainsFunc(request.Releases, func(release job.Release) bool { return release.Logs })
	if request.Status != nil && len(request.Creates) == 0 && len(request.Deletes) == 0 && !logs {
		owner, result, done, err = a.jobFor(ctx, request.Job, cached)
		if err == nil && !done && !a.unplanned(owner, request, new(protocol.JobResult)) {
			return owner, result, cached, false, nil
		}
	}
	// The watch cache may be behind what was planned from.
	owner, result, done, err = a.jobFor(ctx, request.Job, live)
	return owner, result, live, done || err == nil && a.unplanned(owner, request, &result), err
}

// writeJobStatus writes the status, unless the Job was read from the cache and turns out not to be the planned one:
// then done is set and the result says so.
func (a *Activities) writeJobStatus(ctx context.Context, owner *batchv1.Job, fresh freshness, request protocol.JobRequest, result *protocol.JobResult) (before, after *batchv1.Job, done bool, err error) {
	if fresh == cached {
		after, err = k8s.WriteJobStatus(ctx, a.Kubernetes, owner, request.Status, request.Counted)
		if !apierrors.IsConflict(err) {
			return owner, after, false, err
		}
		var current protocol.JobResult
		owner, current, done, err = a.jobFor(ctx, request.Job, live)
		if err != nil || done || a.unplanned(owner, request, &current) {
			*result = current
			return nil, nil, true, err
		}
	}
	before, after, err = k8s.ApplyJobStatus(ctx, a.Kubernetes, owner, request.Status, request.Counted)
	return before, after, false, err
}
