package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// bulkChunk is the number of Pods that one bulk activity creates, deletes or releases.
const bulkChunk = protocol.BulkChunk

// execute carries out a plan and records in the state what came of it. Many creates,
// deletes or releases go to the bulk queue: the former before the status, the latter
// after it.
func (w *runningJob) execute(ctx workflow.Context, plan job.Plan) error {
	switch {
	case plan.Rebuild:
		return w.rebuild(ctx)
	case plan.List:
		return w.list(ctx)
	case plan.Terminate != "":
		return w.terminate(ctx, plan)
	}
	w.state = plan.Asked()
	var pods protocol.JobResult
	base := plan.Base()
	request := protocol.JobRequest{
		Job:      w.input.Job,
		Digest:   digest(w.spec),
		Creates:  plan.Creates,
		Deletes:  plan.Deletes,
		Status:   plan.Status,
		Judge:    plan.Judge,
		Counted:  plan.Counted,
		Base:     &base,
		Releases: plan.Releases,
		Handled:  plan.Handled,
		Events:   plan.Events,
	}
	if len(plan.Creates)+len(plan.Deletes) > protocol.BulkThreshold {
		var err error
		if pods, err = w.createAndDelete(ctx, plan); err != nil {
			return err
		}
		if pods.Stopped() {
			return w.record(ctx, plan, pods, job.Report{PodsOnly: true})
		}
		request.Creates, request.Deletes = nil, nil
	}
	// Logs come from nodes, which may not answer: no workflow task waits for them.
	apart := len(plan.Releases) > protocol.BulkThreshold || slices.ContainsFunc(plan.Releases, func(release job.Release) bool { return release.Logs })
	if apart {
		request.Releases = nil
	}
	result, err := perform[protocol.JobResult](ctx, w.patient(plan, call{
		summary: w.summary(plan), activity: protocol.CarryOutActivity, request: request,
		first: plan.Recorded() || len(request.Creates) > 0 && workflow.Now(ctx).Before(w.slowUntil),
		local: jobLocalBudget,
		slow:  func() { w.slowUntil = workflow.Now(ctx).Add(slowPause) },
	}))
	if err != nil {
		return err
	}
	pods.Add(result)
	if err := w.record(ctx, plan, pods, job.Report{Unreleased: apart}); err != nil || !apart || pods.Stopped() {
		return err
	}
	released, err := w.release(ctx, plan)
	if err != nil {
		return err
	}
	if released.Gone || released.Foreign {
		w.learn(released)
		return nil
	}
	w.state = w.state.Released(plan, reportOf(released, job.Report{}), workflow.Now(ctx))
	return nil
}

// patient makes a call give way to what may change the plan that it belongs to.
func (w *runningJob) patient(plan job.Plan, c call) call {
	c.givesWay = func() bool { return w.mailbox.holds(steers) }
	c.until = plan.Deadline
	return c
}

// createAndDelete carries out many creates and deletes.
func (w *runningJob) createAndDelete(ctx workflow.Context, plan job.Plan) (sum protocol.JobResult, err error) {
	for deletes := range slices.Chunk(plan.Deletes, bulkChunk) {
		result, err := w.bulk(ctx, plan, fmt.Sprintf("delete %d pods of %s", len(deletes), w.input.Job.Name),
			protocol.DeletePodsActivity, protocol.DeletePodsRequest{Job: w.input.Job, Digest: digest(w.spec), Deletes: deletes, Judge: plan.Judge})
		if err != nil {
			return sum, err
		}
		if sum.Add(result); sum.Stopped() {
			return sum, nil
		}
	}
	base := plan.Base()
	for creates := range slices.Chunk(plan.Creates, bulkChunk) {
		result, err := w.bulk(ctx, plan, fmt.Sprintf("create %d pods of %s", len(creates), w.input.Job.Name),
			protocol.CreatePodsActivity, protocol.CreatePodsRequest{Job: w.input.Job, Digest: digest(w.spec), Creates: creates, Base: &base, Judge: plan.Judge})
		if err != nil {
			return sum, err
		}
		if sum.Add(result); sum.Stopped() {
			return sum, nil
		}
	}
	return sum, nil
}

// release carries out releases, whose outcome is recorded and written.
func (w *runningJob) release(ctx workflow.Context, plan job.Plan) (sum protocol.JobResult, err error) {
	for part := range slices.Chunk(plan.Releases, bulkChunk) {
		c := w.patient(plan, call{
			summary: releaseSummary(w.input.Job.Name, part), activity: protocol.ReleasePodsActivity,
			request: protocol.ReleasePodsRequest{Job: w.input.Job, Releases: part},
		})
		if len(plan.Releases) > protocol.BulkThreshold {
			c.queue = w.cluster.BulkTaskQueue()
		}
		result, err := perform[protocol.JobResult](ctx, c)
		if err != nil {
			return sum, err
		}
		if sum.Add(result); sum.Stopped() {
			return sum, nil
		}
	}
	return sum, nil
}

// bulk runs an activity of the bulk queue.
func (w *runningJob) bulk(ctx workflow.Context, plan job.Plan, summary, activity string, request any) (protocol.JobResult, error) {
	return perform[protocol.JobResult](ctx, w.patient(plan, call{
		summary: summary, activity: activity, request: request, queue: w.cluster.BulkTaskQueue(),
	}))
}

// record takes the result of an activity into the state; the report says which part of the plan
// was to be carried out.
func (w *runningJob) record(ctx workflow.Context, plan job.Plan, result protocol.JobResult, part job.Report) error {
	switch {
	case result.Gone, result.Foreign, result.Unplanned:
		w.learn(result)
		w.reread(result)
		return nil
	case result.Matched != nil:
		w.state = plan.Matched(*result.Matched)
		return nil
	case result.Refused != nil:
		workflow.GetLogger(ctx).Warn("Pod creation refused", "reason", result.Refused.Reason, "message", result.Refused.Message)
	case result.StatusRefused != "":
		workflow.GetLogger(ctx).Warn("Status refused", "message", result.StatusRefused, "refusals", w.state.StatusRetry.Refusals+1)
	}
	w.state = job.Apply(plan, reportOf(result, part), workflow.Now(ctx))
	w.reread(result)
	return nil
}

// reread takes in the Job as it was read because it is not as it was planned for.
func (w *runningJob) reread(result protocol.JobResult) {
	if result.Current == nil {
		return
	}
	spec := w.spec
	if result.CurrentSpec != nil && result.CurrentSpec.Validate() == nil {
		spec = *result.CurrentSpec
	}
	w.state, w.spec = w.state.Reread(w.spec, spec, *result.Current)
}

func reportOf(result protocol.JobResult, report job.Report) job.Report {
	report.StatusRefused = result.StatusRefused
	report.Logs, report.Vanished, report.Found, report.Failures = result.Logs, result.Vanished, result.Found, result.Failures
	report.Created = createdOf(result.Created)
	if result.Refused != nil {
		report.CreateRefused = result.Refused.Reason + ": " + result.Refused.Message
		report.NameTaken = result.Refused.Reason == protocol.RefusedForeignObject
		report.Unclear = result.Refused.Reason == protocol.RefusedOther
	}
	return report
}

func createdOf(pods []protocol.CreatedPod) []job.CreatedPod {
	var created []job.CreatedPod
	for _, pod := range pods {
		created = append(created, job.CreatedPod(pod))
	}
	return created
}

// list compares the state with the cluster: the Job may be gone, and so may Pods. A
// list that was taken again after the Pods that it held were counted and released would
// lack them, and a fact on its way about one of them would count it once more. So its
// answer is in the history before anything follows from it. What follows from it is carried
// out before anything else is heard: on a busy Job there is always something.
func (w *runningJob) list(ctx workflow.Context) error {
	asked := workflow.Now(ctx)
	list, err := w.pods(ctx, protocol.ListPodsRequest{Job: w.input.Job, Undecided: w.state.Undecided()})
	if err != nil || w.gone || w.foreign {
		return err
	}
	w.state = w.state.Listed(listOf(list), asked)
	plan := job.DecideListed(w.config, w.state, w.spec, workflow.Now(ctx))
	if plan.Idle() || plan.List || plan.Finished != nil {
		return nil
	}
	return w.attempt(ctx, plan)
}

// terminate ends the Pods that have not ended. What is decided on is in the state first: an edit
// that comes meanwhile does not take it back.
func (w *runningJob) terminate(ctx workflow.Context, plan job.Plan) error {
	w.state = plan.Asked()
	asked := workflow.Now(ctx)
	c := w.patient(plan, call{
		summary: w.summary(plan), activity: protocol.TerminatePodsActivity,
		request: protocol.TerminatePodsRequest{
			Job: w.input.Job, Digest: digest(w.spec), Judge: plan.Judge, Termination: plan.Terminate,
			Undecided: w.state.Undecided(), Deleting: w.deleting,
		},
	})
	if len(w.state.Pods) > protocol.BulkThreshold {
		c.queue = w.cluster.BulkTaskQueue()
	}
	list, err := perform[protocol.PodList](ctx, c)
	switch {
	case err != nil:
		return err
	case list.Matched != nil:
		w.state = plan.Matched(*list.Matched)
	case list.Gone, list.Foreign, list.Unplanned:
		w.learn(protocol.JobResult{Gone: list.Gone, Foreign: list.Foreign, CurrentSpec: list.Spec})
	default:
		w.state = plan.Terminated(listOf(list), list.Failures, asked, workflow.Now(ctx))
	}
	return nil
}

// rebuild makes the state anew from the Job and its Pods.
func (w *runningJob) rebuild(ctx workflow.Context) error {
	asked := workflow.Now(ctx)
	list, err := w.pods(ctx, protocol.ListPodsRequest{Job: w.input.Job, Rebuild: true})
	if err != nil || w.gone || w.foreign {
		return err
	}
	if list.Spec != nil {
		w.edit(*list.Spec)
	}
	status := w.state.Status()
	if list.Status != nil {
		status = *list.Status
	}
	w.state = job.Reconstruct(w.state, w.spec, status, listOf(list), asked)
	return nil
}

// pods lists the Job's Pods; when the Job is gone or another's it notes that instead.
func (w *runningJob) pods(ctx workflow.Context, request protocol.ListPodsRequest) (protocol.PodList, error) {
	list, err := perform[protocol.PodList](ctx, call{
		summary:  "list pods of " + w.input.Job.Name,
		activity: protocol.ListPodsActivity,
		request:  request,
		givesWay: func() bool { return w.mailbox.holds(steers) },
	})
	w.gone, w.foreign = w.gone || list.Gone, w.foreign || list.Foreign
	return list, err
}

func listOf(list protocol.PodList) job.List {
	return job.List{Pods: list.Facts, Attempts: list.Attempts, Counted: list.Counted}
}

// digest is that of a Spec, which only its own fields decide.
//
//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func digest(spec interface{ Digest() string }) string { return spec.Digest() }
