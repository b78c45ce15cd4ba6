package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/jobwatch"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/starts"
)

// beginTimeout bounds what is done for one new Job: an admission webhook may not answer.
const beginTimeout = time.Second

// BeginJob makes the first Pods of a Job that was seen and is new, and returns the input with which its workflow is to start;
// nil if the Job is new no more. What can't be made is left to the workflow. That of a Job which was listed begins with a list of
// the Pods: another watch may have made them, and the bridge may have started the workflow meanwhile.
func (a *Activities) BeginJob(ctx context.Context, seen protocol.ObjectReference, listed bool) (*protocol.JobInput, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	found, err := a.readJob(ctx, seen.Namespace, seen.Name, types.UID(seen.UID), cached)
	switch {
	case errors.Is(err, k8s.ErrGone):
		return nil, nil
	case err != nil:
		return nil, err
	case !jobwatch.IsNew(found):
		return nil, nil
	}
	input := starts.JobInput(found, a.JobDefaults)
	if listed {
		return &input, nil
	}
	input.List = false
	input.Pods, input.Late = a.createFirst(ctx, found, a.first(found))
	return &input, nil
}

// StartJob starts the workflow of a Job with the first Pods that were made. One that runs is told of both: it may be the workflow
// of a Job that had the name before, or one that was started without the Pods.
func (a *Activities) StartJob(ctx context.Context, input protocol.JobInput) error {
	start := starts.Job(a.Cluster, input, a.SearchAttributes.AtStart)
	options := start.Options(a.Cluster, a.Weights)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err := a.Temporal.ExecuteWorkflow(ctx, options, protocol.JobWorkflow, input)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		err = a.tellJob(ctx, start, input)
	}
	if err != nil {
		return fmt.Errorf("start workflow %s with the first Pods of its Job: %w", start.ID, err)
	}
	return nil
}

// tellJob tells the workflow that runs under a Job's ID of the Job and of its first Pods.
func (a *Activities) tellJob(ctx context.Context, start starts.Start, input protocol.JobInput) error {
	options := start.Options(a.Cluster, a.Weights)
	_, err := a.Temporal.SignalWithStartWorkflow(ctx, start.ID, protocol.JobSpecSignal, protocol.JobSpec{Input: input}, options, protocol.JobWorkflow, input)
	if err != nil || len(input.Pods) == 0 {
		return err
	}
	facts := protocol.PodFacts{JobUID: input.Job.UID}
	for _, made := range input.Pods {
		fact := job.PodFact{Name: made.Name, UID: made.UID, Tracked: true}
		facts.Facts = append(facts.Facts, *cmp.Or(made.Ended, &fact))
	}
	return a.Temporal.SignalWorkflow(ctx, start.ID, "", protocol.PodsSignal, facts)
}

// firstPods makes the first Pods of a Job that this attempt or an earlier one has created, in a turn of their own: the Jobs of
// the same herd come first, and no more requests are under way than the API server is fast with. The turn lasts a second. What
// can't be made is left to the Job's workflow, which plans the same creates and says why. late is as createFirst has it.
func (a *Activities) firstPods(ctx context.Context, stored *batchv1.Job) (made []job.CreatedPod, late bool) {
	creates := a.first(stored)
	if len(creates) == 0 {
		return nil, false
	}
	waiting, stop := context.WithTimeout(ctx, turnPatience)
	defer stop()
	leave, err := a.herds.Turn(waiting, stored.Namespace)
	if err != nil {
		return nil, false
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

// createFirst returns the Pods that it has made; none if a create was refused or had no answer: the workflow asks for all of them once
// more, by the same names, and says why each was refused. A create is sent only while the attempt has its call; without an answer it
// goes on, and outlasts the lease: late says that there is one.
func (a *Activities) createFirst(ctx context.Context, stored *batchv1.Job, creates []job.Create) (made []job.CreatedPod, late bool) {
	ctx = outlasting(ctx)
	events := a.Events.besides(0)
	events.noWarnings = true
	created, refused, err := a.createPods(ctx, ctx, stored, creates, nil, events, atOnce)
	if err != nil || refused != nil {
		return nil, err != nil || refused.Reason == ledger.ServerError
	}
	return created, false
}
