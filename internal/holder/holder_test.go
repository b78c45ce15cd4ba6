package holder_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"

	"ostinato.dev/ostinato/internal/holder"
)

var wanted = holder.Wanted{ID: "cronjob/shop/report", Type: "CronJob", TaskQueue: "ostinato"}

func execution(kind, queue string, status enums.WorkflowExecutionStatus) *workflow.WorkflowExecutionInfo {
	return &workflow.WorkflowExecutionInfo{
		Type: &common.WorkflowType{Name: kind}, TaskQueue: queue, Status: status,
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
			found, err := holder.Look(t.Context(), temporal, wanted)
			assert.Equal(t, test.want, found)
			if test.fails == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.fails)
		})
	}
}
