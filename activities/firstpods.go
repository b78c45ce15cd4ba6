package activities

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// firstPods makes the first Pods of a Job that was just created, in a turn of their own: the
// Jobs of the same moment come first. What can't be made is left to the Job's workflow, which
// comes to the same creates and says why.
func (a *Activities) firstPods(ctx context.Context, created *batchv1.Job) []protocol.CreatedPod {
	spec := a.specOf(created)
	if !claim.Ours(created, a.TakeOverJobs) || spec.Validate() != nil {
		return nil
	}
	now := a.Clock.Now()
	creates := job.First(created.Namespace, created.Name, string(created.UID), spec, now)
	if _, refusal := job.Prescribed(created, creates, now); len(creates) == 0 || refusal != "" || unselectable(created, creates) {
		return nil
	}
	leave, err := a.turns.take(ctx, created.Namespace)
	if err != nil {
		return nil
	}
	defer leave()
	progress := newCreation(creates, nil, a.Events.onlyNormal())
	if err := a.createPods(ctx, created, creates, progress, func(context.Context) error { return nil }); err == nil {
		a.known.keepJob(created)
	}
	return progress.created()
}
