package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/harness"
)

// TestWhatIsSentTakesLittleMemoryInSum: each value may be within every bound, and there are many of them.
func TestWhatIsSentTakesLittleMemoryInSum(t *testing.T) {
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	var cronJobs []string
	for n := range 5 {
		cronJobs = append(cronJobs, stack.AddCronJob(t, harness.NewCronJob(namespace, fmt.Sprintf("ours-%d", n), harness.Yearly, harness.JobSpec())).Name)
	}
	workers := measureWorkers(t)
	finished := keepFinishing(t, namespace)
	send := func(workflowID, signal string, argument any) {
		t.Helper()
		if err := stack.Temporal.SignalWorkflow(t.Context(), workflowID, "", signal, argument); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 60 {
		for _, size := range []int{30_000, 1000} {
			pods := make([]string, 500)
			for n := range pods {
				pods[n] = fmt.Sprintf(`{"name":"e-%d-%d","uid":"e-%d-%d-%d","phase":"Running","tracked":true,"message":%q}`, round, n, size, round, n, strings.Repeat("x", size))
			}
			send(harness.JobWorkflow(namespace, ours.Name), protocol.PodsSignal,
				squeezed(t, `{"job":"`+string(ours.UID)+`","pods":[`+strings.Join(pods, ",")+`]}`))
		}
	}
	attempts := json.RawMessage(`{"cronJobUID":"x","name":"x","result":{"attempts":[` + strings.Repeat("{},", 600_000) + `{}]}}`)
	for _, cronJob := range cronJobs {
		send(harness.CronJobWorkflow(namespace, cronJob), protocol.JobClosedSignal, attempts)
	}
	state := squeezed(t, `{"pods":[`+strings.Repeat("{},", 118_999)+`{}]}`)
	for n := range 300 {
		_, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: fmt.Sprintf("job/%s/x%d", namespace, n), TaskQueue: names.Cluster("").JobTaskQueue(),
		}, protocol.JobWorkflow, json.RawMessage(fmt.Sprintf(`{"job":{"namespace":%q,"name":"x%d","uid":"u"},"spec":{},"state":%s}`, namespace, n, state)))
		if err != nil {
			t.Fatal(err)
		}
	}
	stack.LetGo(t, namespace, ours.Name, 0)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, ours.Name, batchv1.JobComplete) })
	t.Logf("%d other Jobs have finished meanwhile", finished())
	if err := workers.below(mostMemory); err != nil {
		t.Error(err)
	}
}

// TestAWordAboutAJobWithoutANameHoldsUpNoCronJob: what no Job can be called is not looked for.
func TestAWordAboutAJobWithoutANameHoldsUpNoCronJob(t *testing.T) {
	namespace := stack.Namespace(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	workflowID := harness.CronJobWorkflow(namespace, cronJob.Name)
	for _, said := range []string{`{"cronJobUID":%q,"name":""}`, `{"cronJobUID":%q,"name":"x/y","uid":"u"}`, `{"cronJobUID":%q,"name":"x","uid":""}`} {
		for _, signal := range []string{protocol.JobSeenSignal, protocol.JobClosedSignal} {
			if err := stack.Temporal.SignalWorkflow(t.Context(), workflowID, "", signal, json.RawMessage(fmt.Sprintf(said, cronJob.UID))); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := stack.Trigger(t, namespace, cronJob.Name)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
}

// TestTheLogOfAPodThatRunsIsNobodys: only the end of a Pod that has failed is evidence.
func TestTheLogOfAPodThatRunsIsNobodys(t *testing.T) {
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	pods, err := stack.PodsOf(t.Context(), namespace, ours.Name)
	if err != nil {
		t.Fatal(err)
	}
	request := json.RawMessage(fmt.Sprintf(`{"job":%s,"releases":[{"name":%q,"uid":%q,"phase":"Failed","logs":true,"container":"main"}]}`,
		text(t, referenceTo(ours)), pods[0].Name, pods[0].UID))
	newAttacker(t).both(t, protocol.ReleasePodsActivity, request, func(t *testing.T, given answer) {
		result := tells[protocol.JobResult](t, given)
		if len(result.Logs) != 1 || result.Logs[0].Lines != "" || result.Logs[0].Missing != "the Pod has not failed" {
			t.Errorf("logs %+v", result.Logs)
		}
	})
}
