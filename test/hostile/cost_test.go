package hostile

import (
	"context"
	"testing"
	"time"

	"ostinato.dev/ostinato/test/harness"
)

const (
	// mostRequests is how many requests to the API server one message may bring about, and mostStored how many bytes in etcd.
	mostRequests, mostStored = 100, 1 << 20
	// effects is how long a message has for its effects: the retries that follow are bounded by their back-off.
	effects = 4 * time.Second
)

// TestOneMessageCostsLittle: what an attacker's message makes the API server do is no more than what ours do. What it costs
// it costs each time; what Kubernetes does of itself meanwhile, as with a namespace that is deleted, comes once.
func TestOneMessageCostsLittle(t *testing.T) {
	for _, message := range messages(t) {
		t.Run(message.what, func(t *testing.T) {
			var cost harness.Cost
			for range 3 {
				since := stack.MeasureCost(t)
				if err := message.send(t.Context(), -1); err != nil {
					t.Logf("Temporal refuses it: %v", err)
				}
				harness.Always(t, effects, func(context.Context) error { return stack.Stack.Ended() })
				if cost = since(); cost.Requests < mostRequests && cost.Stored < mostStored {
					return
				}
			}
			t.Errorf("%d requests to the API server, want fewer than %d, and %d bytes in etcd, want less than %d",
				cost.Requests, mostRequests, cost.Stored, mostStored)
		})
	}
}
