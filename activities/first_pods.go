package activities

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/jobwatch"
	"ostinato.dev/ostinato/internal/protocol"
)

// beginTimeout bounds what is done for one new Job: an admission webhook may not answer.
const beginTimeout = time.Second

// BeginJob makes the first Pods of a Job that was seen and is new. What can't be made is left to the Job's workflow.
func (a *Activities) BeginJob(ctx context.Context, seen protocol.ObjectReference) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	found, err := a.readJob(ctx, seen.Namespace, seen.Name, types.UID(seen.UID), cached)
	if err == nil && jobwatch.IsNew(found) {
		a.createFirst(ctx, found, a.first(found))
	}
}

// firstPods makes the first Pods of a Job that this attempt or an earlier one has created, in a turn of their own: the Jobs of
// the same herd come first, and no more requests are under way than the API server is fast with. The turn lasts a second. What
// can't be made is left to the Job's workflow, which plans the same creates and says why.
func (a *Activities) firstPods(ctx context.Context, stored *batchv1.Job) []job.CreatedPod {
	creates := a.first(stored)
	if len(creates) == 0 {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, turnPatience)
	defer stop()
	leave, err := a.herds.Turn(waiting, stored.Namespace)
	if err != nil {
		return nil
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.createFirst(ctx, stored, creates)
}

// first returns the creates that the workflow of a Job will plan first; none where it has to say why.
func (a *Activities) first(stored *batchv1.Job) []job.Create {
	spec := a.specOf(stored)
	if !claim.Ours(stored, a.TakeOverJobs) || spec.Validate() != nil {
		return nil
	}
	now := a.Clock.Now()
	creates := job.First(stored.Namespace, stored.Name, string(stored.UID), spec, now)
	if _, refusal := job.Prescribed(stored, creates, now); refusal != "" || unselectable(stored, creates) {
		return nil
	}
	return creates
}

// createFirst leaves what has no answer when the context ends: such a create goes on, and outlasts the lease of the attempt.
func (a *Activities) createFirst(ctx context.Context, stored *batchv1.Job, creates []job.Create) []job.CreatedPod {
	ctx = context.WithValue(ctx, leaseKey{}, nil)
	events := a.Events.besides(0)
	events.noWarnings = true
	created, _, _ := a.createPods(ctx, ctx, stored, creates, nil, events, atOnce)
	return created
}
