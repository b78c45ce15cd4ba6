//go:build trial

package hostile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
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

// attackAlong repeats every message, each as fast as Temporal takes it and at most twice a second, until the context is done.
// ended waits for that and returns how often each was sent.
func attackAlong(t *testing.T, ctx context.Context) (ended func() map[string]int) {
	t.Helper()
	var group sync.WaitGroup
	var mutex sync.Mutex
	sent := map[string]int{}
	for _, message := range messages(t) {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if message.send(ctx, n) == nil {
					mutex.Lock()
					sent[message.what]++
					mutex.Unlock()
				}
				select {
				case <-ctx.Done():
				case <-time.After(500 * time.Millisecond):
				}
			}
		})
	}
	return func() map[string]int {
		group.Wait()
		return sent
	}
}
