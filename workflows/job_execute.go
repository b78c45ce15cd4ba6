package workflows

import (
	"fmt"
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
	bulkHeartbeat = 10 * time.Second
)

// edit takes the Job's spec as it was read last.
func (w *jobWorkflow) edit(spec job.Spec) { w.state, w.spec = w.state.Edited(w.spec, spec) }

// execute carries out a plan and records in the state what came of it. Many
// creates, deletes or releases go to the bulk queue: the former before the status,
// the latter after it.
func (w *jobWorkflow) execute(ctx workflow.Context, plan job.Plan) error {
	if plan.List {
		return w.relist(ctx, plan.Rebuild)
	}
	var pods protocol.JobResult
	request := protocol.JobRequest{
		Job:      w.input.Job,
		Creates:  plan.Creates,
		Deletes:  plan.Deletes,
		Status:   plan.Status,
		Releases: plan.Releases,
		Handled:  plan.Handled,
		Events:   plan.Events,
	}
	if len(plan.Creates)+len(plan.Deletes) > protocol.BulkThreshold {
		var err error
		if pods, err = w.createAndDelete(ctx, plan); err != nil {
			return err
		}
		if pods.Gone || pods.Refused != nil {
			w.record(ctx, plan, pods, true)
			w.reread(pods)
			return nil
		}
		request.Creates, request.Deletes = nil, nil
	}
	many := len(plan.Releases) > protocol.BulkThreshold
	if many {
		request.Releases = nil
	}
	result, err := callKube[protocol.JobResult](ctx, w.summary(plan), protocol.ReconcileJobActivity, request)
	if err != nil {
		return err
	}
	if many && !result.Gone && result.Refused == nil && result.StatusRefused == "" {
		released, err := w.account(ctx, plan.Releases)
		if err != nil {
			return err
		}
		result.Logs = append(result.Logs, released.Logs...)
	}
	result.Created = append(pods.Created, result.Created...)
	w.record(ctx, plan, result, false)
	w.reread(result)
	return nil
}

// createAndDelete carries out many creates and deletes.
func (w *jobWorkflow) createAndDelete(ctx workflow.Context, plan job.Plan) (sum protocol.JobResult, err error) {
	for deletes := range slices.Chunk(plan.Deletes, bulkChunk) {
		summary := fmt.Sprintf("delete %d pods of %s", len(deletes), w.input.Job.Name)
		request := protocol.DeletePodsRequest{Job: w.input.Job, Deletes: deletes}
		result, err := w.bulk(ctx, summary, protocol.DeletePodsActivity, request)
		if err != nil {
			return sum, err
		}
		sum.Gone = sum.Gone || result.Gone
	}
	for creates := range slices.Chunk(plan.Creates, bulkChunk) {
		summary := fmt.Sprintf("create %d pods of %s", len(creates), w.input.Job.Name)
		request := protocol.CreatePodsRequest{Job: w.input.Job, Creates: creates}
		result, err := w.bulk(ctx, summary, protocol.CreatePodsActivity, request)
		if err != nil {
			return sum, err
		}
		sum.Created = append(sum.Created, result.Created...)
		sum.Current, sum.CurrentSpec = result.Current, result.CurrentSpec
		if sum.Gone, sum.Refused = sum.Gone || result.Gone, result.Refused; sum.Gone || sum.Refused != nil {
			break
		}
	}
	return sum, nil
}

// account carries out many releases, whose outcome is recorded and written.
func (w *jobWorkflow) account(ctx workflow.Context, releases []job.Release) (sum protocol.JobResult, err error) {
	for part := range slices.Chunk(releases, bulkChunk) {
		summary := fmt.Sprintf("release %d pods of %s", len(part), w.input.Job.Name)
		request := protocol.ReleasePodsRequest{Job: w.input.Job, Releases: part}
		result, err := w.bulk(ctx, summary, protocol.ReleasePodsActivity, request)
		if err != nil {
			return sum, err
		}
		sum.Logs = append(sum.Logs, result.Logs...)
	}
	return sum, nil
}

// bulk runs an activity of the bulk queue.
func (w *jobWorkflow) bulk(ctx workflow.Context, summary, activity string, request any) (result protocol.JobResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           w.cluster.BulkTaskQueue(),
		StartToCloseTimeout: bulkTimeout,
		HeartbeatTimeout:    bulkHeartbeat,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    30 * time.Second,
		},
	})
	err = workflow.ExecuteActivity(ctx, activity, request).Get(ctx, &result)
	return result, err
}

// record takes the result of an activity into the state.
func (w *jobWorkflow) record(ctx workflow.Context, plan job.Plan, result protocol.JobResult, podsOnly bool) {
	if result.Gone {
		w.deleted = true
		return
	}
	report := job.Report{StatusRefused: result.StatusRefused, PodsOnly: podsOnly, Logs: result.Logs}
	for _, pod := range result.Created {
		report.Created = append(report.Created, job.CreatedPod(pod))
	}
	if result.Refused != nil {
		report.CreateRefused = result.Refused.Reason + ": " + result.Refused.Message
		report.NameTaken = result.Refused.Reason == protocol.RefusedForeignObject
		workflow.GetLogger(ctx).Warn("Pod creation refused", "reason", result.Refused.Reason, "message", result.Refused.Message)
	}
	w.state = job.Apply(plan, report, workflow.Now(ctx))
}

// reread takes in the Job as it was read after it refused something.
func (w *jobWorkflow) reread(result protocol.JobResult) {
	if result.Current == nil {
		return
	}
	spec := w.spec
	if result.CurrentSpec != nil {
		spec = *result.CurrentSpec
	}
	w.state, w.spec = w.state.Reread(w.spec, spec, *result.Current)
}

// relist compares the state with the cluster: the Job may be gone, and so may Pods.
// A state that can't be believed is made anew.
func (w *jobWorkflow) relist(ctx workflow.Context, rebuild bool) error {
	request := protocol.ListPodsRequest{Job: w.input.Job, Rebuild: rebuild}
	if !rebuild {
		request.Undecided = w.state.Undecided()
	}
	list, err := w.list(ctx, request)
	switch {
	case err != nil || w.deleted:
		return err
	case !rebuild:
		w.state = w.state.Listed(listOf(list), workflow.Now(ctx))
		return nil
	}
	status := w.state.Status()
	if list.Status != nil {
		status = *list.Status
	}
	if list.Spec != nil {
		w.edit(*list.Spec)
	}
	w.state = job.Reconstruct(w.state, w.spec, status, listOf(list), workflow.Now(ctx))
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

// changeDurableList is the version by which lists became regular activities.
const changeDurableList = "durable-list"

// list lists the Job's Pods; when the Job is gone it notes that instead. A list that
// was taken again after the Pods that it held were counted and released would lack
// them, and a fact on its way about one of them would count it once more.
func (w *jobWorkflow) list(ctx workflow.Context, request protocol.ListPodsRequest) (protocol.PodList, error) {
	call := callKubeDurably[protocol.PodList]
	if workflow.GetVersion(ctx, changeDurableList, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		call = callKube[protocol.PodList]
	}
	list, err := call(ctx, "list pods of "+w.input.Job.Name, protocol.ListPodsActivity, request)
	w.deleted = w.deleted || list.Gone
	return list, err
}

func listOf(list protocol.PodList) job.List {
	return job.List{Pods: list.Facts, Attempts: list.Attempts, Counted: list.Counted}
}
