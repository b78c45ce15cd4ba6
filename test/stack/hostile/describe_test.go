package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// leaseOver bounds how long a killed bridge's lease keeps the next from leading: its duration and a few retries.
	leaseOver = 15*time.Second + 5*2*time.Second + harness.Slack
	// maxOfABridge is what a bridge may have resident, in bytes, half of what its container has.
	maxOfABridge = 256 << 20
)

// TestABridgeAsksNobodyElsesWorkflows: under the ID of a Job of the built-in controller's runs a workflow of the attacker's,
// and each new leader looks at what runs.
func TestABridgeAsksNobodyElsesWorkflows(t *testing.T) {
	namespace := stack.Namespace(t)
	others := newBystanders(t, namespace)
	const queue = "attacker-describes"
	var asked atomic.Int64
	answer := json.RawMessage(`{"job":{"uid":"x"},"pods":[` + strings.Repeat("{},", 630_000) + `{}]}`)
	own := worker.New(stack.Temporal, queue, worker.Options{DisableRegistrationAliasing: true})
	own.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ json.RawMessage) error {
		err := workflow.SetQueryHandler(ctx, protocol.DescribeQuery, func() (json.RawMessage, error) {
			asked.Add(1)
			return answer, nil
		})
		if err != nil {
			return err
		}
		return workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: protocol.JobWorkflow})
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Stop)
	for n := range harness.Size(1) {
		job := others.builtIn.Name
		if n > 0 {
			// There are no such Jobs.
			job = fmt.Sprintf("%s-%d", job, n)
		}
		run, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: harness.JobWorkflow(namespace, job), TaskQueue: queue,
		}, protocol.JobWorkflow, json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := stack.Temporal.TerminateWorkflow(context.Background(), run.GetID(), run.GetRunID(), "the test is over"); err != nil {
				t.Error(err)
			}
		})
		// It answers, and a list names it.
		if _, err := stack.Temporal.QueryWorkflow(t.Context(), run.GetID(), run.GetRunID(), protocol.DescribeQuery); err != nil {
			t.Fatal(err)
		}
	}
	asked.Store(0)

	if err := stack.Stack.KillBridge(0); err != nil {
		t.Fatal(err)
	}
	if err := stack.Stack.StartBridge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stack.Confine(); err != nil {
		t.Fatal(err)
	}
	cronJob := harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec())
	stack.CreateCronJob(t, cronJob)
	harness.Eventually(t, leaseOver, func(ctx context.Context) error { return stack.Observed(ctx, namespace, cronJob.Name) })
	harness.Always(t, effects, func(context.Context) error {
		if asked.Load() > 0 {
			return fmt.Errorf("the attacker's workflow was asked %d times", asked.Load())
		}
		return stack.Stack.Ended()
	})
	for _, bridge := range stack.Bridges() {
		process, err := procfs.NewProc(bridge.PID())
		if err != nil {
			t.Fatal(err)
		}
		status, err := process.NewStatus()
		if err != nil {
			t.Fatal(err)
		}
		if status.VmHWM > maxOfABridge {
			t.Errorf("%s had %d MiB, want %d at most", bridge.Name(), status.VmHWM>>20, maxOfABridge>>20)
		}
	}
}
