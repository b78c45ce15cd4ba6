package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// describer answers which workflow task is under way.
type describer struct {
	pending *workflowpb.PendingWorkflowTaskInfo
	err     error
	asked   int
}

func (d *describer) DescribeWorkflowExecution(ctx context.Context, workflowID, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if _, bounded := ctx.Deadline(); !bounded || workflowID == "" {
		return nil, errors.New("asked without a deadline or a workflow")
	}
	d.asked++
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: d.pending}, d.err
}

// A workflow task is repeated, and a worker that has the one before does not know that yet: its local attempts write nothing,
// as the run may be over and its Job gone.
func TestALocalAttemptOfATaskThatWasRepeatedStartsNothing(t *testing.T) {
	began := time.Now()
	long := began.Add(-20 * time.Second)
	task := func(state enumspb.PendingWorkflowTaskState, started time.Time) *workflowpb.PendingWorkflowTaskInfo {
		return &workflowpb.PendingWorkflowTaskInfo{State: state, StartedTime: timestamppb.New(started)}
	}
	const underWay, scheduledOnly = enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED, enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
	for name, test := range map[string]struct {
		began         time.Time
		manual        bool
		answer        describer
		asked, starts bool
	}{
		"a young task":                               {began: began, starts: true},
		"an old task that is under way":              {began: long, answer: describer{pending: task(underWay, long)}, asked: true, starts: true},
		"an old task, a later one is under way":      {began: long, answer: describer{pending: task(underWay, long.Add(time.Millisecond))}, asked: true},
		"an old task, a later one is to begin":       {began: long, answer: describer{pending: task(scheduledOnly, time.Time{})}, asked: true},
		"an old task, no other":                      {began: long, asked: true},
		"an old task, Temporal is away":              {began: long, answer: describer{err: errors.New("unavailable")}, asked: true},
		"a task that is said to begin in the future": {began: began.Add(time.Hour), asked: true},
		"a task that began nobody knows when":        {asked: true},
		"a young task of a trigger, under way":       {began: began, manual: true, answer: describer{pending: task(underWay, began)}, asked: true, starts: true},
		"a young task of a trigger, a later one":     {began: began, manual: true, answer: describer{pending: task(underWay, began.Add(time.Second))}, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()}, func(o *activities.Options) { o.Workflows = &test.answer })
			request := startRequest()
			request.Task, request.Digest = test.began, schedule.SpecOf(helloCronJob()).Digest()
			if test.manual {
				request.Start.Manual, request.Start.Sequence = true, 7
				request.Start.Name = names.TriggeredJob("hello", cronJobRef.UID, 7)
			}
			var result protocol.CronJobResult
			value, err := s.environment().ExecuteLocalActivity(s.activities.ReconcileCronJob, request)
			if err == nil {
				err = value.Get(&result)
			}
			if (err == nil) != test.starts || (result.Started != nil) != test.starts || (test.answer.asked > 0) != test.asked {
				t.Errorf("asked %d times: %+v, %v", test.answer.asked, result, err)
			}
			if wrote := len(s.writes()) > 0; wrote != test.starts {
				t.Errorf("writes %v", s.writes())
			}
		})
	}
}
