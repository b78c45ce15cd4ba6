package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// jobHistoryLimit is after how many events a Job workflow continues as new when it may: a replay stays cheap.
	jobHistoryLimit = 1000
	// jobHistoryGrowth is after how many bytes, besides the state that it began with, it does so too.
	jobHistoryGrowth = 1_000_000
	// maxStateBytes is the size up to which a state is carried over: Temporal takes payloads of 2 MB.
	maxStateBytes = 1_500_000
	// busyPasses is the number of plans in a row, without waiting, after which the
	// workflow pauses: no misunderstanding with the API server may become a hot loop.
	busyPasses = 50
	busyPause  = time.Second
	// jobLocalBudget bounds what is done inside a workflow task, whose slot other Jobs wait for, and slowPause is
	// how long the plans of a Job are carried out outside after that was not enough.
	jobLocalBudget = time.Second
	slowPause      = time.Minute
	// abandonBudget bounds the release of the Pods of a Job that is gone; PodWatch releases what is left.
	abandonBudget = time.Minute
)

// job is the workflow of one batch/v1 Job: it merges facts of its Pods into the state, plans, carries the plan out and
// waits. It returns when the Job is Complete and its Pods are released, or when the object is gone; for a Failed Job it
// returns an error of protocol.JobFailedErrorType. The input is a pointer as that of cronJob.
func (o *Options) job(ctx workflow.Context, input *protocol.JobInput) (job.Result, error) {
	input = cmp.Or(input, new(protocol.JobInput))
	if err := valid(ctx, o.Cluster.JobWorkflowID(input.Job.Namespace, input.Job.Name), input); err != nil {
		return job.Result{}, err
	}
	ctx = inOrder(ctx, o.Weights, input.Job.Namespace)
	w := newJob(ctx, o.Cluster, input)
	if err := workflow.SetQueryHandlerWithOptions(ctx, protocol.DescribeQuery, w.describe, describes); err != nil {
		return job.Result{}, fmt.Errorf("set query handler: %w", err)
	}
	offer(ctx, protocol.SuspendSignal, protocol.ResumeSignal, protocol.StopSignal)
	return w.run(ctx)
}

// runningJob is a running Job workflow.
type runningJob struct {
	object[protocol.JobInput]
	cluster names.Cluster
	input   protocol.JobInput
	spec    job.Spec
	state   job.State
	waiting string
	// edited: a signal has said that the Job is edited, and it was not read yet.
	edited bool
	// told is the spec that the last word of an edit has named.
	told *job.Spec
	// orphans are UIDs of Jobs of the same name whose Pods PodWatch reports.
	orphans []string
	// answers are Events about signals that nothing is made of. They go with a look at the Job.
	answers []event.Event
	// deleting are the Pods that were being deleted when this run of the workflow heard of the Job's last edit, nil before one.
	deleting []string
	// slowUntil is until when no plan is carried out inside a workflow task: one has taken too long.
	slowUntil time.Time
	// unread says that the Job's spec is that of the input, and was not read.
	unread bool
	// foreign says that the Job is another controller's: an activity has seen it.
	foreign bool
	// began is the size at which the history of this run of the workflow began, in bytes.
	began int
}

func newJob(ctx workflow.Context, cluster names.Cluster, input *protocol.JobInput) *runningJob {
	reference := input.Job
	state := job.Begin(reference.Namespace, reference.Name, reference.UID, input.Spec, input.List)
	if input.State != nil {
		state = job.Resume(*input.State, reference.Namespace, reference.Name, reference.UID, workflow.Now(ctx))
	}
	state = state.Made(input.Spec, input.Pods, workflow.Now(ctx))
	if input.Late && input.State == nil {
		state = state.Awaits(workflow.Now(ctx))
	}
	return &runningJob{
		object: object[protocol.JobInput]{
			reference: reference,
			mailbox:   mailboxOf(ctx),
			unknown:   input.Unknown,
			stale:     input.Look || input.State != nil,
			wishes:    input.Wishes,
		},
		cluster: cluster,
		input:   *input,
		spec:    input.Spec,
		state:   state,
		// The starter of the workflow may have made up the spec as well.
		unread: input.State != nil,
	}
}

// run is the main loop: take what was received, act, wait. What acting needs of the stack is given back before the wait.
func (w *runningJob) run(ctx workflow.Context) (job.Result, error) {
	for passes := 1; ; passes++ {
		wake, result, err := w.act(ctx, passes)
		if result != nil {
			return w.end(ctx, *result)
		}
		if wake != nil {
			passes = 0
			err = w.wait(ctx, *wake)
		}
		if err != nil {
			return job.Result{}, err
		}
	}
}

// act takes what was received and carries out one plan at most. It returns the wake to wait for, the result if the workflow is to
// end, and neither if it is to be called again.
func (w *runningJob) act(ctx workflow.Context, passes int) (*job.Wake, *job.Result, error) {
	if err := cmp.Or(w.hear(ctx), ctx.Err()); err != nil {
		// The timers of a cancelled workflow go off at once: it can't wait any more.
		return nil, nil, err
	}
	if w.gone || w.foreign {
		return nil, new(w.state.ResultSoFar()), nil
	}
	if w.historyIsLong(ctx) {
		return nil, nil, w.continueAsNew(ctx)
	}
	now := workflow.Now(ctx)
	plan := job.Decide(w.state, w.spec, now)
	w.waiting = plan.Waiting
	workflow.SetCurrentDetails(ctx, jobDetails(w.state, w.waiting))
	switch {
	case plan.Finished != nil:
		return nil, plan.Finished, nil
	case plan.Idle():
		w.state = plan.Next
	case passes > busyPasses:
		return &job.Wake{At: now.Add(busyPause), Reason: "pause"}, nil, nil
	default:
		return nil, nil, w.attempt(ctx, plan)
	}
	if len(w.orphans) > 0 {
		return nil, nil, w.releaseNextOrphans(ctx)
	}
	return &plan.Wake, nil, nil
}

// attempt carries out a plan. After an error all is planned again after a pause; at once if the call gave way.
func (w *runningJob) attempt(ctx workflow.Context, plan job.Plan) error {
	err := w.execute(ctx, plan)
	switch {
	case err == nil, errors.Is(err, errGaveWay):
		return nil
	case temporal.IsCanceledError(err):
		return err
	}
	workflow.GetLogger(ctx).Error("Carrying out the plan failed", "error", err)
	w.state = job.Apply(plan, job.Report{Error: shortError(err)}, workflow.Now(ctx))
	return nil
}

// wait sleeps until a signal comes or the wake is due.
func (w *runningJob) wait(ctx workflow.Context, wake job.Wake) error {
	if until := w.pause.until; w.pending() && (wake.At.IsZero() || until.Before(wake.At)) {
		wake = job.Wake{At: until, Reason: "error"}
	}
	w.alarm.set(ctx, wake.At, string(wake.Reason))
	return workflow.Await(ctx, func() bool { return w.mailbox.pending() || w.alarm.ringing() })
}

// end ends the workflow of a Job that has ended, or is gone: then its Pods are released first. Those of a Job that is another
// controller's now are left as they are. Temporal shows the workflow of a failed Job as failed.
func (w *runningJob) end(ctx workflow.Context, result job.Result) (job.Result, error) {
	if w.gone {
		released, err := w.releaseOrphans(ctx, protocol.ReleaseOrphansRequest{Job: w.reference, Evidence: true}, nil)
		if err != nil {
			return result, err
		}
		w.state = w.state.EndedWith(released.Ended, released.Logs)
		result = w.state.ResultSoFar()
	} else if w.foreign {
		result.Outcome = job.HandedOver
	}
	err := w.last(ctx)
	if err == nil && result.Outcome == job.Failed {
		err = temporal.NewApplicationErrorWithOptions(
			fmt.Sprintf("Job %s/%s failed: %s: %s", w.reference.Namespace, w.reference.Name, cmp.Or(result.Why, result.Reason), result.Message),
			protocol.JobFailedErrorType,
			temporal.ApplicationErrorOptions{NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{result}})
	}
	return result, err
}

// releaseOrphans releases the Pods of a Job, if it is gone. PodWatch gets the rest: one Pod must not hold up the end.
func (w *runningJob) releaseOrphans(
	ctx workflow.Context, request protocol.ReleaseOrphansRequest, givesWay func() bool,
) (protocol.ReleaseOrphansResult, error) {
	released, err := perform(ctx, releaseOrphans, "release pods of "+request.Job.Name, request, callOptions{budget: abandonBudget, givesWay: givesWay})
	if err != nil && !temporal.IsCanceledError(err) && !errors.Is(err, errGaveWay) {
		workflow.GetLogger(ctx).Error("Releasing the Pods of a Job that is gone failed", "uid", request.Job.UID, "error", err)
		return released, nil
	}
	return released, err
}

// last takes the signals that came with the end, since none may be left unread.
// A Job that took this one's place under the same name gets the workflow.
func (w *runningJob) last(ctx workflow.Context) error {
	w.receive(ctx)
	if w.successor != nil && !w.gone {
		if err := w.refresh(ctx); err != nil {
			return err
		}
	}
	if w.successor != nil && w.gone {
		// This workflow has taken facts about the successor's Pods for those about orphans.
		next := *w.successor
		next.Pods, next.List = nil, true
		return workflow.NewContinueAsNewError(ctx, protocol.JobWorkflow, next)
	}
	return nil
}

// historyIsLong reports whether to continue as new; a busy Job may never be idle, so no signal left is enough. A state
// that Temporal would not take has to shrink first: most of it are Pods that ended at once and are not released yet.
func (w *runningJob) historyIsLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	size := info.GetCurrentHistorySize()
	w.began = cmp.Or(w.began, size)
	long := info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > jobHistoryLimit || size-w.began > jobHistoryGrowth
	// What is known of a successor is not carried over.
	if w.mailbox.pending() || !long || w.successor != nil && !info.GetContinueAsNewSuggested() {
		return false
	}
	if err := fits(w.state); err != nil {
		workflow.GetLogger(ctx).Warn("The state is too large to continue as new", "error", err)
		return false
	}
	return true
}

// fits reports whether the state can be carried over and read again.
//
//workflowcheck:ignore encoding/json uses reflection; the size of what it writes is deterministic.
func fits(state job.State) error { return cmp.Or(state.Validate(), state.Fits(maxStateBytes)) }

func (w *runningJob) continueAsNew(ctx workflow.Context) error {
	input := w.input
	input.Spec, input.State, input.Pods, input.List = w.spec, &w.state, nil, false
	input.Look, input.Wishes, input.Unknown = w.reasonToLook(), w.wishes, w.unknown
	return workflow.NewContinueAsNewError(ctx, protocol.JobWorkflow, input)
}
