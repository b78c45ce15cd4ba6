package activities

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
)

// firstPods makes the first Pods of a Job that was just created, by this attempt or an earlier one, in a
// turn of their own: the Jobs of the same moment come first. What can't be made is left to the Job's workflow, which
// comes to the same creates and says why.
func (a *Activities) firstPods(ctx context.Context, stored *batchv1.Job) []job.CreatedPod {
	spec := a.specOf(stored)
	if !claim.Ours(stored, a.TakeOverJobs) || spec.Validate() != nil {
		return nil
	}
	now := a.Clock.Now()
	creates := job.First(stored.Namespace, stored.Name, string(stored.UID), spec, now)
	if _, refusal := job.Prescribed(stored, creates, now); len(creates) == 0 || refusal != "" || unselectable(stored, creates) {
		return nil
	}
	leave, err := a.herd.Turn(ctx, stored.Namespace)
	if err != nil {
		return nil
	}
	defer leave()
	// What is missing is created by the Job's workflow.
	created, _, _ := a.createPods(ctx, creation{owner: stored, creates: creates, events: a.Events.onlyNormal(), before: atOnce})
	return created
}

// atOnce waits for nothing.
func atOnce(context.Context) error { return nil }
