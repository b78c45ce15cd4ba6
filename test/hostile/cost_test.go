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

// TestOneMessageCostsLittle: what an attacker's message makes the API server do is no more than what ours do.
func TestOneMessageCostsLittle(t *testing.T) {
	for _, message := range messages(t) {
		t.Run(message.what, func(t *testing.T) {
			below := stack.MeasureCost(t)
			if err := message.send(t.Context(), -1); err != nil {
				t.Logf("Temporal refuses it: %v", err)
			}
			harness.Always(t, effects, func(context.Context) error { return stack.Stack.Ended() })
			below(mostRequests, mostStored)
		})
	}
}
