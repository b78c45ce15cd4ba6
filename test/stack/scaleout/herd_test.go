package scaleout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// herd is how many CronJobs there are.
	herd = 60
	// preparations is how long before they are due the CronJobs are made, at least: each runs once before.
	preparations = 30 * time.Second
	// hostLoss is how long the other hosts may take to find that one is dead, and to load its shards.
	hostLoss = 30 * time.Second
	// herdDone is how long the herd may take when a host and a worker are lost on the way.
	herdDone = hostLoss + harness.Recovery + harness.Bulk
)

// victim is the history host that dies.
var victim = temporalcluster.Host{Role: spec.History, N: 1}

// A herd runs twice: triggered all at once, which shows what it takes when nothing dies, and due all at once. In the
// middle of the second a history host is killed with the half of all shards that it has, and so is the worker that
// watches the Pods. Every run happens exactly once, with one Pod, and every ledger says so.
func TestHistoryHostAndWorkerKilledInTheMiddleOfAHerd(t *testing.T) {
	restore(t)
	namespace := stack.Namespace(t)
	record, arrivals := stack.Record(t, namespace), follow(t, namespace)
	due := minuteAfter(preparations)
	var cronJobs []string
	for n := range herd {
		name := fmt.Sprintf("herd-%02d", n)
		stack.CreateCronJob(t, harness.NewCronJob(namespace, name, fmt.Sprintf("%d * * * *", due.Minute()), harness.JobSpec(harness.RunSeconds(1))))
		cronJobs = append(cronJobs, name)
	}
	for _, name := range cronJobs {
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.Observed(ctx, namespace, name) })
	}
	triggered := arrivals.trigger(t, namespace, cronJobs)

	// On a slow machine the first herd may still be under way when the second is due.
	if !harness.AsSoonAs(t, time.Until(due)+herdDone, func() bool { return arrivals.created(due) >= herd/4 }) {
		t.Fatalf("%d of %d Jobs were created for %s", arrivals.created(due), herd, due)
	}
	holder, err := stack.PodWatchHolder(t.Context())
	if err != nil {
		t.Logf("nobody is known to watch Pods, so the first worker dies: %v", err)
	}
	if err := errors.Join(stack.Stack.Cluster().KillHost(victim), stack.Stack.KillWorker(holder)); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	created, complete, late := arrivals.created(due), arrivals.complete(due), herd-arrivals.complete(triggered)
	t.Logf("killed %s and worker %d, %s after the due time: %d of %d Jobs were created, %d Complete; %d of those triggered before were not",
		victim.Name(), holder, killed.Sub(due).Round(time.Millisecond), created, herd, complete, late)
	if complete == herd {
		t.Fatal("the herd was over: too late for a kill in the middle")
	}
	awaitComplete(t, arrivals, triggered)
	awaitComplete(t, arrivals, due)

	for _, name := range cronJobs {
		ranOnceEach(t, record, namespace, name, due)
	}
	t.Logf("triggered, undisturbed: %s", arrivals.delays(triggered))
	t.Logf("due, with the kills: %s", arrivals.delays(due))
	t.Logf("all were Complete %s after the kills", arrivals.last(due).Sub(killed).Round(time.Millisecond))
}

// restore starts again what a test has killed.
func restore(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), harness.Recovery)
		defer cancel()
		for len(stack.Workers()) < workers {
			if err := stack.Stack.StartWorker(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Contains(processNames(), victim.Name()) {
			if err := stack.Stack.Cluster().StartHost(ctx, victim); err != nil {
				t.Error(err)
			}
		}
	})
}

func processNames() []string {
	var running []string
	for _, p := range stack.Stack.Processes() {
		running = append(running, p.Name())
	}
	return running
}

// minuteAfter returns the next full minute that is at least so far away.
func minuteAfter(least time.Duration) time.Time {
	return time.Now().Add(least).Truncate(time.Minute).Add(time.Minute)
}

func awaitComplete(t *testing.T, arrivals *arrivals, due time.Time) {
	t.Helper()
	harness.Eventually(t, time.Until(due)+herdDone, func(context.Context) error {
		if created, complete := arrivals.created(due), arrivals.complete(due); created != herd || complete != herd {
			return fmt.Errorf("%d Jobs were created for %s and %d are Complete, of %d", created, due, complete, herd)
		}
		return nil
	})
}

// ranOnceEach asserts that a CronJob has had one Job by trigger and one for the time it was due, each with one Pod that is
// released, and a ledger of these two runs.
func ranOnceEach(t *testing.T, record *harness.Record, namespace, name string, due time.Time) {
	t.Helper()
	jobs := record.Jobs(name)
	if scheduled := record.Scheduled(name); len(jobs) != 2 || len(scheduled) != 1 || len(scheduled[due.UTC()]) != 1 {
		t.Errorf("%s had %d Jobs, these of them scheduled: %v, want one triggered and one for %s", name, len(jobs), scheduled, due)
	}
	for _, job := range jobs {
		harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
			pods, err := stack.PodsOf(ctx, namespace, job.Name)
			if err == nil && len(pods) == 1 && !harness.Tracked(&pods[0]) {
				return nil
			}
			return fmt.Errorf("job %s has %d Pods, or one that is not released: %w", job.Name, len(pods), err)
		})
		if pods := record.Pods(job.Name); len(pods) != 1 {
			t.Errorf("%d Pods were created for %s, want 1", len(pods), job.Name)
		}
		harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return recorded(ctx, namespace, name, job.Name, due) })
	}
}

// recorded returns nil when the ledger has two rows, and one of them says that the Job ran, for the time it was due or by
// trigger, and is Complete.
func recorded(ctx context.Context, namespace, name, job string, due time.Time) error {
	description, err := stack.DescribeCronJob(ctx, namespace, name)
	if err != nil {
		return err
	}
	for _, row := range description.Ledger {
		if row.Job == job && row.Outcome == ledger.Started && row.Result == ledger.Complete && row.FailedAttempts == 0 &&
			(row.Manual || row.Scheduled.Equal(due)) && len(description.Ledger) == 2 {
			return nil
		}
	}
	return fmt.Errorf("the ledger of %s does not say that %s ran, or says more than two runs: %+v", name, job, description.Ledger)
}

// arrivals are when the Jobs of a herd were first seen, and first seen Complete, by the clock of this process: times in
// objects have whole seconds.
type arrivals struct {
	mutex sync.Mutex
	begun map[string]moments
	// triggered is when those of triggers were due.
	triggered time.Time
}

// moments are those of one Job.
type moments struct{ due, created, complete time.Time }

func follow(t *testing.T, namespace string) *arrivals {
	t.Helper()
	a := &arrivals{begun: map[string]moments{}}
	stack.FollowJobs(t, namespace, a.see)
	return a
}

// trigger starts a run of each CronJob, and returns when.
func (a *arrivals) trigger(t *testing.T, namespace string, cronJobs []string) time.Time {
	t.Helper()
	now := time.Now()
	a.mutex.Lock()
	a.triggered = now
	a.mutex.Unlock()
	for _, name := range cronJobs {
		stack.Signal(t, harness.CronJobWorkflow(namespace, name), protocol.TriggerSignal, nil)
	}
	return now
}

func (a *arrivals) see(job *batchv1.Job, _ bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	m, known := a.begun[job.Name]
	if !known {
		m.created = time.Now()
		m.due, _ = time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		if job.Annotations[names.InstantiateAnnotation] != "" {
			m.due = a.triggered
		}
	}
	if m.complete.IsZero() && job.Status.CompletionTime != nil && metav1.GetControllerOf(job) != nil {
		m.complete = time.Now()
	}
	a.begun[job.Name] = m
}

// of returns the moments of the Jobs of a time.
func (a *arrivals) of(due time.Time) []moments {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var found []moments
	for _, m := range a.begun {
		if m.due.Equal(due) {
			found = append(found, m)
		}
	}
	return found
}

func (a *arrivals) created(due time.Time) int { return len(a.of(due)) }

func (a *arrivals) complete(due time.Time) int {
	return len(slices.DeleteFunc(a.of(due), func(m moments) bool { return m.complete.IsZero() }))
}

// last returns when the last Job of a time was Complete.
func (a *arrivals) last(due time.Time) time.Time {
	var last time.Time
	for _, m := range a.of(due) {
		if m.complete.After(last) {
			last = m.complete
		}
	}
	return last
}

// delays says how long after the due time Jobs were created, and when the last was Complete.
func (a *arrivals) delays(due time.Time) string {
	var delays []time.Duration
	for _, m := range a.of(due) {
		delays = append(delays, m.created.Sub(due).Round(time.Millisecond))
	}
	slices.Sort(delays)
	if len(delays) == 0 {
		return "no Job"
	}
	return fmt.Sprintf("%d Jobs, due time to Job created p50 %s, p99 %s, max %s; the last Complete after %s", len(delays),
		delays[len(delays)/2], delays[(len(delays)-1)*99/100], delays[len(delays)-1], a.last(due).Sub(due).Round(time.Millisecond))
}
