package activities

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// A request whose first write is that of a status needs no live read before it: the write
// is refused unless the object is, in etcd, the one that was read. So the end of a run
// begins with what the API server's watch cache has, of a CronJob with what this process
// remembers. Only what another has changed in the meantime, or what does not look as it was
// planned for, is read live.

// guardedJob reports whether a status is the first that a JobRequest writes, and no log is asked
// for: the Job may have asked meanwhile to keep the logs of its Pods out.
func guardedJob(request protocol.JobRequest) bool {
	return request.Status != nil && len(request.Creates) == 0 && len(request.Deletes) == 0 &&
		!slices.ContainsFunc(request.Releases, func(release job.Release) bool { return release.Logs })
}

// plannedJob reads the Job of a request; done says that the answer is given already.
func (a *Activities) plannedJob(ctx context.Context, request protocol.JobRequest) (owner *batchv1.Job, result protocol.JobResult, fresh freshness, done bool, err error) {
	if guardedJob(request) {
		owner, result, done, err = a.jobFor(ctx, request.Job, cached)
		if err == nil && !done && !a.unplanned(owner, request.Digest, request.Base, new(protocol.JobResult)) {
			return owner, result, cached, false, nil
		}
	}
	// The watch cache may be behind what was planned from.
	owner, result, done, err = a.jobFor(ctx, request.Job, live)
	return owner, result, live, done || err == nil && a.unplanned(owner, request.Digest, request.Base, &result), err
}

// writeJobStatus writes the status. It does not where the Job was not read live and is not
// the one any more that was planned for: the result says so then, and done is set.
func (a *Activities) writeJobStatus(ctx context.Context, owner *batchv1.Job, fresh freshness, request protocol.JobRequest, result *protocol.JobResult) (before, after *batchv1.Job, done bool, err error) {
	if fresh == cached {
		after, err = k8s.WriteJobStatus(ctx, a.Kubernetes, owner, request.Status, request.Counted)
		if !apierrors.IsConflict(err) {
			return owner, after, false, err
		}
		var current protocol.JobResult
		owner, current, done, err = a.jobFor(ctx, request.Job, live)
		if err != nil || done || a.unplanned(owner, request.Digest, request.Base, &current) {
			*result = current
			return nil, nil, true, err
		}
	}
	before, after, err = k8s.ApplyJobStatus(ctx, a.Kubernetes, owner, request.Status, request.Counted)
	return before, after, false, err
}
