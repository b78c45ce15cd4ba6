package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"ostinato.dev/ostinato/internal/config"
)

func TestAPodWatchIsStartedWhereNoneOfOursRuns(t *testing.T) {
	const running, paused = enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	for name, test := range map[string]struct {
		kind      string
		status    enums.WorkflowExecutionStatus
		fails     error
		terminate bool
		start     bool
	}{
		"it runs":                     {kind: "PodWatch", status: running},
		"it was terminated":           {kind: "PodWatch", status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, start: true},
		"another runs under its ID":   {kind: "Nobody", status: running, terminate: true, start: true},
		"somebody has paused it":      {kind: "PodWatch", status: paused},
		"Temporal does not say":       {fails: errors.New("down")},
		"another, paused, has its ID": {kind: "Nobody", status: paused, terminate: true, start: true},
	} {
		t.Run(name, func(t *testing.T) {
			temporal := mocks.NewClient(t)
			const id = "podwatch/0-of-1"
			temporal.On("DescribeWorkflowExecution", mock.Anything, id, "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
				WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
					Type: &common.WorkflowType{Name: test.kind}, TaskQueue: "ostinato", Status: test.status,
				},
			}, test.fails)
			if test.start {
				temporal.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(options client.StartWorkflowOptions) bool {
					return options.ID == id && options.TaskQueue == "ostinato" &&
						test.terminate == (options.WorkflowIDConflictPolicy == enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
				}), "PodWatch", mock.Anything).Return(nil, nil)
			}
			err := startPodWatches(context.Background(), temporal, config.Worker{WatchShards: 1}, slog.New(slog.DiscardHandler))
			assert.ErrorIs(t, err, test.fails)
		})
	}
}
