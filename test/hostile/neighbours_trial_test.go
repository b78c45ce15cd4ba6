package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/harness"
)

const (
	// neighbourNamespaces hold neighboursEach CronJobs each, which are due every minute.
	neighbourNamespaces, neighboursEach = 5, 4
	// quietRuns and attackedRuns are how many times each CronJob is due before and during the attacks.
	quietRuns, attackedRuns = 2, 3
	// mostLater is how much later the neighbours' runs may start while somebody attacks.
	mostLater = 2 * time.Second
)

// starts are the times between due and seen of Jobs.
type starts struct {
	mutex sync.Mutex
	seen  map[types.UID]bool
	late  []time.Duration
}

func (s *starts) see(job *batchv1.Job, _ bool) {
	now := time.Now()
	due, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err != nil || s.seen[job.UID] {
		return
	}
	s.seen[job.UID] = true
	s.late = append(s.late, now.Sub(due))
}

// next waits until so many more runs have started, and returns how late each was, earliest first.
func (s *starts) next(t *testing.T, runs int) []time.Duration {
	t.Helper()
	var found []time.Duration
	s.mutex.Lock()
	from := len(s.late)
	s.mutex.Unlock()
	minutes := time.Duration(runs / (neighbourNamespaces * neighboursEach))
	harness.Eventually(t, minutes*time.Minute+harness.NextMinute, func(context.Context) error {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if found = slices.Clone(s.late[from:]); len(found) < runs {
			return fmt.Errorf("%d runs have started, want %d", len(found), runs)
		}
		return nil
	})
	slices.Sort(found)
	return found
}

// percentile99 returns the value that 99 of 100 do not exceed; the values are sorted.
func percentile99(values []time.Duration) time.Duration { return values[(len(values)*99-1)/100] }

// squeezed returns the JSON as our own processes send a long one.
func squeezed(t *testing.T, plain string) json.RawMessage {
	t.Helper()
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(`{"gzip":"` + base64.StdEncoding.EncodeToString(compressed.Bytes()) + `"}`)
}

// TestNeighboursStartOnTimeDuringAttacks takes minutes: it runs with OSTINATO_TRIAL=1 (make trial-neighbours).
func TestNeighboursStartOnTimeDuringAttacks(t *testing.T) {
	if os.Getenv("OSTINATO_TRIAL") == "" {
		t.Skip("it waits for runs of five minutes: make trial-neighbours")
	}
	seen := &starts{seen: map[types.UID]bool{}}
	var added []string
	for range neighbourNamespaces {
		namespace := stack.Namespace(t)
		stack.FollowJobs(t, namespace, seen.see)
		for n := range neighboursEach {
			cronJob := harness.NewCronJob(namespace, fmt.Sprintf("neighbour-%d", n), harness.Minutely, harness.JobSpec(harness.RunSeconds(1)))
			stack.AddCronJob(t, cronJob)
			added = append(added, cronJob.Name)
		}
	}
	seen.next(t, len(added))
	before := percentile99(seen.next(t, quietRuns*len(added)))

	ctx, stop := context.WithCancel(t.Context())
	ended := attackAlong(t, ctx)
	during := percentile99(seen.next(t, attackedRuns*len(added)))
	stop()
	for what, times := range ended() {
		t.Logf("%d times: %s", times, what)
	}
	t.Logf("99 of 100 runs started within %s of their time in a quiet run, within %s during the attacks", before.Round(time.Millisecond), during.Round(time.Millisecond))
	if during > before+mostLater {
		t.Errorf("runs started %s later than in a quiet run, want %s at most", (during - before).Round(time.Millisecond), mostLater)
	}
}

// attackAlong repeats every attack, each as fast as Temporal takes it and at most twice a second, until the context is done.
// ended waits for that and returns how often each was sent.
func attackAlong(t *testing.T, ctx context.Context) (ended func() map[string]int) {
	t.Helper()
	namespace := stack.Namespace(t)
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	ours, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, ours.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "ours", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	reference, digest := text(t, referenceTo(ours)), job.SpecOf(ours).Digest()
	ofCronJob := text(t, referenceTo(cronJob))
	long, queue, jobs := strings.Repeat("x", 1_300_000), names.Cluster("").ControlTaskQueue(), names.Cluster("").JobTaskQueue()

	var events []string
	for n := range 12 {
		events = append(events, fmt.Sprintf(`{"type":"Warning","reason":"Evil%d","message":%q}`, n, long))
	}
	request := func(more string) json.RawMessage {
		return squeezed(t, `{"job":`+reference+`,"digest":"`+digest+`",`+more+`}`)
	}
	listed := func(element string, count int) string {
		return "[" + strings.Repeat(element+",", count-1) + element + "]"
	}
	handled := make([]string, 600_000)
	for n := range handled {
		handled[n] = fmt.Sprintf(`"a%d":1`, n)
	}
	startTime := ours.Status.StartTime.UTC().Format(time.RFC3339)
	tasks := map[string]struct {
		activity, queue string
		request         json.RawMessage
	}{
		"Events of 1.3 MB":           {protocol.ReconcileJobActivity, queue, request(`"events":[` + strings.Join(events, ",") + `]`)},
		"a condition of 1.3 MB":      {protocol.ReconcileJobActivity, queue, request(`"status":{"startTime":"` + startTime + `","conditions":[{"type":"evil.example/x","status":"True","message":"` + long + `"}]}`)},
		"600,000 metric labels":      {protocol.ReconcileJobActivity, queue, request(`"status":{"startTime":"` + startTime + `","active":1},"handled":{` + strings.Join(handled, ",") + `}`)},
		"20,000 releases":            {protocol.ReconcileJobActivity, queue, request(`"releases":` + listed(`{"name":"x","uid":"y"}`, 20_000))},
		"20,000 Jobs to look at":     {protocol.ReconcileCronJobActivity, queue, squeezed(t, `{"cronJob":`+ofCronJob+`,"look":`+listed(`{"name":"x","uid":"y"}`, 20_000)+`}`)},
		"an activity of no type":     {"Evil", queue, json.RawMessage(`{}`)},
		"the log of a Pod that runs": {protocol.ReleasePodsActivity, names.Cluster("").BulkTaskQueue(), json.RawMessage(`{"job":` + reference + `,"releases":[{"name":"x","uid":"y","phase":"Failed","logs":true}]}`)},
	}
	facts := squeezed(t, `{"job":"`+string(ours.UID)+`","pods":`+listed(fmt.Sprintf(`{"name":"e","uid":"e","phase":"Running","tracked":true,"message":%q}`, long[:30_000]), 500)+`}`)
	closed := json.RawMessage(`{"cronJobUID":"x","name":"x","result":{"attempts":` + listed("{}", 600_000) + `}}`)

	var group sync.WaitGroup
	var mutex sync.Mutex
	sent := map[string]int{}
	repeat := func(what string, send func(n int) error) {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if send(n) == nil {
					mutex.Lock()
					sent[what]++
					mutex.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(500 * time.Millisecond):
				}
			}
		})
	}
	for what, task := range tasks {
		id := "neighbours-" + strings.ReplaceAll(what, " ", "-")
		repeat(what, func(n int) error {
			_, err := stack.Temporal.ExecuteActivity(ctx, client.StartActivityOptions{
				ID: fmt.Sprintf("%s-%d", id, n), TaskQueue: task.queue, StartToCloseTimeout: answers / 2, ScheduleToCloseTimeout: answers,
				RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
			}, task.activity, task.request)
			return err
		})
	}
	repeat("facts of 15 MB", func(int) error {
		return stack.Temporal.SignalWorkflow(ctx, harness.JobWorkflow(namespace, ours.Name), "", protocol.PodsSignal, facts)
	})
	repeat("a closed run with 600,000 attempts", func(int) error {
		return stack.Temporal.SignalWorkflow(ctx, harness.CronJobWorkflow(namespace, cronJob.Name), "", protocol.JobClosedSignal, closed)
	})
	repeat("a Job of 119,000 Pods", func(n int) error {
		input := fmt.Sprintf(`{"job":{"namespace":%q,"name":"x%d","uid":"u"},"spec":{},"state":%s}`, namespace, n, squeezed(t, `{"pods":`+listed("{}", 119_000)+`}`))
		_, err := stack.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: fmt.Sprintf("job/%s/x%d", namespace, n), TaskQueue: jobs},
			protocol.JobWorkflow, json.RawMessage(input))
		return err
	})
	return func() map[string]int {
		group.Wait()
		return sent
	}
}

// text returns the JSON of a value.
func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
