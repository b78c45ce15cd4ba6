package workflows

import (
	"go.temporal.io/sdk/workflow"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// execute carries out a plan and records in the state what became of it.
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
	request := protocol.JobRequest{
		Job: w.reference, Digest: digest(w.spec), Creates: plan.Creates, Deletes: plan.Deletes, Status: plan.Status, Judge: plan.Judge,
		Counted: plan.Counted, Base: ptr.To(plan.Base()), Releases: plan.Releases, Handled: plan.Handled, Events: plan.Events,
	}
	slow := workflow.Now(ctx).Before(w.slowUntil)
	left := false
	options := callOptions{
		givesWay: w.mailbox.steered, until: plan.Deadline, first: plan.Recorded() || slow,
		slow: func() { w.slowUntil, left = workflow.Now(ctx).Add(slowPause), true },
	}
	if plan.Bulk() {
		options.queue = w.cluster.BulkTaskQueue()
	} else if len(plan.Creates) > 0 && (slow || !plan.Recorded()) {
		// It is outside a workflow task since the API server is slow with it.
		options.work = order.Over
	}
	began := workflow.Now(ctx)
	result, err := perform(ctx, carryOut, w.summary(plan), request, options)
	if err == nil {
		w.record(ctx, plan, result)
	}
	// A local attempt that is out of time is left to itself, and so is one of a worker that Temporal does not hear.
	now := workflow.Now(ctx)
	if len(plan.Creates) > 0 && (err != nil || left || now.Sub(began) >= jobLocalBudget) {
		w.state = w.state.AwaitsLeft(plan, result.Created, now)
	}
	return err
}

// record takes the result of a plan into the state.
func (w *runningJob) record(ctx workflow.Context, plan job.Plan, result protocol.JobResult) {
	switch {
	case result.Gone, result.Foreign, result.Unplanned:
		w.applyObject(result)
		return
	case result.Matched != nil:
		w.state = plan.Matched(*result.Matched)
		return
	}
	report := result.Report
	if refused := result.Refused; refused != nil {
		workflow.GetLogger(ctx).Warn("Pods not created", "reason", refused.Reason, "message", refused.Message)
		report.CreateRefused = refused.Reason + ": " + refused.Message
		report.NameTaken = refused.Reason == ledger.ForeignObject
		report.Unclear = refused.Reason == ledger.ServerError
	} else if result.StatusRefused != "" {
		workflow.GetLogger(ctx).Warn("Status not written", "message", result.StatusRefused, "refusals", w.state.StatusRetry.Refusals+1)
	}
	w.state = job.Apply(plan, report, workflow.Now(ctx))
	if result.Current != nil {
		w.applyObject(result)
	}
}

// list compares the state with the cluster. Its answer is in the history before anything follows from it: a list taken
// again would lack the Pods that were released since, and a late fact would count one of them twice. What follows is
// carried out before anything else is heard, since on a busy Job there is always something.
func (w *runningJob) list(ctx workflow.Context) error {
	asked := workflow.Now(ctx)
	list, err := w.pods(ctx, protocol.ListPodsRequest{Job: w.reference, Undecided: w.state.Undecided()})
	if err != nil || w.gone || w.foreign {
		return err
	}
	w.state = w.state.Listed(list.List, asked)
	plan := job.DecideListed(w.state, w.spec, workflow.Now(ctx))
	if plan.Idle() || plan.List || plan.Finished != nil {
		return nil
	}
	return w.attempt(ctx, plan)
}

// terminate ends the running Pods. The decision is in the state first, so that no later edit takes it back.
func (w *runningJob) terminate(ctx workflow.Context, plan job.Plan) error {
	w.state = plan.Asked()
	asked := workflow.Now(ctx)
	request := protocol.TerminatePodsRequest{
		Job: w.reference, Digest: digest(w.spec), Judge: plan.Judge, Termination: plan.Terminate,
		Verdict: w.state.Verdict, Status: plan.Status, Counted: plan.Counted, Deletes: plan.Deletes,
		Undecided: w.state.Undecided(), Deleting: w.deleting,
	}
	options := callOptions{givesWay: w.mailbox.steered, until: plan.Deadline}
	if job.Bulk(len(w.state.Pods), 0) {
		options.queue = w.cluster.BulkTaskQueue()
	}
	list, err := perform(ctx, terminatePods, w.summary(plan), request, options)
	switch {
	case err != nil:
		return err
	case list.Matched != nil:
		w.state = plan.Matched(*list.Matched)
	case list.Refuted != nil:
		w.state = job.Apply(plan, *list.Refuted, workflow.Now(ctx))
	case list.Gone, list.Foreign, list.Unplanned:
		w.applyObject(protocol.JobResult{Gone: list.Gone, Foreign: list.Foreign, CurrentSpec: list.Spec})
	default:
		w.state = plan.Terminated(list.List, asked, workflow.Now(ctx))
	}
	return nil
}

// rebuild makes the state anew from the Job and its Pods.
func (w *runningJob) rebuild(ctx workflow.Context) error {
	asked := workflow.Now(ctx)
	list, err := w.pods(ctx, protocol.ListPodsRequest{Job: w.reference, Rebuild: true})
	if err != nil || w.gone || w.foreign {
		return err
	}
	w.applyObject(protocol.JobResult{CurrentSpec: list.Spec})
	w.state = job.Reconstruct(w.state, w.spec, ptr.Deref(list.Status, w.state.Status()), list.List, asked)
	return nil
}

// pods lists the Job's Pods; when the Job is gone or another's it notes that instead.
func (w *runningJob) pods(ctx workflow.Context, request protocol.ListPodsRequest) (protocol.PodList, error) {
	list, err := perform(ctx, listPods, "list pods of "+w.reference.Name, request, callOptions{givesWay: w.mailbox.steered})
	w.gone, w.foreign = w.gone || list.Gone, w.foreign || list.Foreign
	return list, err
}

// digest is that of a Spec, which only its own fields decide.
//
//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func digest(spec interface{ Digest() string }) string { return spec.Digest() }
