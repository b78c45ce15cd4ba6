package workflows

import (
	"testing"

	"ostinato.dev/ostinato/internal/order"
)

func TestWhatKindOfWorkACallIs(t *testing.T) {
	for _, test := range []struct {
		name string
		kind kind
		want order.Work
	}{
		{"the start of a run", kind(startRun), order.Due},
		{"a look for Jobs before a time is settled", kind(findRuns), order.Asked},
		{"whether a backfill is taken", kind(takesBackfill), order.Asked},
		{"a CronJob's status", kind(writeStatus), order.Told},
		{"what a person asks for", kind(setSuspend), order.Asked},
		{"a list of Pods", kind(listPods), order.Asked},
		{"a Job's plan", kind(carryOut), order.Running},
		{"the Pods of a Job that is gone", kind(releaseOrphans), order.Over},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.kind.work; got != test.want {
				t.Errorf("priority key %d, want %d", got, test.want)
			}
		})
	}
}
