package failure

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// killSeed repeats the moments of an earlier run of TestWorkerKilledAgainAndAgain.
var killSeed = flag.Uint64("kill-seed", 0, "seed of the moments at which the worker is killed; 0 takes a new one")

const (
	// team is how many workers there are.
	team = 4
	// longestPause is the longest time from one kill, once there are as many workers again, to the next that is due;
	// longestStall how long one that is due waits for the Job to go on, so that kills are spread over its life.
	longestPause, longestStall = time.Second, time.Second
	// heldIndex is the index whose Pod runs until the last kill, so that all of them are in the Job's life.
	heldIndex = 1
	// bulkRecovery is how long a Job may take to end after a worker was killed in the middle of its bulk work.
	bulkRecovery = harness.HeartbeatTimeout + harness.BulkActivityRetry + harness.WorkflowTaskTimeout + harness.Bulk
)

// onslaught is how often a worker is killed during a Job of so many indexes.
func onslaught() (kills, indexes int) {
	if harness.Trial() {
		return 50, 500
	}
	return 12, 200
}

// One of four workers is killed at random moments, twelve here and fifty in a trial, during a Job whose every fifth index
// fails once. The Job counts exactly its successes and failures, of as many Pods, never two of an index at a time.
func TestWorkerKilledAgainAndAgain(t *testing.T) {
	disrupts(t)
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat these moments with -kill-seed=%d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	kills, indexes := onslaught()
	failures := indexes / 5
	namespace := stack.Namespace(t)
	record, crowd := stack.Record(t, namespace), watchCrowd(t, namespace)
	for len(stack.Workers()) < team {
		startWorker(t)
	}
	stack.CreateJob(t, namespace, "large", harness.JobSpec(
		harness.Indexed(int32(indexes)), harness.Parallelism(60), harness.BackoffLimitPerIndex(1), harness.FailEvery(5, 1),
		harness.RunSeconds(1), harness.HoldIndex(heldIndex), harness.PodAnnotation(names.BackoffBaseAnnotation, "1"),
	))
	began := time.Now()
	since := func() time.Duration { return time.Since(began).Round(100 * time.Millisecond) }
	for kill := range kills {
		before := crowd.String()
		due := time.Now().Add(time.Duration(random.Int64N(int64(longestPause))))
		until(t, due)
		harness.AsSoonAs(t, longestStall, func() bool { return crowd.String() != before })
		killWorker(t, random.IntN(team))
		t.Logf("kill %d after %s: %s", kill+1, since(), crowd)
		startWorker(t)
	}
	if crowd.released() == indexes+failures {
		t.Error("the last kill was after the end of the Job")
	}
	stack.LetGo(t, namespace, "large", heldIndex)
	finishesExactly(t, record, namespace, "large", exactly{succeeded: int32(indexes), failed: int32(failures), pods: func(index int) int {
		if index%5 == 0 {
			return 2
		}
		return 1
	}})
	crowd.neverTwoOfAnIndex(t)
	t.Logf("over after %s", since())
	for len(stack.Workers()) > 1 {
		killWorker(t, 0)
	}
}

// The worker is killed in the middle of creating 1,000 Pods, and again in the middle of releasing them.
func TestWorkerKilledInTheMiddleOfBulkWork(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record, crowd := stack.Record(t, namespace), watchCrowd(t, namespace)
	stack.CreateJob(t, namespace, "wide", harness.JobSpec(harness.Indexed(1000), harness.RunSeconds(5)))
	for _, moment := range []struct {
		what  string
		count func() int
	}{{"created", crowd.created}, {"released", crowd.released}} {
		harness.Eventually(t, bulkRecovery, func(context.Context) error {
			if count := moment.count(); count < 100 {
				return fmt.Errorf("%d Pods are %s", count, moment.what)
			}
			return nil
		})
		asSoonAs(t, "some Pods are "+moment.what, func() bool { return moment.count() >= 250 })
		killWorker(t, 0)
		if count := moment.count(); count >= 1000 {
			t.Fatalf("all %d Pods are %s: too late for a kill in the middle", count, moment.what)
		}
		t.Logf("killed when %d Pods were %s: %s", moment.count(), moment.what, crowd)
		startWorker(t)
	}
	finishesExactly(t, record, namespace, "wide", exactly{succeeded: 1000, pods: func(int) int { return 1 }})
	crowd.neverTwoOfAnIndex(t)
}
