package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// Describer tells which workflow task of a workflow is under way; client.Client is one.
type Describer interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

const (
	// taskTrust is how old the workflow task of a scheduled run may be, by this process's
	// clock, without being asked for: half of the time after which Temporal gives one up that
	// is not answered. That of a manual run is asked for always: a hundred signals that come
	// meanwhile have a task repeated at once, and people send them in bursts.
	taskTrust = 5 * time.Second
	// describeTimeout bounds the question.
	describeTimeout = 2 * time.Second
)

// errTaskGivenUp says that another workflow task has taken the place of the one that asks.
var errTaskGivenUp = errors.New("its workflow task was given up")

type taskKey struct{}

// askingTask is the workflow task to which a local attempt belongs.
type askingTask struct {
	began time.Time
	trust time.Duration
}

// withTask says to which workflow task a local attempt belongs that carries out the request.
func withTask(ctx context.Context, request protocol.CronJobRequest) context.Context {
	task := askingTask{request.Task, taskTrust}
	if request.Start != nil && request.Start.Manual {
		task.trust = 0
	}
	return context.WithValue(ctx, taskKey{}, task)
}

// askForTask returns an error unless a local attempt belongs to the workflow task that is
// under way. A worker that stood still, or that takes the tasks of a workflow one after the
// other, carries out one that was repeated long since: its runs may be over, and their Jobs
// gone.
func (a *Activities) askForTask(ctx context.Context, execution workflow.Execution) error {
	task, _ := ctx.Value(taskKey{}).(askingTask)
	if age := a.Clock.Now().Sub(task.began); a.Workflows == nil || age.Abs() < task.trust {
		return nil
	}
	asking, answered := context.WithTimeout(ctx, describeTimeout)
	defer answered()
	found, err := a.Workflows.DescribeWorkflowExecution(asking, execution.ID, execution.RunID)
	if err != nil {
		return fmt.Errorf("ask Temporal which workflow task of %s is under way: %w", execution.ID, err)
	}
	if !underWay(found.GetPendingWorkflowTask(), task.began) {
		activity.GetLogger(ctx).Warn("Nothing is written for it: "+errTaskGivenUp.Error(), "began", task.began)
		return errTaskGivenUp
	}
	return nil
}

// underWay reports whether the workflow task that began then is the one that Temporal waits for.
func underWay(pending *workflowpb.PendingWorkflowTaskInfo, began time.Time) bool {
	return pending.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED && !pending.GetStartedTime().AsTime().After(began)
}
