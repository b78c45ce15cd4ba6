package job_test

import (
	"fmt"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
)

// What a plan costs by the size of an Indexed Job: when nothing has happened since the last one, and when
// a tenth of the Pods have ended.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []large{
		{completions: 1, active: 1},
		{completions: 100, active: 50},
		{completions: 1_000, active: 500},
		{completions: 10_000, active: 1_000},
		{completions: 100_000, active: 5_000},
	} {
		for _, moment := range []string{"nothing", "ended"} {
			b.Run(fmt.Sprintf("completions=%d/active=%d/%s", size.completions, size.active, moment), func(b *testing.B) {
				state, spec := size.state()
				if moment == "ended" {
					state = state.Observe(ended(state, int(max(1, size.active/10))))
				}
				now := start.Add(time.Minute)
				b.ReportAllocs()
				for b.Loop() {
					job.Decide(state, spec, now)
				}
			})
		}
	}
}
