// Package workflows holds the three Temporal workflows: CronJob (one per CronJob object), Job (one per Job object) and
// PodWatch (one per watch shard).
//
// They are thin, deterministic shells around the pure cores internal/schedule and internal/job: receive signals, ask
// the core, carry out what it says by activities, wait. They import names and API types only, no client.
package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// Options say what a worker's workflows work for.
type Options struct {
	// Cluster is the optional name of the Kubernetes cluster: workflows of other clusters' IDs fail.
	Cluster names.Cluster
	// Weights are the shares of Kubernetes namespaces in Temporal's task queues.
	Weights order.Weights
	// StartLead is how long before its time the start of a run is prepared; schedule.MaxLead at most. It counts from
	// when scheduled times are next computed.
	StartLead time.Duration
	// CallerHeader: queries and details show users by the names that the API server knows; without it all names are claimed. What
	// workflows do is the same.
	CallerHeader bool
	// Versioned: the worker uses Worker Deployment Versioning.
	Versioned bool
}

// Register registers the three workflows under their protocol names. With Versioned set a running Job stays on the
// build that started it, while CronJob and PodWatch, which live for years, move to the current build with their next
// workflow task. The worker needs the Interceptor.
func Register(registry worker.WorkflowRegistry, options Options) {
	register := func(function any, name string, behaviour workflow.VersioningBehavior) {
		registered := workflow.RegisterOptions{Name: name}
		if options.Versioned {
			registered.VersioningBehavior = behaviour
		}
		registry.RegisterWorkflowWithOptions(function, registered)
	}
	register(options.cronJob, protocol.CronJobWorkflow, workflow.VersioningBehaviorAutoUpgrade)
	register(options.job, protocol.JobWorkflow, workflow.VersioningBehaviorPinned)
	register(options.podWatch, protocol.PodWatchWorkflow, workflow.VersioningBehaviorAutoUpgrade)
}

// valid returns the error with which a workflow ends that Ostinato has not started: its input is invalid, or its ID is
// not the object's.
func valid(ctx workflow.Context, id string, input interface{ Validate() error }) error {
	err := input.Validate()
	if carried, ok := input.(interface{ ValidateTimes(time.Time) error }); ok && err == nil {
		err = carried.ValidateTimes(workflow.Now(ctx))
	}
	if started := workflow.GetInfo(ctx).WorkflowExecution.ID; err == nil && started != id {
		err = fmt.Errorf("the workflow ID is %q, that of the object in the input is %q; start it under that ID, and on the task queues of its cluster", started, id)
	}
	if err == nil {
		return nil
	}
	return temporal.NewNonRetryableApplicationError("invalid input: "+err.Error(), protocol.InvalidInputErrorType, nil)
}

// Interceptor returns what every worker, replayer and test environment of these workflows needs beside Register, with
// the same options. Interceptors after it do not see CronJob and Job workflows begin.
func Interceptor(options Options) interceptor.WorkerInterceptor {
	return &workerInterceptor{options: options}
}

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	options Options
}

func (w *workerInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &workflowInterceptor{options: &w.options}
	inbound.Next = next
	return inbound
}

// workflowInterceptor is one workflow run's.
type workflowInterceptor struct {
	interceptor.WorkflowInboundInterceptorBase
	options *Options
	mailbox mailbox
}

// ExecuteWorkflow calls CronJob and Job workflows itself: the SDK's reflection leaves 1.9 kB on the stack of a workflow
// that waits, which is then 16 kB instead of 8.
func (i *workflowInterceptor) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	ctx = workflow.WithValue(ctx, mailboxKey{}, &i.mailbox)
	if len(in.Args) == 1 {
		switch input := in.Args[0].(type) {
		case *protocol.CronJobInput:
			return nil, i.options.cronJob(ctx, input)
		case *protocol.JobInput:
			return i.options.job(ctx, input)
		}
	}
	return i.Next.ExecuteWorkflow(ctx, in)
}

func (i *workflowInterceptor) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	i.mailbox.note(ctx, in.SignalName)
	return i.Next.HandleSignal(ctx, in)
}
