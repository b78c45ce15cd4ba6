package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// Register registers the three workflows under their protocol names. With
// versioned set (the worker uses Worker Deployment Versioning) a running Job stays
// on the build that started it, while CronJob and PodWatch, which live for years,
// move to the current build with their next workflow task.
func Register(registry worker.WorkflowRegistry, versioned bool) {
	register := func(function any, name string, behaviour workflow.VersioningBehavior) {
		options := workflow.RegisterOptions{Name: name}
		if versioned {
			options.VersioningBehavior = behaviour
		}
		registry.RegisterWorkflowWithOptions(function, options)
	}
	register(CronJob, protocol.CronJobWorkflow, workflow.VersioningBehaviorAutoUpgrade)
	register(Job, protocol.JobWorkflow, workflow.VersioningBehaviorPinned)
	register(PodWatch, protocol.PodWatchWorkflow, workflow.VersioningBehaviorAutoUpgrade)
}
