package temporalserver

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/order"
)

// Of a backlog, what is due goes first, and a namespace's one run does not wait for the many of another. Where fairness is
// off, priority is left.
func TestABacklogIsServedByPriorityAndNamespace(t *testing.T) {
	const herd = 60
	for _, test := range []struct {
		name   string
		config map[string]any
		// most is how many may be served before the last of the quiet namespaces, least how many are at least.
		least, most int
	}{
		{"as the server is", nil, 0, 20},
		{"with fairness turned off", map[string]any{"matching.enableFairness": false}, herd, herd + 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, start(t, Options{DynamicConfig: test.config}))
			begin := func(id string, place order.Place) client.WorkflowRun {
				run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: testQueue, Priority: order.Weights{}.Priority(place)}, "note")
				if err != nil {
					t.Fatal(err)
				}
				return run
			}
			var runs []client.WorkflowRun
			for n := range herd {
				runs = append(runs, begin(fmt.Sprintf("herd-%d", n), order.Place{Work: order.Running, Namespace: "herd"}))
			}
			for n := range 3 {
				runs = append(runs, begin(fmt.Sprintf("quiet-%d", n), order.Place{Work: order.Running, Namespace: fmt.Sprintf("quiet-%d", n)}))
			}
			runs = append(runs, begin("due", order.Place{Work: order.Due, Namespace: "herd"}))
			served := serve(t, c, runs)
			if last := slices.Index(served, "due"); last > 10 {
				t.Errorf("what is due was served after %d others: %v", last, served)
			}
			for n := range 3 {
				if before := slices.Index(served, fmt.Sprintf("quiet-%d", n)); before < test.least || before > test.most {
					t.Errorf("quiet-%d was served after %d others, want %d to %d: %v", n, before, test.least, test.most, served)
				}
			}
		})
	}
}

// serve runs a worker that does little at a time until the runs are done, and returns them in the order in which it did.
func serve(t *testing.T, c client.Client, runs []client.WorkflowRun) (served []string) {
	t.Helper()
	var mutex sync.Mutex
	w := worker.New(c, testQueue, worker.Options{
		MaxConcurrentWorkflowTaskExecutionSize: 2, MaxConcurrentWorkflowTaskPollers: 2, DisableEagerActivities: true,
	})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		mutex.Lock()
		defer mutex.Unlock()
		served = append(served, workflow.GetInfo(ctx).WorkflowExecution.ID)
		return nil
	}, workflow.RegisterOptions{Name: "note"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for _, run := range runs {
		if err := run.Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	mutex.Lock()
	defer mutex.Unlock()
	return served
}
