// Package chaos kills everything at random moments while hundreds of runs start, or has it stand still, and counts in the end.
package chaos

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

var (
	// seedFlag repeats what an earlier run did when.
	seedFlag = flag.Uint64("chaos.seed", 0, "seed of what TestChaos and TestPauses do when; 0 takes a new one")
	// firesFlag and minutesFlag say how much of it there is.
	firesFlag   = flag.Int("chaos.fires", fires(), "scheduled times and triggers of TestChaos and TestPauses, at least")
	minutesFlag = flag.Int("chaos.minutes", 2, "minutes during which TestChaos has scheduled times")
)

// fires is how many scheduled times and triggers there are unless somebody asks for another number.
func fires() int {
	if harness.Trial() {
		return 1000
	}
	return 300
}

const (
	// workers is how many workers run.
	workers = 2
	// lead is how long before the first scheduled time all CronJobs know their schedule, at least, where that takes no longer
	// than their creation took.
	lead = 15 * time.Second
	// keepsAll is a history limit beyond what a CronJob runs.
	keepsAll = 1000
	// deletions is how many Pods are deleted at a time.
	deletions = 10
	// overlap is how far into the last minute long Pods run.
	overlap = 5 * time.Second
	// settling bounds how long what the chaos has left takes to end: hundreds of runs, and some begin when all
	// is up again.
	settling = harness.AfterOutage + harness.Recovery + 3*harness.Bulk
)

// chaos is one run of TestChaos or TestPauses.
type chaos struct {
	random    *rand.Rand
	namespace string
	record    *harness.Record
	// minutes is how many scheduled times each CronJob has.
	minutes int
	// times are the scheduled times, and first and end when those begin and end.
	times      []time.Time
	first, end time.Time
	cronJobs   []*ostinatov1.CronJob
	// jobs are the names of the Jobs of no CronJob.
	jobs []string
	// kills counts what was done.
	kills map[string]int
	// unseen counts Jobs that came and went while the watch was behind.
	unseen int
}

// 300 fires, and 1,000 in a trial, of CronJobs of every policy, while worker, bridge, Temporal and kube-apiserver are killed
// (SIGKILL) and Pods deleted at random moments, most of them in the first half of a minute, in which all is due. Then every
// scheduled time and trigger has exactly one outcome in the ledger, there is exactly one Job for each that has started, and no
// other Job and no Pod without its Job. More of it, or the same again:
//
//	go test ./test/stack/failure/chaos -v -args -chaos.fires=5000 -chaos.minutes=10 -chaos.seed=7
func TestChaos(t *testing.T) {
	c := begin(t, *minutesFlag)
	c.create(t, func(int) int32 { return keepsAll })
	triggers := c.planTriggers()
	blows := c.planBlows()
	var sending sync.WaitGroup
	sending.Go(func() { c.send(t, triggers) })
	for _, blow := range blows {
		until(t, blow.at)
		c.strike(t, blow)
	}
	sending.Wait()
	c.endsWell(t)
}

// begin draws a seed, unless one is given, and begins to watch.
func begin(t *testing.T, minutes int) *chaos {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat this with -args -chaos.seed=%d -chaos.fires=%d -chaos.minutes=%d", seed, *firesFlag, *minutesFlag)
	c := &chaos{random: rand.New(rand.NewPCG(seed, seed)), namespace: stack.Namespace(t), minutes: minutes, kills: map[string]int{}}
	c.record = stack.Record(t, c.namespace)
	return c
}

// endsWell waits until the last minute is over and all that was started has ended, and accounts for it.
func (c *chaos) endsWell(t *testing.T) {
	t.Helper()
	until(t, c.end)
	restartBridge(t)
	survivors(t)
	t.Logf("over %s after the first scheduled time: %v", time.Since(c.first).Round(time.Second), c.kills)
	c.settles(t)
	t.Logf("settled %s after the last scheduled time", time.Since(c.times[len(c.times)-1]).Round(time.Second))
	c.accounts(t)
}

// create makes the CronJobs: of each policy some with Pods that end at once, and some with Pods that run into the last
// minute, so that every time but the first meets a run that is active. keeps is the history limit of the n-th. They get
// their schedule when all are there: when it can begin depends on what the machine takes for so many.
func (c *chaos) create(t *testing.T, keeps func(n int) int32) {
	t.Helper()
	count := (*firesFlag + c.minutes) / (c.minutes + 1)
	policies := []batchv1.ConcurrencyPolicy{
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, ostinatov1.QueueConcurrent,
	}
	began := time.Now()
	for n := range count {
		job := harness.JobSpec(harness.RunSeconds(1), harness.PodAnnotation(names.BackoffBaseAnnotation, "1"), harness.BackoffLimit(100))
		c.cronJobs = append(c.cronJobs, stack.CreateCronJob(t, harness.NewCronJob(c.namespace, fmt.Sprintf("chaos-%04d", n), harness.Yearly, job,
			harness.Policy(policies[n%len(policies)]), func(cronJob *ostinatov1.CronJob) {
				cronJob.Spec.TimeZone = ptr.To("Etc/UTC")
				cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(keeps(n))
				cronJob.Spec.FailedJobsHistoryLimit = ptr.To(keeps(n))
			})))
	}
	c.observed(t)
	c.plan(time.Since(began))
	for n := range c.cronJobs {
		c.cronJobs[n] = c.scheduled(t, c.cronJobs[n], n/len(policies)%2 == 1)
	}
	c.observed(t)
	t.Logf("%d CronJobs, %q, are there %s before the first scheduled time", count, c.schedule(), time.Until(c.first).Round(time.Second))
}

// plan sets the scheduled times, of CronJobs whose creation has taken so long.
func (c *chaos) plan(creation time.Duration) {
	c.first = time.Now().UTC().Add(lead + creation).Truncate(time.Minute).Add(time.Minute)
	for n := range c.minutes {
		c.times = append(c.times, c.first.Add(time.Duration(n)*time.Minute))
	}
	c.end = c.times[len(c.times)-1].Add(time.Minute)
}

// schedule is that of the scheduled times. Where the hour changes in between, the other times of this are not near.
func (c *chaos) schedule() string {
	var minutes, hours []string
	for _, at := range c.times {
		minutes, hours = append(minutes, fmt.Sprint(at.Minute())), append(hours, fmt.Sprint(at.Hour()))
	}
	return fmt.Sprintf("%s %s * * *", strings.Join(minutes, ","), strings.Join(slices.Compact(hours), ","))
}

// scheduled gives a CronJob its schedule, and long Pods where asked.
func (c *chaos) scheduled(t *testing.T, cronJob *ostinatov1.CronJob, long bool) *ostinatov1.CronJob {
	t.Helper()
	spec := map[string]any{"schedule": c.schedule()}
	if long {
		until := c.times[len(c.times)-1].Add(overlap).Format(time.RFC3339)
		spec["jobTemplate"] = map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{node.AnnotationRunUntil: until, node.AnnotationRunSeconds: nil},
		}}}}
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	patched, err := stack.CronJobs.CronJobs(c.namespace).Patch(t.Context(), cronJob.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("give CronJob %s its schedule: %v", cronJob.Name, err)
	}
	return patched
}

// observed waits until the workflows of all CronJobs know their objects as they are.
func (c *chaos) observed(t *testing.T) {
	t.Helper()
	for _, cronJob := range c.cronJobs {
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.Observed(ctx, c.namespace, cronJob.Name) })
	}
}

// trigger is a signal to come.
type trigger struct {
	at      time.Time
	cronJob string
}

// planTriggers draws when each CronJob is triggered.
func (c *chaos) planTriggers() []trigger {
	var triggers []trigger
	for _, cronJob := range c.cronJobs {
		after := time.Duration(c.random.Int64N(int64(c.end.Sub(c.first))))
		triggers = append(triggers, trigger{c.first.Add(after), cronJob.Name})
	}
	slices.SortFunc(triggers, func(a, b trigger) int { return a.at.Compare(b.at) })
	return triggers
}

// send sends triggers. Each has an ID of its own, so that Temporal takes one that is repeated once.
func (c *chaos) send(t *testing.T, triggers []trigger) {
	for _, trigger := range triggers {
		select {
		case <-time.After(time.Until(trigger.at)):
		case <-t.Context().Done():
			return
		}
		request := &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, SignalName: protocol.TriggerSignal, RequestId: "chaos-" + c.namespace + trigger.cronJob,
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: harness.CronJobWorkflow(c.namespace, trigger.cronJob)},
		}
		err := harness.Poll(t.Context(), 500*time.Millisecond, harness.Recovery, func(ctx context.Context) error {
			_, err := stack.Temporal.WorkflowService().SignalWorkflowExecution(ctx, request)
			return err
		})
		if err != nil {
			t.Errorf("trigger %s: %v", trigger.cronJob, err)
		}
	}
}
