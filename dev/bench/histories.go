package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// historiesPatience bounds the reading of all histories of one workflow.
const historiesPatience = 5 * time.Minute

// histories is what the runs of one workflow left in Temporal.
type histories struct {
	// runs are in their order.
	runs []history
	// events and bytes count all events by type.
	events, bytes counts
}

// history is one run of a workflow.
type history struct {
	events, bytes int64
	// carried is the size of the input of the next run; 0 for the last one.
	carried int64
}

// largest returns the largest of a figure of the runs.
func (h histories) largest(figure func(history) int64) int64 {
	var most int64
	for _, run := range h.runs {
		most = max(most, figure(run))
	}
	return most
}

// histories reads all runs of a workflow, the first one first.
func (c *cluster) histories(ctx context.Context, workflowID string) (*histories, error) {
	ctx, cancel := context.WithTimeout(ctx, historiesPatience)
	defer cancel()
	temporal, err := c.ostinato.TemporalClient(ctx)
	if err != nil {
		return nil, err
	}
	defer temporal.Close()
	newest, err := temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return nil, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	all := &histories{events: counts{}, bytes: counts{}}
	for runID := newest.GetWorkflowExecutionInfo().GetFirstRunId(); runID != ""; {
		run, next, err := all.read(ctx, temporal, workflowID, runID)
		if err != nil {
			return nil, fmt.Errorf("read the history of workflow %s, run %s: %w", workflowID, runID, err)
		}
		all.runs = append(all.runs, run)
		runID = next
	}
	return all, nil
}

// read adds the events of one run and returns the ID of the run that it continued as; "" when it is the last.
func (h *histories) read(ctx context.Context, temporal client.Client, workflowID, runID string) (run history, next string, err error) {
	description, err := temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return history{}, "", err
	}
	run = history{
		events: description.GetWorkflowExecutionInfo().GetHistoryLength(),
		bytes:  description.GetWorkflowExecutionInfo().GetHistorySizeBytes(),
	}
	events := temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return history{}, "", err
		}
		kind := strings.TrimPrefix(event.GetEventType().String(), "EVENT_TYPE_")
		h.events[kind]++
		h.bytes[kind] += float64(proto.Size(event))
		if renewed := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); renewed != nil {
			next, run.carried = renewed.GetNewExecutionRunId(), int64(proto.Size(renewed.GetInput()))
		}
	}
	return run, next, nil
}
