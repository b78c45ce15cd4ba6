package schedule_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

// What a plan costs by the number of earlier runs whose Jobs are still there and that the ledger holds: when nothing is to
// be done, when a run is due, and when one has ended that makes the oldest Job superfluous.
func BenchmarkDecide(b *testing.B) {
	for _, kept := range []int32{1, 10, 100, 1000} {
		spec := cronSpec("* * * * *", limits(kept, kept))
		c := newCluster(b, spec, at("10:00:30")).at(at("10:00:30"))
		for range kept + 10 {
			c.at(c.wake).finish(batchv1.JobComplete, c.wake.Add(-30*time.Second))
		}
		waiting := c.state
		started := c.at(c.wake).state
		if len(started.Active) != 1 {
			b.Fatalf("%d runs at %s", len(started.Active), c.now)
		}
		ended := schedule.Finish(started, spec, schedule.Finished{
			Run: started.Active[0], Condition: batchv1.JobComplete, StartTime: c.now, CompletionTime: c.now.Add(time.Second),
		})
		for _, moment := range []struct {
			name  string
			state schedule.State
			now   time.Time
			idle  bool
		}{
			{"nothing", waiting, c.now.Add(-10 * time.Second), true},
			{"due", waiting, c.now, false},
			{"ended", ended, c.now.Add(time.Second), false},
		} {
			b.Run(fmt.Sprintf("kept=%d/%s", kept, moment.name), func(b *testing.B) {
				if schedule.NeedsEvaluation(moment.state, spec, moment.now) {
					b.Fatal("the scheduled times are not there")
				}
				if idle := schedule.Decide(moment.state, spec, moment.now).Idle(); idle != moment.idle {
					b.Fatalf("idle: %t", idle)
				}
				b.ReportAllocs()
				for b.Loop() {
					schedule.Decide(moment.state, spec, moment.now)
				}
			})
		}
	}
}
