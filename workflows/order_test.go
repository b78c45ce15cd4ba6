package workflows

import (
	"testing"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestWhatKindOfWorkACallIs(t *testing.T) {
	for _, test := range []struct {
		name string
		call call
		want order.Work
	}{
		{"the start of a run", call{activity: protocol.StartRunActivity}, order.Due},
		{"a look for Jobs before a time is settled", call{activity: protocol.FindRunsActivity}, order.Asked},
		{"whether a signal is taken", call{activity: protocol.SignalAcceptedActivity}, order.Asked},
		{"a CronJob's status", call{activity: protocol.WriteStatusActivity}, order.Told},
		{"what a person asks for", call{activity: protocol.SetSuspendActivity}, order.Asked},
		{"a list of Pods", call{activity: protocol.ListPodsActivity}, order.Asked},
		{"a Job's plan", call{activity: protocol.CarryOutActivity}, order.Running},
		{"the Pods of a Job that is gone", call{activity: protocol.ReleaseOrphansActivity}, order.Over},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.call.work(); got != test.want {
				t.Errorf("priority key %d, want %d", got, test.want)
			}
		})
	}
}
