package hostile

import (
	"context"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	// maxRequests is how many requests to the API server one message may bring about, and maxStored how many bytes in etcd.
	maxRequests, maxStored = 100, 1 << 20
	// effects is how long a message has for its effects: the retries that follow are bounded by their back-off.
	effects = 4 * time.Second
)

// TestOneMessageCostsLittle: what an attacker's message makes the API server do is no more than what ours do, although the
// attacker has taken the place of the workflow that may ask for it.
func TestOneMessageCostsLittle(t *testing.T) {
	all := messages(t)
	// What goes on anyway is not what the tests before this one have left.
	if err := harness.NamespacesVanish(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	for _, message := range all {
		t.Run(message.what, func(t *testing.T) {
			if cost, little := costs(t, message); !little {
				t.Errorf("%d requests to the API server, want fewer than %d, and %d bytes in etcd, want less than %d",
					cost.Requests, maxRequests, cost.Stored, maxStored)
			}
		})
	}
}

// costs sends a message, and returns what it costs and whether that is little. What it costs it costs each time; what Kubernetes
// does of itself meanwhile, as with a namespace that is deleted, comes once.
func costs(t *testing.T, message message) (cost harness.Cost, little bool) {
	t.Helper()
	for range 3 {
		since := stack.MeasureCost(t)
		if err := message.send(t.Context(), -1); err != nil {
			t.Logf("%s does not arrive: %v", message.what, err)
		}
		harness.Always(t, effects, func(context.Context) error { return stack.Stack.Ended() })
		if cost = since(); cost.Requests < maxRequests && cost.Stored < maxStored {
			return cost, true
		}
	}
	return cost, false
}
