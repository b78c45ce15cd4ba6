package page

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

// temporal is one whose workflows know what ran for two days.
type temporal struct {
	workflowservice.UnimplementedWorkflowServiceServer
	cronJobs []ostinatov1.CronJob
}

// serveTemporal returns the address of a Temporal for some CronJobs.
func serveTemporal(t *testing.T, cronJobs []ostinatov1.CronJob) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, &temporal{cronJobs: cronJobs})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func (*temporal) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (s *temporal) QueryWorkflow(_ context.Context, request *workflowservice.QueryWorkflowRequest) (*workflowservice.QueryWorkflowResponse, error) {
	var question protocol.LedgerQuestion
	if err := converter.GetDefaultDataConverter().FromPayloads(request.Query.QueryArgs, &question); err != nil {
		return nil, err
	}
	for n := range s.cronJobs {
		if cronJob := &s.cronJobs[n]; strings.HasSuffix(request.Execution.WorkflowId, "cronjob/"+cronJob.Namespace+"/"+cronJob.Name) {
			kept := kept(cronJob)
			payloads, err := converter.GetDefaultDataConverter().ToPayloads(kept.Page(ledger.Question(question), nil))
			return &workflowservice.QueryWorkflowResponse{QueryResult: payloads}, err
		}
	}
	return nil, serviceerror.NewNotFound("workflow not found")
}

// kept is the ledger of a CronJob, oldest first.
func kept(cronJob *ostinatov1.CronJob) (kept ledger.Ledger) {
	for _, row := range slices.Backward(night.Ledger(cronJob, time.Now().Add(-48*time.Hour))) {
		entry := ledger.Entry{
			Scheduled: row.ScheduledTime.Time, Count: row.Count, Outcome: ledger.Outcome(row.Outcome), Reason: row.Reason, Message: row.Message, Job: row.JobName,
		}
		if row.Until != nil {
			entry.Until = row.Until.Time
		}
		if row.StartTime != nil {
			entry.Recorded = row.StartTime.Time
		}
		if row.EndTime != nil {
			entry.End = ledger.End{Result: ledger.Result(row.Result), ResultReason: row.ResultReason, Ended: row.EndTime.Time, FailedAttempts: row.FailedAttempts}
		}
		kept.Entries = append(kept.Entries, entry)
	}
	return kept
}
