package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// Options say what a worker's workflows work for.
type Options struct {
	// Cluster is the optional name of the Kubernetes cluster: workflows of other
	// clusters' IDs fail.
	Cluster names.Cluster
	// Weights are the shares of Kubernetes namespaces in Temporal's task queues.
	Weights order.Weights
	// StartLead is how long before its time the start of a run is prepared;
	// schedule.MaxLead at most. It counts from when scheduled times are next computed.
	StartLead time.Duration
	// Versioned: the worker uses Worker Deployment Versioning.
	Versioned bool
}

// Register registers the three workflows under their protocol names. With Versioned
// set a running Job stays on the build that started it, while CronJob and PodWatch,
// which live for years, move to the current build with their next workflow task. The
// worker needs the Interceptor.
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
	register(func(ctx workflow.Context, input protocol.PodWatchInput) error {
		return podWatchWorkflow(ctx, options.Cluster, input)
	}, protocol.PodWatchWorkflow, workflow.VersioningBehaviorAutoUpgrade)
}

// cronJob is the workflow of a CronJob as it is registered. Its input is a pointer, as that of a Job's, since a workflow
// that waits keeps a copy of a value on its stack for each frame below it.
func (o *Options) cronJob(ctx workflow.Context, input *protocol.CronJobInput) error {
	input = orZero(input)
	return cronJobWorkflow(inOrder(ctx, o.Weights, input.CronJob.Namespace), o, input)
}

// job is the workflow of a Job as it is registered.
func (o *Options) job(ctx workflow.Context, input *protocol.JobInput) (job.Result, error) {
	input = orZero(input)
	return jobWorkflow(inOrder(ctx, o.Weights, input.Job.Namespace), o.Cluster, input)
}

// orZero stands in for an input that was left out, or is null: it is not valid.
func orZero[Input any](input *Input) *Input {
	if input == nil {
		return new(Input)
	}
	return input
}

// valid returns the error with which a workflow ends that nobody of Ostinato has
// started: its input is not one of ours, or its ID is not that of the object. One
// object has one workflow.
func valid(ctx workflow.Context, id string, input interface{ Validate() error }) error {
	err := input.Validate()
	if started := workflow.GetInfo(ctx).WorkflowExecution.ID; err == nil && started != id {
		err = fmt.Errorf("the workflow ID is %q, that of the object in the input is %q; start it under that ID, and on the task queues of its cluster", started, id)
	}
	if err == nil {
		return nil
	}
	return temporal.NewNonRetryableApplicationError("invalid input: "+err.Error(), protocol.InvalidInputErrorType, nil)
}
