package holder_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"

	"ostinato.dev/ostinato/internal/holder"
)

var wanted = holder.Wanted{ID: "cronjob/shop/report", Type: "CronJob", TaskQueue: "ostinato"}

func execution(kind, queue string, status enums.WorkflowExecutionStatus, edits ...func(*workflow.WorkflowExecutionInfo)) *workflow.WorkflowExecutionInfo {
	info := &workflow.WorkflowExecutionInfo{
		Type: &common.WorkflowType{Name: kind}, TaskQueue: queue, Status: status,
	}
	for _, edit := range edits {
		edit(info)
	}
	return info
}

// beginsAfter keeps the first task of a workflow back, as a start delay, a cron schedule and a retry policy do.
func beginsAfter(delay time.Duration) func(*workflow.WorkflowExecutionInfo) {
	started := time.Date(2026, 1, 2, 15, 30, 0, 0, time.UTC)
	return func(info *workflow.WorkflowExecutionInfo) {
		info.StartTime, info.ExecutionTime = timestamppb.New(started), timestamppb.New(started.Add(delay))
	}
}

func overridden(override *workflow.VersioningOverride) func(*workflow.WorkflowExecutionInfo) {
	return func(info *workflow.WorkflowExecutionInfo) {
		info.VersioningInfo = &workflow.WorkflowExecutionVersioningInfo{Behavior: enums.VERSIONING_BEHAVIOR_PINNED, VersioningOverride: override}
	}
}

const (
	running = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	paused  = enums.WORKFLOW_EXECUTION_STATUS_PAUSED
)

var standings = map[string]struct {
	execution *workflow.WorkflowExecutionInfo
	want      holder.Standing
}{
	"nothing was ever there":              {nil, holder.Nobody},
	"ours runs":                           {execution("CronJob", "ostinato", running), holder.Ours},
	"ours was terminated":                 {execution("CronJob", "ostinato", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED), holder.Nobody},
	"another's has ended":                 {execution("Nobody", "nobody", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED), holder.Nobody},
	"somebody has paused ours":            {execution("CronJob", "ostinato", paused), holder.Paused},
	"another type":                        {execution("Nobody", "ostinato", running), holder.Foreign},
	"another type, paused":                {execution("Nobody", "ostinato", paused), holder.Foreign},
	"our type on a queue nobody serves":   {execution("CronJob", "nobody", running), holder.Foreign},
	"our type on another queue of ours":   {execution("CronJob", "ostinato-jobs", running), holder.Foreign},
	"a type of ours, but not of the ID's": {execution("Job", "ostinato", running), holder.Foreign},
	"ours is to begin next year":          {execution("CronJob", "ostinato", running, beginsAfter(8760*time.Hour)), holder.Foreign},
	"ours, which is paused, too":          {execution("CronJob", "ostinato", paused, beginsAfter(8760*time.Hour)), holder.Foreign},
	"the next run of ours was throttled":  {execution("CronJob", "ostinato", running, beginsAfter(2*time.Second)), holder.Ours},
	"ours is pinned by its worker":        {execution("CronJob", "ostinato", running, overridden(nil)), holder.Ours},
	"somebody has pinned ours": {execution("CronJob", "ostinato", running, overridden(&workflow.VersioningOverride{
		Override: &workflow.VersioningOverride_Pinned{Pinned: &workflow.VersioningOverride_PinnedOverride{}},
	})), holder.Paused},
	"somebody has pinned ours by an old client": {execution("CronJob", "ostinato", running, overridden(&workflow.VersioningOverride{})), holder.Paused},
	"the next task of ours is a certain build's": {execution("CronJob", "ostinato", running, overridden(&workflow.VersioningOverride{
		Override: &workflow.VersioningOverride_OneTime{OneTime: &workflow.VersioningOverride_OneTimeOverride{}},
	})), holder.Paused},
	"any build may go on with ours": {execution("CronJob", "ostinato", running, overridden(&workflow.VersioningOverride{
		Override: &workflow.VersioningOverride_AutoUpgrade{AutoUpgrade: true},
	})), holder.Ours},
}

func TestWhatRunsUnderAnID(t *testing.T) {
	for name, test := range standings {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, holder.Judge(test.execution, wanted))
		})
	}
}

func TestOnlyWhatIsForeignIsTerminated(t *testing.T) {
	for _, standing := range []holder.Standing{holder.Nobody, holder.Ours, holder.Paused} {
		assert.Equal(t, enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, standing.ConflictPolicy(enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL), standing)
	}
	assert.Equal(t, enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING, holder.Foreign.ConflictPolicy(enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL))
}

func TestLook(t *testing.T) {
	down := errors.New("down")
	for name, test := range map[string]struct {
		answer *workflowservice.DescribeWorkflowExecutionResponse
		err    error
		want   holder.Standing
		fails  string
	}{
		"a workflow":                    {answer: &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: execution("CronJob", "ostinato", running)}, want: holder.Ours},
		"none":                          {err: serviceerror.NewNotFound("none"), want: holder.Nobody},
		"no answer":                     {err: down, fails: "describe workflow cronjob/shop/report: down"},
		"a namespace that there is not": {err: serviceerror.NewNamespaceNotFound("default"), fails: "describe workflow"},
	} {
		t.Run(name, func(t *testing.T) {
			temporal := mocks.NewClient(t)
			temporal.On("DescribeWorkflowExecution", mock.Anything, wanted.ID, "").Return(test.answer, test.err)
			found, _, err := holder.Look(t.Context(), temporal, wanted)
			assert.Equal(t, test.want, found)
			if test.fails == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.fails)
		})
	}
}
