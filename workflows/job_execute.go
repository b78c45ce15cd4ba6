package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// bulkChunk is the number of Pods that one bulk activity creates or deletes.
	bulkChunk = 500
	// bulkTimeout bounds a bulk activity; it is rate limited and may have to queue
	// behind others, so its heartbeat is what tells a lost worker.
	bulkTimeout   = time.Hour
	bulkHeartbeat = 30 * time.Second
)

// edit takes a spec, unless it is older than the known one.
func (w *jobWorkflow) edit(spec job.Spec) {
	if spec.Generation < w.spec.Generation {
		return
	}
	spec.Deleting = spec.Deleting || w.spec.Deleting
	if spec.Generation > w.spec.Generation {
		w.state = w.state.Edited()
	}
	w.spec = spec
}

// execute carries out an outcome and records in the state what came of it.
func (w *jobWorkflow) execute(ctx workflow.Context, outcome job.PlanOutcome) error {
	switch {
	case outcome.List:
		return w.relist(ctx)
	case len(outcome.Creates)+len(outcome.Deletes) > protocol.BulkThreshold:
		return w.executeBulk(ctx, outcome)
	}
	request := protocol.JobRequest{
		Job:      w.input.Job,
		Creates:  outcome.Creates,
		Deletes:  outcome.Deletes,
		Status:   outcome.Status,
		Releases: outcome.Releases,
		Events:   outcome.Events,
	}
	result, err := callKube[protocol.JobResult](ctx, w.summary(outcome), protocol.ReconcileJobActivity, request)
	if err != nil {
		return err
	}
	w.record(ctx, outcome, result, false)
	if result.StatusRefused == "" || w.deleted {
		return nil
	}
	return w.reread(ctx, result)
}

// executeBulk creates and deletes Pods on the bulk queue. The status is planned
// again afterwards, when it is known what exists.
func (w *jobWorkflow) executeBulk(ctx workflow.Context, outcome job.PlanOutcome) error {
	bulk := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           w.cluster.BulkTaskQueue(),
		StartToCloseTimeout: bulkTimeout,
		HeartbeatTimeout:    bulkHeartbeat,
		Summary:             w.summary(outcome),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
		},
	})
	var sum protocol.JobResult
	call := func(activity string, request any) error {
		var result protocol.JobResult
		if err := workflow.ExecuteActivity(bulk, activity, request).Get(bulk, &result); err != nil {
			return err
		}
		sum.Gone = sum.Gone || result.Gone
		sum.Created = append(sum.Created, result.Created...)
		if result.Refused != nil {
			sum.Refused = result.Refused
		}
		return nil
	}
	for deletes := range slices.Chunk(outcome.Deletes, bulkChunk) {
		request := protocol.DeletePodsRequest{Job: w.input.Job, Deletes: deletes}
		if err := call(protocol.DeletePodsActivity, request); err != nil {
			return err
		}
	}
	for creates := range slices.Chunk(outcome.Creates, bulkChunk) {
		request := protocol.CreatePodsRequest{Job: w.input.Job, Creates: creates}
		if err := call(protocol.CreatePodsActivity, request); err != nil {
			return err
		}
		if sum.Gone || sum.Refused != nil {
			break
		}
	}
	w.record(ctx, outcome, sum, true)
	return nil
}

// record takes the result of an activity into the state.
func (w *jobWorkflow) record(ctx workflow.Context, outcome job.PlanOutcome, result protocol.JobResult, podsOnly bool) {
	if result.Gone {
		w.deleted = true
		return
	}
	report := job.Report{StatusRefused: result.StatusRefused, PodsOnly: podsOnly}
	for _, pod := range result.Created {
		report.Created = append(report.Created, job.CreatedPod(pod))
	}
	if result.Refused != nil {
		report.CreateRefused = result.Refused.Reason + ": " + result.Refused.Message
		report.NameTaken = result.Refused.Reason == protocol.RefusedForeignObject
		workflow.GetLogger(ctx).Warn("Pod creation refused", "reason", result.Refused.Reason, "message", result.Refused.Message)
	}
	w.state = job.Executed(w.config, w.state, outcome, report, workflow.Now(ctx))
}

// reread looks at the cluster after a status was refused: the Job was edited or
// its status was written by someone else.
func (w *jobWorkflow) reread(ctx workflow.Context, result protocol.JobResult) error {
	workflow.GetLogger(ctx).Warn("Status refused", "message", result.StatusRefused, "refusals", w.state.StatusRetry.Refusals)
	retry := w.state.StatusRetry
	if result.CurrentSpec != nil {
		w.edit(*result.CurrentSpec)
	}
	if result.Current != nil {
		w.state = w.state.Rebase(*result.Current)
	}
	// The delay stays, even if the spec is new: the refusal may have another reason.
	w.state.StatusRetry = retry
	list, err := w.list(ctx)
	if err != nil {
		return err
	}
	w.state = w.state.Listed(list, workflow.Now(ctx))
	return nil
}

// relist compares the state with the cluster after a long silence: the Job may be
// gone, and so may Pods.
func (w *jobWorkflow) relist(ctx workflow.Context) error {
	if err := w.probe(ctx); err != nil || w.deleted {
		return err
	}
	list, err := w.list(ctx)
	if err != nil {
		return err
	}
	w.state = w.state.Listed(list, workflow.Now(ctx))
	return nil
}

// probe finds out whether the Job still exists.
func (w *jobWorkflow) probe(ctx workflow.Context) error {
	request := protocol.JobRequest{Job: w.input.Job}
	result, err := callKube[protocol.JobResult](ctx, "look for job "+w.input.Job.Name, protocol.ReconcileJobActivity, request)
	if err != nil {
		return err
	}
	w.deleted = w.deleted || result.Gone
	return nil
}

func (w *jobWorkflow) list(ctx workflow.Context) ([]job.PodFact, error) {
	request := protocol.ListPodsRequest{Job: w.input.Job}
	facts, err := callKube[protocol.PodFacts](ctx, "list pods of "+w.input.Job.Name, protocol.ListPodsActivity, request)
	return facts.Facts, err
}
