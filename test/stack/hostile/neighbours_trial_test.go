//go:build trial

package hostile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// neighbourNamespaces hold neighboursEach CronJobs each, which are due every minute.
	neighbourNamespaces, neighboursEach = 5, 4
	// quietRuns and attackedRuns are how many times each CronJob is due before and during the attacks.
	quietRuns, attackedRuns = 2, 3
	// maxLater is how much later the neighbours' runs may start while somebody attacks.
	maxLater = 2 * time.Second
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
	rounds := time.Duration(runs / (neighbourNamespaces * neighboursEach))
	harness.Eventually(t, rounds*harness.NextMinute, func(context.Context) error {
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

// TestNeighboursStartOnTimeDuringAttacks waits for runs of seven minutes.
func TestNeighboursStartOnTimeDuringAttacks(t *testing.T) {
	startOnTime(t, func(ctx context.Context) (ended func() map[string]int) { return attackAlong(t, ctx, messages(t)) })
}

// TestMadeUpTimesHoldUpNoStart waits for runs of seven minutes: starts of a CronJob at times that nobody's schedule names.
func TestMadeUpTimesHoldUpNoStart(t *testing.T) {
	cronJob := stack.AddCronJob(t, harness.NewCronJob(stack.Namespace(t), "ours", harness.Minutely, harness.JobSpec(harness.RunSeconds(1))))
	startOnTime(t, func(ctx context.Context) (ended func() map[string]int) { return madeUpStarts(t, ctx, cronJob) })
}

// startOnTime compares when runs of others start quietly and during an attack, which goes on until its context is done.
func startOnTime(t *testing.T, attack func(ctx context.Context) (ended func() map[string]int)) {
	t.Helper()
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
	ended := attack(ctx)
	during := percentile99(seen.next(t, attackedRuns*len(added)))
	stop()
	for what, times := range ended() {
		t.Logf("%d times: %s", times, what)
	}
	t.Logf("99 of 100 runs started within %s of their time in a quiet run, within %s during the attacks", before.Round(time.Millisecond), during.Round(time.Millisecond))
	if during > before+maxLater {
		t.Errorf("runs started %s later than in a quiet run, want %s at most", (during - before).Round(time.Millisecond), maxLater)
	}
}

// betweenMessages is how long an attack waits before it sends a message again.
const betweenMessages = 500 * time.Millisecond

// attackAlong repeats every message, each as fast as Temporal takes it and at most twice a second, until the context is done.
// ended waits for that and returns how often each was sent.
func attackAlong(t *testing.T, ctx context.Context, messages []message) (ended func() map[string]int) {
	t.Helper()
	var group sync.WaitGroup
	var mutex sync.Mutex
	sent := map[string]int{}
	for _, message := range messages {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if message.send(ctx, n) == nil {
					mutex.Lock()
					sent[message.what]++
					mutex.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(betweenMessages):
				}
			}
		})
	}
	return func() map[string]int {
		group.Wait()
		return sent
	}
}

// startsAtATime is how many starts of made-up times are asked for at a time.
const startsAtATime = 32

// madeUpStarts asks for starts of a CronJob at every second of the last hours, ten thousand and more, until the context is done.
func madeUpStarts(t *testing.T, ctx context.Context, cronJob *ostinatov1.CronJob) (ended func() map[string]int) {
	t.Helper()
	var group sync.WaitGroup
	var sent atomic.Int64
	digest, from := schedule.SpecOf(cronJob).Digest(), time.Now().UTC().Truncate(time.Second)
	for range startsAtATime {
		group.Go(func() {
			for ctx.Err() == nil {
				n := sent.Add(1)
				at := from.Add(-time.Duration(n) * time.Second)
				_, err := stack.Temporal.ExecuteActivity(ctx, client.StartActivityOptions{
					ID: fmt.Sprintf("made-up-%d", n), TaskQueue: names.Cluster("").ControlTaskQueue(), ScheduleToCloseTimeout: answers,
					RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
				}, protocol.StartRunActivity, protocol.StartRunRequest{
					CronJob: referenceTo(cronJob), Digest: digest, Start: schedule.Start{Name: "x", Scheduled: at},
				})
				if err != nil && ctx.Err() == nil {
					t.Errorf("start an activity: %v", err)
				}
			}
		})
	}
	return func() map[string]int {
		group.Wait()
		return map[string]int{"a start at a made-up time": int(sent.Load())}
	}
}

// repeats is how often each message is sent, twice a second, to see what it leaves in etcd.
const repeats = 20

// TestNoAttackFillsEtcd sends each message again and again.
func TestNoAttackFillsEtcd(t *testing.T) {
	all := messages(t)
	for n, message := range all {
		t.Run(message.what, func(t *testing.T) {
			since := stack.MeasureCost(t)
			ctx, stop := context.WithTimeout(t.Context(), repeats*betweenMessages)
			defer stop()
			sent := attackAlong(t, ctx, all[n:n+1])()[message.what]
			t.Logf("sent %d times", sent)
			harness.Always(t, effects, func(context.Context) error { return stack.Stack.Ended() })
			if cost := since(); cost.Requests >= repeats*maxRequests || cost.Stored >= maxStored {
				t.Errorf("%d requests to the API server, want fewer than %d, and %d bytes in etcd, want less than %d",
					cost.Requests, repeats*maxRequests, cost.Stored, maxStored)
			}
		})
	}
}
