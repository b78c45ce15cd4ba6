package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// maxElements and maxValues are what a value may have of objects and arrays, and of members (internal/packed).
const maxElements, maxValues = 60_000, 1_000_000

// fact is the JSON of a fact of a Pod that is not, with more texts than any Pod has.
func fact(n int, more string) string {
	return fmt.Sprintf(`{"name":"e-%d","uid":"e-%d","phase":"Running","tracked":true,%s}`, n, n, more)
}

// texts are fields of a fact with texts of this length.
func texts(length int) string {
	long := strings.Repeat("x", length)
	return fmt.Sprintf(`"message":%q,"reason":%q,"node":%q,"container":%q,"pendingMessage":%q`, long, long, long, long, long)
}

// lists are fields of a fact with the longest lists that there are, 400 kB.
func lists() string {
	long := strings.Repeat("x", 1000)
	return `"exits":` + repeated(fmt.Sprintf(`{"container":%q,"exitCode":1}`, long), 200) + `,"conditions":` + repeated(fmt.Sprintf("%q", long), 200)
}

// TestWhatIsSentTakesLittleMemoryInSum: each value may be within every bound, or beyond, and there are many of them. What is
// beyond is refused before it takes memory, in one way whatever it is: one kind of it, facts, is sent here, and all are in a
// trial.
func TestWhatIsSentTakesLittleMemoryInSum(t *testing.T) {
	reviewed, within, wide := strings.Repeat("x", 30_000), texts(1024), lists()
	for what, facts := range map[string]struct {
		// pods is how many a signal tells of.
		pods int
		of   func(n int) string
		// refused tells that nobody reads which Pods they are: one signal serves for all.
		refused bool
		// trial tells that a trial alone sends them.
		trial bool
	}{
		"texts of 30 kB":  {500, func(n int) string { return fact(n, fmt.Sprintf(`"message":%q`, reviewed)) }, true, false},
		"texts of 1 KiB":  {500, func(n int) string { return fact(n, within) }, false, false},
		"lists of 400 kB": {10, func(n int) string { return fact(n, wide) }, true, true},
	} {
		if facts.trial && !harness.Trial() {
			continue
		}
		t.Run("facts with "+what, func(t *testing.T) {
			namespace := stack.Namespace(t)
			var ours []*batchv1.Job
			for n := range 2 {
				ours = append(ours, victim(t, namespace, fmt.Sprintf("ours-%d", n), harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1)))
			}
			tested(t, func() {
				signals := make([]json.RawMessage, len(ours))
				for round := range harness.Size(60) {
					pods := make([]string, facts.pods)
					for n := range pods {
						pods[n] = facts.of(round*facts.pods + n)
					}
					for n, one := range ours {
						if round == 0 || !facts.refused {
							signals[n] = squeezed(t, `{"job":"`+string(one.UID)+`","pods":[`+strings.Join(pods, ",")+`]}`)
						}
						stack.Signal(t, harness.JobWorkflow(namespace, one.Name), protocol.PodsSignal, signals[n])
					}
				}
				for _, one := range ours {
					stack.LetGo(t, namespace, one.Name, 0)
				}
				for _, one := range ours {
					harness.Eventually(t, crowded, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, one.Name, batchv1.JobComplete) })
				}
			})
		})
	}
	namespace := stack.Namespace(t)
	var cronJobs []string
	for n := range 5 {
		cronJobs = append(cronJobs, stack.AddCronJob(t, harness.NewCronJob(namespace, fmt.Sprintf("ours-%d", n), harness.Yearly, harness.JobSpec(harness.RunSeconds(1)))).Name)
	}
	for _, elements := range sizes(600_000, maxElements-10) {
		t.Run(fmt.Sprintf("ends of runs with %d attempts", elements), func(t *testing.T) {
			closed := json.RawMessage(`{"cronJobUID":"x","name":"x","result":{"attempts":` + repeated("{}", elements) + `}}`)
			tested(t, func() {
				for range harness.Size(1) {
					for _, cronJob := range cronJobs {
						stack.Signal(t, harness.CronJobWorkflow(namespace, cronJob), protocol.JobSeenSignal, closed)
					}
				}
				for _, cronJob := range cronJobs {
					run := stack.Trigger(t, namespace, cronJob)
					harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
				}
			})
		})
	}
	for _, elements := range sizes(119_000, maxElements-10) {
		t.Run(fmt.Sprintf("Jobs of %d Pods", elements), func(t *testing.T) {
			state := squeezed(t, `{"pods":`+repeated("{}", elements)+`}`)
			tested(t, func() {
				runs := make([]client.WorkflowRun, harness.Size(300))
				atOnce(t, len(runs), func(ctx context.Context, n int) (err error) {
					name := fmt.Sprintf("x-%d-%d", elements, n)
					runs[n], err = stack.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
						ID: harness.JobWorkflow(namespace, name), TaskQueue: names.Cluster("").JobTaskQueue(),
					}, protocol.JobWorkflow, json.RawMessage(fmt.Sprintf(`{"job":{"namespace":%q,"name":%q,"uid":"u"},"spec":{},"state":%s}`, namespace, name, state)))
					return err
				})
				for _, run := range runs {
					if err := run.Get(t.Context(), nil); err == nil {
						t.Error("a Job of so many Pods has ended without an error")
					}
				}
			})
		})
	}
	for _, values := range sizes(1_200_000, maxValues-10) {
		t.Run(fmt.Sprintf("requests that count %d Pods", values), func(t *testing.T) {
			request := squeezed(t, `{"job":{"namespace":"x","name":"x","uid":"u"},"counted":`+repeated(`""`, values)+`}`)
			tested(t, func() {
				atOnce(t, harness.Size(300), func(ctx context.Context, n int) error {
					handle, err := stack.Temporal.ExecuteActivity(ctx, client.StartActivityOptions{
						ID: fmt.Sprintf("counted-%d-%d", values, n), TaskQueue: names.Cluster("").ControlTaskQueue(), ScheduleToCloseTimeout: crowded,
						RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
					}, protocol.CarryOutActivity, request)
					if err != nil {
						return err
					}
					if handle.Get(ctx, nil) == nil {
						return fmt.Errorf("a request with %d Pods was carried out", values)
					}
					return nil
				})
			})
		})
	}
}

// TestFactsOfJobsThatAreNotTakeLittleMemory: a workflow that has not planned keeps that facts came, and not the facts.
func TestFactsOfJobsThatAreNotTakeLittleMemory(t *testing.T) {
	namespace := stack.Namespace(t)
	pods := make([]string, 500)
	for n := range pods {
		pods[n] = fact(n, texts(1024))
	}
	facts := squeezed(t, `{"job":"u","pods":[`+strings.Join(pods, ",")+`]}`)
	tested(t, func() {
		atOnce(t, harness.Size(160), func(ctx context.Context, n int) error {
			name := fmt.Sprintf("early-%d", n)
			id, input := harness.JobWorkflow(namespace, name), json.RawMessage(fmt.Sprintf(`{"job":{"namespace":%q,"name":%q,"uid":"u"},"spec":{}}`, namespace, name))
			// What these workflows have left to do would keep the next attack's waiting. Some have ended.
			t.Cleanup(func() {
				_ = stack.Temporal.TerminateWorkflow(context.Background(), id, "", "the test is over")
			})
			for range 19 {
				options := client.StartWorkflowOptions{ID: id, TaskQueue: names.Cluster("").JobTaskQueue()}
				if _, err := stack.Temporal.SignalWithStartWorkflow(ctx, id, protocol.PodsSignal, facts, options, protocol.JobWorkflow, input); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// sizes are those of an attack: beyond what a value may have, in a trial, and just within.
func sizes(beyond, within int) []int {
	if harness.Trial() {
		return []int{beyond, within}
	}
	return []int{within}
}

// tested runs an attack beside Jobs of others, and checks what memory it took.
func tested(t *testing.T, attack func()) {
	t.Helper()
	below := stack.MeasureMemory(t)
	finished := keepFinishing(t, stack.Namespace(t))
	attack()
	t.Logf("%d other Jobs have finished meanwhile", finished())
	below(maxGrowth)
}

// maxAtOnce is how many of an attacker's calls are under way at a time: of many more, each fails after the ten seconds that
// Temporal's client gives a call.
const maxAtOnce = 300

// atOnce does something so many times, without waiting in between.
func atOnce(t *testing.T, times int, do func(ctx context.Context, n int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(maxAtOnce)
	for n := range times {
		group.Go(func() error { return do(ctx, n) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestAWordAboutAJobWithoutANameHoldsUpNoCronJob: what no Job can be called is not looked for.
func TestAWordAboutAJobWithoutANameHoldsUpNoCronJob(t *testing.T) {
	namespace := stack.Namespace(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	workflowID := harness.CronJobWorkflow(namespace, cronJob.Name)
	for _, said := range []string{`{"cronJobUID":%q,"name":""}`, `{"cronJobUID":%q,"name":"x/y","uid":"u"}`, `{"cronJobUID":%q,"name":"x","uid":""}`} {
		if err := stack.Temporal.SignalWorkflow(t.Context(), workflowID, "", protocol.JobSeenSignal, json.RawMessage(fmt.Sprintf(said, cronJob.UID))); err != nil {
			t.Fatal(err)
		}
	}
	run := stack.Trigger(t, namespace, cronJob.Name)
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
}

// TestTheLogOfAPodThatRunsOrHasSucceededIsNobodys: only the end of a Pod that has failed, or is being deleted, is evidence. Neither a
// release nor the word that the Job is gone reads another.
func TestTheLogOfAPodThatRunsOrHasSucceededIsNobodys(t *testing.T) {
	namespace := stack.Namespace(t)
	ours := stack.CreateJob(t, namespace, "ours", harness.JobSpec(harness.Indexed(2), harness.HoldIndex(0), harness.RunSeconds(1)))
	attacker := newAttacker(t)
	for phase, index := range map[corev1.PodPhase]string{corev1.PodRunning: "0", corev1.PodSucceeded: "1"} {
		t.Run(string(phase), func(t *testing.T) {
			harness.Eventually(t, begins, func(ctx context.Context) error { return stack.PodsAre(ctx, namespace, ours.Name, phase, 1) })
			pods, err := stack.PodsOf(t.Context(), namespace, ours.Name)
			if err != nil {
				t.Fatal(err)
			}
			pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Labels[batchv1.JobCompletionIndexAnnotation] != index })
			if len(pods) != 1 || pods[0].Status.Phase != phase {
				t.Fatalf("%d Pods of index %s", len(pods), index)
			}
			request := json.RawMessage(fmt.Sprintf(`{"job":%s,"digest":%q,"releases":[{"name":%q,"uid":%q,"phase":"Failed","logs":true,"container":"main"}]}`,
				text(t, referenceTo(ours)), digestOf(ours), pods[0].Name, pods[0].UID))
			given := attacker.askAs(t, asking.Own(protocol.JobRequest{Job: referenceTo(ours)}), protocol.CarryOutActivity, request)
			result := tells[protocol.JobResult](t, given)
			if len(result.Logs) != 1 || result.Logs[0].Lines != "" || result.Logs[0].Missing != "the Pod has not failed" {
				t.Errorf("logs %+v", result.Logs)
			}
		})
	}
	t.Run("as of a Job that is gone", func(t *testing.T) {
		request := protocol.ReleaseOrphansRequest{Job: referenceTo(ours), Evidence: true}
		given := attacker.askAs(t, asking.Own(protocol.JobRequest{Job: referenceTo(ours)}), protocol.ReleaseOrphansActivity, request)
		if result := tells[protocol.ReleaseOrphansResult](t, given); result.Released > 0 || result.Ended != nil || result.Logs != nil {
			t.Errorf("result %+v", result)
		}
	})
}
