package workflows_test

import (
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/workflows"
)

// registry records what is registered.
type registry struct {
	worker.WorkflowRegistry
	behaviours map[string]workflow.VersioningBehavior
}

func (r *registry) RegisterWorkflowWithOptions(_ any, options workflow.RegisterOptions) {
	r.behaviours[options.Name] = options.VersioningBehavior
}

func TestRegister(t *testing.T) {
	for _, test := range []struct {
		versioned bool
		want      map[string]workflow.VersioningBehavior
	}{
		{true, map[string]workflow.VersioningBehavior{
			protocol.CronJobWorkflow:  workflow.VersioningBehaviorAutoUpgrade,
			protocol.JobWorkflow:      workflow.VersioningBehaviorPinned,
			protocol.PodWatchWorkflow: workflow.VersioningBehaviorAutoUpgrade,
		}},
		{false, map[string]workflow.VersioningBehavior{
			protocol.CronJobWorkflow: 0, protocol.JobWorkflow: 0, protocol.PodWatchWorkflow: 0,
		}},
	} {
		recorded := &registry{behaviours: map[string]workflow.VersioningBehavior{}}
		workflows.Register(recorded, workflows.Options{Versioned: test.versioned})
		expect(t, "behaviours", recorded.behaviours, test.want)
	}
}
