package workflows

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// jobHistoryLimit is the number of events after which a Job workflow continues
	// as new at the next quiet moment, so that a replay stays cheap.
	jobHistoryLimit = 1000
	// maxStateBytes is the size up to which a state is carried over: Temporal takes
	// payloads of 2 MB.
	maxStateBytes = 1_500_000
	// busyPasses is the number of plans in a row, without waiting, after which the
	// workflow pauses: no misunderstanding with the API server may become a hot loop.
	busyPasses = 50
	busyPause  = time.Second
)

// Job runs one batch/v1 Job to its end: it merges what it hears of the Job's Pods
// into its state, plans, carries the plan out and waits. It returns when the Job is
// Complete or Failed and its Pods are released, or when the Job object is gone.
func Job(ctx workflow.Context, input protocol.JobInput) (job.Result, error) {
	w := newJobWorkflow(ctx, input)
	if err := workflow.SetQueryHandler(ctx, protocol.DescribeQuery, w.describe); err != nil {
		return job.Result{}, fmt.Errorf("set query handler: %w", err)
	}
	return w.run(ctx)
}

type jobWorkflow struct {
	cluster names.Cluster
	config  job.Config
	input   protocol.JobInput
	spec    job.Spec
	state   job.State
	waiting string
	signals jobSignals
	alarm   alarm
	// deleted says that the Job object is gone.
	deleted bool
	// successor is a Job of the same name that has taken this one's place.
	successor *protocol.JobInput
	// steering holds signals of people that are not carried out yet.
	steering []steer
}

func newJobWorkflow(ctx workflow.Context, input protocol.JobInput) *jobWorkflow {
	w := &jobWorkflow{
		cluster: names.Cluster(input.Cluster),
		config:  job.DefaultConfig(),
		input:   input,
		spec:    input.Spec,
		signals: newJobSignals(ctx),
	}
	if input.State != nil {
		w.state = *input.State
		w.state.Namespace = input.Job.Namespace
	} else {
		w.state = job.Begin(input.Job.Namespace, input.Job.Name, input.Job.UID, input.Spec, input.Status)
	}
	return w
}

func (w *jobWorkflow) run(ctx workflow.Context) (job.Result, error) {
	for passes := 1; ; passes++ {
		if err := w.hear(ctx); err != nil {
			return job.Result{}, err
		}
		if w.deleted || w.successor != nil {
			return w.abandon(ctx)
		}
		if w.historyIsLong(ctx) {
			return job.Result{}, w.continueAsNew(ctx)
		}
		plan := job.Decide(w.config, w.state, w.spec, workflow.Now(ctx))
		w.show(ctx, plan)
		switch {
		case plan.Finished != nil:
			return *plan.Finished, w.last(ctx)
		case !plan.Idle() && passes <= busyPasses:
			if err := w.attempt(ctx, plan); err != nil {
				return job.Result{}, err
			}
			continue
		case !plan.Idle():
			plan.Wake = job.Wake{At: workflow.Now(ctx).Add(busyPause), Reason: "pause"}
		default:
			w.state = plan.Next
		}
		if err := w.wait(ctx, plan.Wake); err != nil {
			return job.Result{}, err
		}
		passes = 0
	}
}

// attempt carries out a plan, or notes the error that callKube gave up on.
func (w *jobWorkflow) attempt(ctx workflow.Context, plan job.Plan) error {
	err := w.execute(ctx, plan)
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	workflow.GetLogger(ctx).Error("Carrying out the plan failed", "error", err)
	w.state = job.Apply(plan, job.Report{Error: err.Error()}, workflow.Now(ctx))
	return nil
}

// wait sleeps until a signal comes or the wake is due.
func (w *jobWorkflow) wait(ctx workflow.Context, wake job.Wake) error {
	summary := fmt.Sprintf("%s %s", wake.Reason, wake.At.UTC().Format(time.RFC3339))
	w.alarm.set(ctx, wake.At, string(wake.Reason), summary)
	return workflow.Await(ctx, func() bool { return w.signals.pending() || w.alarm.ringing() })
}

// abandon ends the workflow of a Job that is gone, once its Pods are released. A
// Job that took its place under the same name gets the workflow.
func (w *jobWorkflow) abandon(ctx workflow.Context) (job.Result, error) {
	request := protocol.ReleaseOrphansRequest{Job: w.input.Job}
	_, err := callKube[protocol.ReleaseOrphansResult](ctx, "release pods of "+w.input.Job.Name, protocol.ReleaseOrphansActivity, request)
	switch {
	case temporal.IsCanceledError(err):
		return job.Result{}, err
	case err != nil:
		workflow.GetLogger(ctx).Error("Releasing the Pods of a deleted Job failed", "error", err)
	}
	w.deleted = true
	return w.state.ResultSoFar(), w.last(ctx)
}

// last takes the signals that came with the end, since none may be left unread.
// A Job that took this one's place under the same name gets the workflow.
func (w *jobWorkflow) last(ctx workflow.Context) error {
	w.alarm.stop()
	if stranger := w.take(ctx); stranger != nil {
		if err := w.examine(ctx, *stranger); err != nil {
			return err
		}
	}
	if w.successor != nil {
		return workflow.NewContinueAsNewError(ctx, protocol.JobWorkflow, *w.successor)
	}
	return nil
}

// historyIsLong reports whether to continue as new. It is asked when every signal
// is taken: a busy Job may never be idle. A state that Temporal would not take has
// to shrink first: most of it are Pods that ended at once and are not released yet.
func (w *jobWorkflow) historyIsLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	if w.signals.pending() || !info.GetContinueAsNewSuggested() && info.GetCurrentHistoryLength() <= jobHistoryLimit {
		return false
	}
	if size := stateBytes(w.state); size > maxStateBytes {
		workflow.GetLogger(ctx).Warn("The state is too large to continue as new", "bytes", size)
		return false
	}
	return true
}

// stateBytes returns the size of the state as a payload; one that can't be encoded
// is too large.
//
//workflowcheck:ignore encoding/json uses reflection; the size of what it writes is deterministic.
func stateBytes(state job.State) int {
	data, err := json.Marshal(state)
	if err != nil {
		return math.MaxInt
	}
	return len(data)
}

func (w *jobWorkflow) continueAsNew(ctx workflow.Context) error {
	input := w.input
	input.Spec = w.spec
	input.State = &w.state
	return workflow.NewContinueAsNewError(ctx, protocol.JobWorkflow, input)
}
