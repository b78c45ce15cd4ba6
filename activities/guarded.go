package activities

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// A request whose first write is that of a status needs no live read before it: the write
// is refused unless the object is, in etcd, the one that was read. So the end of a run
// begins with what this process remembers or the API server's watch cache has, and only
// what another has changed in the meantime, or what does not look as it was planned for,
// is read live.

// guardedJob reports whether a status is the first that a JobRequest writes, and whether
// what the Job says of the evidence of its Pods does not matter.
func guardedJob(request protocol.JobRequest) bool {
	return request.Status != nil && len(request.Creates) == 0 && len(request.Deletes) == 0 &&
		!slices.ContainsFunc(request.Releases, func(release job.Release) bool { return release.Logs })
}

// plannedJob reads the Job of a request; done says that the answer is given already.
func (a *Activities) plannedJob(ctx context.Context, request protocol.JobRequest) (owner *batchv1.Job, result protocol.JobResult, fresh freshness, done bool, err error) {
	if guardedJob(request) {
		if owner := a.known.job(request.Job); owner != nil && !a.notPlannedFor(owner, request, new(protocol.JobResult)) {
			return owner, protocol.JobResult{}, cached, false, nil
		}
		owner, result, done, err = a.jobFor(ctx, request.Job, cached)
		if err == nil && !done && !a.notPlannedFor(owner, request, new(protocol.JobResult)) {
			return owner, result, cached, false, nil
		}
	}
	// The watch cache may be behind what was planned from.
	owner, result, done, err = a.jobFor(ctx, request.Job, live)
	return owner, result, live, done || err == nil && a.notPlannedFor(owner, request, &result), err
}

// notPlannedFor reports whether the Job is not the one that was planned for, and answers
// with what it is then.
func (a *Activities) notPlannedFor(owner *batchv1.Job, request protocol.JobRequest, result *protocol.JobResult) bool {
	return a.unplanned(owner, request.Digest, result) || a.overtaken(owner, request.Base, result)
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
		if err != nil || done || a.notPlannedFor(owner, request, &current) {
			*result = current
			return nil, nil, true, err
		}
	}
	before, after, err = k8s.ApplyJobStatus(ctx, a.Kubernetes, owner, request.Status, request.Counted)
	return before, after, false, err
}

// guardedCronJob reports whether a CronJobRequest writes a status and prunes the history,
// and nothing else. A dry run leaves nothing behind, and the template that it tries is that
// of the generation which was planned for.
func guardedCronJob(request protocol.CronJobRequest) bool {
	return request.Status != nil && request.Start == nil && request.Signal == "" && len(request.Look) == 0 && !request.Search &&
		!slices.ContainsFunc(request.Deletes, func(target schedule.Delete) bool { return target.Replaced })
}

// settle carries out a request that guardedCronJob is true of. The status goes first, so
// that the history is pruned by the limits of the CronJob as it is.
func (a *Activities) settle(ctx context.Context, request protocol.CronJobRequest) (result protocol.CronJobResult, err error) {
	cronJob, fresh, err := a.plannedCronJob(ctx, request, &result)
	if err != nil || cronJob == nil {
		return result, err
	}
	if request.Judge {
		result.Judgement = a.judgeTemplate(ctx, cronJob, request.Status)
	}
	a.applyCronJobStatus(ctx, cronJob, fresh, request, &result)
	if result.StatusFailed != "" && fresh == cached && len(request.Deletes) > 0 && result.CurrentSpec == nil {
		// Nothing has guarded what was read.
		if cronJob, err = a.unedited(ctx, request, &result); err != nil {
			return result, err
		}
	}
	if result.Gone || result.CurrentSpec != nil {
		result.Judgement = nil
		return result, nil
	}
	if result.Deleted, _, err = a.deleteJobs(ctx, cronJob, request, nil); err != nil {
		return result, err
	}
	a.Events.onCronJob(request.CronJob, request.Events...)
	a.announceJudgement(request.CronJob, result.Judgement)
	return result, nil
}

// plannedCronJob returns the CronJob of a request as it is remembered, or as the watch
// cache has it, and reads it live where neither is what was planned for; nil where the
// result says that it is gone or edited. Of a remembered one there is no template.
func (a *Activities) plannedCronJob(ctx context.Context, request protocol.CronJobRequest, result *protocol.CronJobResult) (*ostinatov1.CronJob, freshness, error) {
	reference := request.CronJob
	if !request.Judge {
		if known := a.known.cronJob(reference, request.Digest); known != nil {
			return known, cached, nil
		}
	}
	glance, err := a.cronJobs(reference.Native).Glance(ctx, reference.Namespace, reference.Name)
	if err == nil && string(glance.UID) == reference.UID && schedule.SpecOf(glance).Digest() == request.Digest {
		return glance, cached, nil
	}
	cronJob, err := a.unedited(ctx, request, result)
	return cronJob, live, err
}

// unedited reads the CronJob live; nil where the result says that it is gone or edited.
func (a *Activities) unedited(ctx context.Context, request protocol.CronJobRequest, result *protocol.CronJobResult) (*ostinatov1.CronJob, error) {
	cronJob, err := a.cronJob(ctx, request.CronJob)
	if err != nil || cronJob == nil {
		result.Gone = err == nil
		return nil, err
	}
	if spec := schedule.SpecOf(cronJob); spec.Digest() != request.Digest {
		result.CurrentSpec = &spec
		return nil, nil
	}
	return cronJob, nil
}

// writeCronJobStatus writes the status. It does not where the CronJob was not read live and
// is not the one any more that was planned for: the result says so then.
func (a *Activities) writeCronJobStatus(
	ctx context.Context, cronJob *ostinatov1.CronJob, fresh freshness, request protocol.CronJobRequest, status *ostinatov1.CronJobStatus, result *protocol.CronJobResult,
) (err error) {
	store := a.cronJobs(k8s.IsNative(cronJob))
	a.known.forgetCronJob(cronJob.UID)
	var stored *ostinatov1.CronJob
	if fresh == cached {
		stored, err = k8s.WriteCronJobStatus(ctx, store, cronJob, suspendedBy(cronJob, status))
		if apierrors.IsConflict(err) {
			if cronJob, err = a.unedited(ctx, request, result); err != nil || cronJob == nil {
				return err
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
	return err
}

// suspendedBy returns the status with who has suspended the CronJob, which the object tells
// and no request.
func suspendedBy(cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) *ostinatov1.CronJobStatus {
	named := schedule.StatusSuspendedBy(*status, cronJob.Status, k8s.SuspenderOf(cronJob))
	return &named
}
