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

// replace deletes the runs whose place the start takes: each has to be gone, or to have ended, before the
// start may go on. One that has ended is left.
func (a *Activities) replace(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.StartRunRequest, result *protocol.StartRunResult) error {
	var start *schedule.Start
	if a.acceptsStart(cronJob, request.Start) {
		start = &request.Start
	}
	events := a.Events.besides(len(request.Events))
	return eachReplaced(request, result, func(target schedule.Delete) (bool, *protocol.FinishedJob, error) {
		return a.replaceJob(ctx, cronJob, target, start, events)
	})
}

// replaced finds what an earlier attempt, which has made the Job of the run, has done to those that the run replaces.
func (a *Activities) replaced(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.StartRunRequest, result *protocol.StartRunResult) error {
	return eachReplaced(request, result, func(target schedule.Delete) (gone bool, ended *protocol.FinishedJob, err error) {
		found, err := k8s.GetJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID))
		switch {
		case errors.Is(err, k8s.ErrGone):
			return true, nil, nil
		case err != nil:
			return false, nil, outage(err, "get Job %s/%s, which is to be replaced", cronJob.Namespace, target.Name)
		case found.DeletionTimestamp != nil, !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
			return true, nil, nil
		}
		return false, finishedJob(found, runOf(cronJob, found)), nil
	})
}

// eachReplaced asks for each run that is to be replaced whether it is gone, or how it has ended.
func eachReplaced(
	request protocol.StartRunRequest, result *protocol.StartRunResult,
	ask func(schedule.Delete) (gone bool, ended *protocol.FinishedJob, err error),
) error {
	finished, gone := make([]*protocol.FinishedJob, len(request.Replace)), make([]bool, len(request.Replace))
	err := each(indexesOf(request.Replace), func(i int) (err error) {
		target := request.Replace[i]
		target.Replaced = true
		gone[i], finished[i], err = ask(target)
		return err
	})
	for i, target := range request.Replace {
		if gone[i] {
			result.Replaced = append(result.Replaced, target.Name)
		}
		if finished[i] != nil {
			result.Ended = append(result.Ended, *finished[i])
		}
	}
	return err
}

func (a *Activities) replaceJob(
	ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete, start *schedule.Start, events *announcer,
) (gone bool, ended *protocol.FinishedJob, err error) {
	found, err := a.jobToDelete(ctx, cronJob, target)
	switch {
	case err != nil:
		return false, nil, outage(err, "get Job %s/%s, which is to be replaced", cronJob.Namespace, target.Name)
	case found == nil:
		return true, nil, nil
	}
	if ended = finishedJob(found, runOf(cronJob, found)); ended != nil {
		return false, ended, nil
	}
	if why := schedule.Deletable(cronJob, target, false, start); why != "" {
		return false, nil, refusedError(&protocol.Refusal{Reason: protocol.RefusedNotPrescribed, Message: why}, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
	}
	if err := a.deleteJob(ctx, cronJob, target, events); err != nil {
		if refused := refusal(err); refused != nil {
			return false, nil, refusedError(refused, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
		}
		return false, nil, outage(err, "delete replaced Job %s/%s", cronJob.Namespace, target.Name)
	}
	return true, nil, nil
}

// prune deletes Jobs that fall out of the history limits, and names those that are gone or are not the
// CronJob's. The others are tried again later.
func (a *Activities) prune(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.WriteStatusRequest) (pruned []string) {
	gone := make([]bool, len(request.Prune))
	events := a.Events.besides(len(request.Events))
	_ = each(indexesOf(request.Prune), func(i int) error {
		target := request.Prune[i]
		target.Replaced = false
		found, err := a.jobToDelete(ctx, cronJob, target)
		switch {
		case err != nil:
		case found == nil:
			gone[i] = true
		case schedule.Deletable(cronJob, target, claim.Finished(found) != nil, nil) == "":
			gone[i] = a.deleteJob(ctx, cronJob, target, events) == nil
		}
		return nil
	})
	for i, target := range request.Prune {
		if gone[i] {
			pruned = append(pruned, target.Name)
		}
	}
	return pruned
}

// jobToDelete reads a Job of the CronJob, from the watch cache first, since a delete can't say whose the
// Job must be; nil where it is gone or is not the CronJob's.
func (a *Activities) jobToDelete(ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete) (*batchv1.Job, error) {
	found, err := a.readJob(ctx, cronJob.Namespace, target.Name, types.UID(target.UID), cached)
	switch {
	case errors.Is(err, k8s.ErrGone), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return found, nil
}

// deleteJob deletes a Job, with its Pods, and emits the Event; upstream's own words (parity 1.9).
func (a *Activities) deleteJob(ctx context.Context, cronJob *ostinatov1.CronJob, target schedule.Delete, events *announcer) error {
	deleted, err := k8s.DeleteJob(ctx, a.Kubernetes, cronJob.Namespace, target.Name, types.UID(target.UID))
	switch {
	case deleted:
		events.onCronJob(cronJobReference(cronJob), event.Normal(event.SuccessfulDelete, "Deleted job "+target.Name))
	case answered(err):
		events.onCronJob(cronJobReference(cronJob), event.Warning(event.FailedDelete, fmt.Sprintf("Deleted job: %v", err)))
	}
	return err
}

func indexesOf[T any](list []T) []int {
	indexes := make([]int, len(list))
	for i := range indexes {
		indexes[i] = i
	}
	return indexes
}
