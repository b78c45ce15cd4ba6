package hostile

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// madeUpTypes is how many types of activities, and a tenth of it of workflows, are asked for.
var madeUpTypes = harness.Size(1000)

// maxNewSeries is how many series a worker may have more then: what it does for the first time has series, too.
const maxNewSeries = 500

// TestNobodyNamesMetrics: the SDK labels a task with the type that it names, and keeps every series for as long as the
// process lives.
func TestNobodyNamesMetrics(t *testing.T) {
	queue := names.Cluster("").ControlTaskQueue()
	before := map[string]int{}
	for _, worker := range stack.Workers() {
		before[worker.Name()] = series(t, worker.Name())
	}
	var group sync.WaitGroup
	work := make(chan int)
	for range 8 {
		group.Go(func() {
			for n := range work {
				// Nobody waits for an answer: there is none.
				_, err := stack.Temporal.ExecuteActivity(t.Context(), client.StartActivityOptions{
					ID: fmt.Sprintf("evil-%d", n), TaskQueue: queue, ScheduleToCloseTimeout: answers, StartToCloseTimeout: time.Second,
				}, fmt.Sprintf("EvilActivity%d", n))
				if err != nil {
					t.Errorf("start an activity: %v", err)
				}
				if n%10 != 0 {
					continue
				}
				_, err = stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
					ID: fmt.Sprintf("evil-%d", n), TaskQueue: queue, WorkflowExecutionTimeout: answers,
				}, fmt.Sprintf("EvilWorkflow%d", n))
				if err != nil {
					t.Errorf("start a workflow: %v", err)
				}
			}
		})
	}
	for n := range madeUpTypes {
		work <- n
	}
	close(work)
	group.Wait()
	// They have come to the workers.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		for _, worker := range stack.Workers() {
			if strings.Contains(exposed(t, worker.Name()), `activity_type="other"`) {
				return nil
			}
		}
		return fmt.Errorf("no worker has met an activity of an unknown type")
	})
	time.Sleep(effects)
	for _, worker := range stack.Workers() {
		if after := series(t, worker.Name()); after > before[worker.Name()]+maxNewSeries {
			t.Errorf("%s has %d series, and had %d", worker.Name(), after, before[worker.Name()])
		}
		if strings.Contains(exposed(t, worker.Name()), "Evil") {
			t.Errorf("%s names a type of the attacker's", worker.Name())
		}
	}
}

// TestNobodyNamesWhatIsCounted: a request carries how many failures of Pods each action of a policy has handled.
func TestNobodyNamesWhatIsCounted(t *testing.T) {
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.RunUntilEnded())
	before := map[string]int{}
	for _, worker := range stack.Workers() {
		before[worker.Name()] = series(t, worker.Name())
	}
	startTime := ours.Status.StartTime.UTC().Format(time.RFC3339)
	request := squeezed(t, `{"job":`+text(t, referenceTo(ours))+`,"digest":"`+digestOf(ours)+`",`+counting(startTime, 50_000)+`}`)
	given := newAttacker(t).askAs(t, asking.Own(protocol.JobRequest{Job: referenceTo(ours)}), protocol.CarryOutActivity, request)
	for _, worker := range stack.Workers() {
		if after := series(t, worker.Name()); after > before[worker.Name()]+maxNewSeries {
			t.Errorf("%s has %d series, and had %d", worker.Name(), after, before[worker.Name()])
		}
	}
	wantInvalid(t, given)
}

// exposed is what a process shows Prometheus.
func exposed(t *testing.T, process string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, stack.Stack.MetricsAddress(process), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var text strings.Builder
	if _, err := bufio.NewReader(response.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// series counts the samples in it.
func series(t *testing.T, process string) int {
	t.Helper()
	count := 0
	for line := range strings.Lines(exposed(t, process)) {
		if !strings.HasPrefix(line, "#") {
			count++
		}
	}
	return count
}
