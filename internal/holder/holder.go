// Package holder says what runs under the ID of a workflow of Ostinato's. A writer of the Temporal namespace may run
// any workflow under any ID, and Ostinato finds its workflows by their IDs.
package holder

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Wanted is the workflow that is to run under an ID.
type Wanted struct {
	ID        string
	Type      string
	TaskQueue string
}

// Standing is how what runs under an ID stands to the workflow that is to.
type Standing string

const (
	// Nobody: no workflow runs under the ID.
	Nobody Standing = "nobody"
	// Ours is the workflow that is to run.
	Ours Standing = "ours"
	// Paused is that workflow, which a person has paused, or pinned to a build of the worker that there may not be. It
	// is left to that person.
	Paused Standing = "paused"
	// Foreign is a workflow of another type or on another task queue, or one whose first task is kept back by a start
	// delay, a cron schedule or a retry policy: Ostinato's begin at once.
	Foreign Standing = "foreign"
)

// maxDelay bounds the time from the start of a workflow to its first task. Temporal keeps a run
// that follows too soon on the one before for a second or two.
const maxDelay = 10 * time.Second

// Judge tells from what Temporal says about the newest run under an ID; nil stands for none.
func Judge(info *workflowpb.WorkflowExecutionInfo, want Wanted) Standing {
	status, delay := info.GetStatus(), info.GetExecutionTime().AsTime().Sub(info.GetStartTime().AsTime())
	// A list of workflows has no overrides. A Job's workflow that its worker has pinned has none either.
	override := info.GetVersioningInfo().GetVersioningOverride()
	switch {
	case status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return Nobody
	case info.GetType().GetName() != want.Type || info.GetTaskQueue() != want.TaskQueue || delay > maxDelay:
		return Foreign
	case status == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED || override != nil && !override.GetAutoUpgrade():
		return Paused
	}
	return Ours
}

// Look asks Temporal what runs under an ID, and returns its answer, too. It needs no worker and writes nothing.
func Look(ctx context.Context, temporal client.Client, want Wanted) (Standing, *workflowservice.DescribeWorkflowExecutionResponse, error) {
	description, err := temporal.DescribeWorkflowExecution(ctx, want.ID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); err != nil && !missing {
		return "", nil, fmt.Errorf("describe workflow %s: %w", want.ID, err)
	}
	return Judge(description.GetWorkflowExecutionInfo(), want), description, nil
}

// ConflictPolicy returns what a start is to do with what runs under the ID: a Foreign workflow ends, which takes no
// right but that to start. Others run on, and the start fails, or uses what runs, as otherwise says.
func (s Standing) ConflictPolicy(otherwise enumspb.WorkflowIdConflictPolicy) enumspb.WorkflowIdConflictPolicy {
	if s == Foreign {
		return enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	}
	return otherwise
}
