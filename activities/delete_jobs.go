package activities

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// replace deletes the runs whose place the start takes: each has to be gone, or to have ended, before the start may go on. One
// that has ended is left. Where an earlier attempt has made the Job of the run, replace only finds out what became of them.
func (s *startAttempt) replace(ctx context.Context, cronJob *ostinatov1.CronJob, made bool) error {
	// start is nil where the run may not start as it asks to, whether or not its Job is there already.
	var start *schedule.Start
	if schedule.Prescribed(cronJob, s.request.Start, s.Clock.Now()) == "" && s.refuseManual(cronJob, s.request.Start) == nil {
		start = &s.request.Start
	}
	events, fresh := s.Events.besides(len(s.request.Events)), cached
	if made {
		fresh = live
	}
	jobs := s.seekJobs(ctx, cronJob)
	parts, err := gather(s.request.Replace, func(target schedule.Delete) (part protocol.StartRunResult, err error) {
		// What is deleted is the Job that was read: one that was written since may have ended.
		for _, fresh := range []freshness{fresh, live} {
			found, err := jobs.find(ctx, target, fresh)
			if err != nil {
				return part, outage(err, "get Job %s/%s, which is to be replaced", cronJob.Namespace, target.Name)
			}
			gone := found == nil || made && found.DeletionTimestamp != nil
			if !gone {
				if ended := s.finishedJob(found, s.runOf(cronJob, found)); ended != nil {
					part.Ended = []schedule.Finished{*ended}
				}
				if made || len(part.Ended) > 0 {
					return part, nil
				}
				if gone, err = s.deleteReplaced(ctx, cronJob, target, found.ResourceVersion, start, events); err != nil {
					return part, err
				}
			}
			if gone {
				part.Replaced = []string{target.Name}
				return part, nil
			}
		}
		return part, outage(errChanging, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
	})
	for _, part := range parts {
		s.result.Replaced = append(s.result.Replaced, part.Replaced...)
		s.result.Ended = append(s.result.Ended, part.Ended...)
	}
	return err
}

// errChanging says that a Job was written between each read of it and its delete.
var errChanging = errors.New("it changes all the time")

// deleteReplaced deletes the Job of a run that is to be replaced, as long as it has the version.
func (a *Activities) deleteReplaced(
	ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete, version string, start *schedule.Start, events *announcer,
) (deleted bool, err error) {
	const doing = "delete replaced Job %s/%s"
	if why := schedule.Replaceable(cronJob, start); why != "" {
		return false, refusedError(why, doing, cronJob.Namespace, target.Name)
	}
	deleted, err = a.deleteJob(ctx, cronJob, target, version, events)
	if refused := refusal(err); refused != nil {
		return false, refusedError(refused.Message, doing, cronJob.Namespace, target.Name)
	}
	if err != nil {
		return false, outage(err, doing, cronJob.Namespace, target.Name)
	}
	return deleted, nil
}

// prune deletes Jobs that fall out of the history limits, and names those that are gone or are not the
// CronJob's. The others are tried again later.
func (a *Activities) prune(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.WriteStatusRequest) (pruned []string) {
	events := a.Events.besides(len(request.Events))
	jobs := a.seekJobs(ctx, cronJob)
	gone, _ := gather(request.Prune, func(target schedule.Delete) (bool, error) {
		found, err := jobs.find(ctx, target, cached)
		if err != nil || found == nil {
			return err == nil, nil
		}
		if claim.Finished(found) == nil {
			return false, nil
		}
		_, err = a.deleteJob(ctx, cronJob, target, "", events)
		return err == nil, nil
	})
	for i, target := range request.Prune {
		if gone[i] {
			pruned = append(pruned, target.Name)
		}
	}
	return pruned
}

// controlledJob reads a Job of the CronJob; nil where it is gone or is not the CronJob's.
func (a *Activities) controlledJob(ctx context.Context, cronJob *ostinatov1.CronJob, name, uid string, fresh freshness) (*batchv1.Job, error) {
	found, err := a.readJob(ctx, cronJob.Namespace, name, types.UID(uid), fresh)
	switch {
	case errors.Is(err, k8s.ErrGone), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return found, nil
}

// deleteJob deletes a Job, with its Pods, and emits the Event; upstream's own words (parity 1.9).
func (a *Activities) deleteJob(
	ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete, version string, events *announcer,
) (deleted bool, err error) {
	deleted, err = write(ctx, func(ctx context.Context) (bool, error) {
		return k8s.DeleteJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID), version)
	})
	switch {
	case deleted:
		events.on(aCronJob(cronJobReference(cronJob)), event.Normal(event.SuccessfulDelete, "Deleted job "+target.Name))
	case answered(err):
		events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.FailedDelete, fmt.Sprintf("Deleted job: %v", err)))
	}
	return deleted, err
}
