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
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/devstack/temporalcluster"
	"ostinato.dev/ostinato/internal/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/test/harness"
)

const (
	// herd is how many CronJobs are due together, twice.
	herd = 60
	// preparations is how long before the first of the two minutes the CronJobs are made.
	preparations = 20 * time.Second
	// hostLoss is how long the other hosts may take to find that one is dead, and to load its shards.
	hostLoss = 30 * time.Second
	// herdDone is how long the herd may take when a host and a worker are lost on the way.
	herdDone = hostLoss + harness.Recovery + harness.Bulk
)

// victim is the history host that dies.
var victim = temporalcluster.Host{Role: spec.History, N: 1}

// A herd is due in two minutes, one after the other. In the middle of the second a history host is killed with the half
// of all shards that it has, and so is the worker that watches the Pods. Every run of both minutes happens exactly once,
// with one Pod, and every ledger says so.
func TestHistoryHostAndWorkerKilledInTheMiddleOfAHerd(t *testing.T) {
	restore(t)
	namespace := stack.Namespace(t)
	record, arrivals := stack.Record(t, namespace), follow(t, namespace)
	calm := minuteAfter(preparations)
	stormy := calm.Add(time.Minute)
	var names []string
	for n := range herd {
		name := fmt.Sprintf("herd-%02d", n)
		cronJob := harness.NewCronJob(namespace, name, fmt.Sprintf("%d,%d * * * *", calm.Minute(), stormy.Minute()), harness.JobSpec(harness.RunSeconds(1)))
		cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(2))
		stack.CreateCronJob(t, cronJob)
		names = append(names, name)
	}
	for _, name := range names {
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.Observed(ctx, namespace, name) })
	}
	if !time.Now().Before(calm) {
		t.Fatalf("the CronJobs were known to Temporal only after %s, when they were due", calm)
	}

	// On a slow machine the first herd may still be under way: what counts is that the second is.
	if !harness.AsSoonAs(t, time.Until(stormy)+herdDone, func() bool { return arrivals.created(stormy) >= herd/4 }) {
		t.Fatalf("%d of %d Jobs were created for %s", arrivals.created(stormy), herd, stormy)
	}
	holder, err := stack.PodWatchHolder(t.Context())
	if err != nil {
		t.Logf("nobody is known to watch Pods, so the first worker dies: %v", err)
	}
	if err := errors.Join(stack.Stack.Cluster().KillHost(victim), stack.Stack.KillWorker(holder)); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	created, complete := arrivals.created(stormy), arrivals.complete(stormy)
	t.Logf("killed %s and worker %d, %s after the due time: %d of %d Jobs were created, %d Complete",
		victim.Name(), holder, killed.Sub(stormy).Round(time.Millisecond), created, herd, complete)
	if complete == herd {
		t.Fatal("the herd was over: too late for a kill in the middle")
	}
	undisturbed := arrivals.complete(calm)
	awaitComplete(t, arrivals, calm)
	awaitComplete(t, arrivals, stormy)

	for _, name := range names {
		ranOnce(t, record, namespace, name, calm, stormy)
	}
	t.Logf("undisturbed, but for %d that were not Complete at the kills: %s", herd-undisturbed, arrivals.delays(calm))
	t.Logf("with the kills: %s", arrivals.delays(stormy))
	t.Logf("all were Complete %s after the kills", arrivals.last(stormy).Sub(killed).Round(time.Millisecond))
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
	var names []string
	for _, p := range stack.Stack.Processes() {
		names = append(names, p.Name())
	}
	return names
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

// ranOnce asserts that each of the times has one Job with one Pod, released, and a row in the ledger that names it, and
// that there is nothing else.
func ranOnce(t *testing.T, record *harness.Record, namespace, name string, times ...time.Time) {
	t.Helper()
	scheduled := record.Scheduled(name)
	if jobs := record.Jobs(name); len(jobs) != len(times) {
		t.Errorf("%s had %d Jobs, want %d", name, len(jobs), len(times))
	}
	for _, at := range times {
		jobs := scheduled[at.UTC()]
		if len(jobs) != 1 {
			t.Errorf("%s has %d Jobs for %s, want 1", name, len(jobs), at)
			continue
		}
		job := jobs[0].Name
		harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
			pods, err := stack.PodsOf(ctx, namespace, job)
			if err == nil && len(pods) == 1 && !harness.Tracked(&pods[0]) {
				return nil
			}
			return fmt.Errorf("job %s has %d Pods, or one that is not released: %w", job, len(pods), err)
		})
		if pods := record.Pods(job); len(pods) != 1 {
			t.Errorf("%d Pods were created for %s, want 1", len(pods), job)
		}
		harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return recorded(ctx, namespace, name, at, job, len(times)) })
	}
}

// recorded returns nil when the ledger has so many rows, and that of the time says that the Job ran and is Complete.
func recorded(ctx context.Context, namespace, name string, at time.Time, job string, rows int) error {
	description, err := stack.DescribeCronJob(ctx, namespace, name)
	if err != nil {
		return err
	}
	for _, row := range description.Ledger {
		if !row.Scheduled.Equal(at) || row.Outcome != schedule.Started || row.Job != job || row.Result != schedule.RunComplete || row.FailedAttempts != 0 {
			continue
		}
		if len(description.Ledger) == rows {
			return nil
		}
	}
	return fmt.Errorf("the ledger of %s does not say that %s ran for %s, and nothing else but its %d runs: %+v", name, job, at, rows, description.Ledger)
}

// arrivals are when the Jobs of a herd were first seen, and first seen Complete, by the clock of this process: times in
// objects have whole seconds.
type arrivals struct {
	mutex sync.Mutex
	begun map[string]moments
}

// moments are those of one Job.
type moments struct{ due, created, complete time.Time }

func follow(t *testing.T, namespace string) *arrivals {
	t.Helper()
	a := &arrivals{begun: map[string]moments{}}
	stack.FollowJobs(t, namespace, a.see)
	return a
}

func (a *arrivals) see(job *batchv1.Job, _ bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	m, known := a.begun[job.Name]
	if !known {
		m.created = time.Now()
		m.due, _ = time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
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
