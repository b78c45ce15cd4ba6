package bridge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"log/slog"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestOursIsWhatRunsAWorkflowOfOursOnAQueueOfOurs(t *testing.T) {
	for name, test := range map[string]struct {
		kind, queue string
		want        bool
	}{
		"a Job's workflow":                {"Job", "ostinato-jobs", true},
		"a CronJob's":                     {"CronJob", "ostinato", true},
		"another's queue":                 {"Job", "attacker", false},
		"another's type":                  {"Nobody", "ostinato", false},
		"the queue of another type":       {"CronJob", "ostinato-jobs", false},
		"the queue of another cluster":    {"Job", "west-ostinato-jobs", false},
		"nothing is said of what it is":   {"", "", false},
		"a queue where no workflow waits": {"Job", "ostinato-bulk", false},
	} {
		t.Run(name, func(t *testing.T) {
			described := &oneWorkflow{id: "job/shop/a", kind: test.kind, queue: test.queue, began: start}
			if test.kind == protocol.CronJobWorkflow {
				described.id = "cronjob/shop/a"
			}
			temporal := NewTemporal(described, "default", "", order.Weights{}, slog.New(slog.DiscardHandler))
			_, found, err := temporal.ObjectUID(t.Context(), described.id)
			require.NoError(t, err)
			assert.Equal(t, test.want, found)
			assert.Equal(t, test.want, described.asked == 1)
		})
	}
}

func TestNamesThatNoObjectHas(t *testing.T) {
	assert.True(t, nameable(types.NamespacedName{Namespace: "default", Name: "hello.world"}))
	for _, name := range []types.NamespacedName{{Namespace: "%", Name: "x"}, {Namespace: "default", Name: "x/y"}, {Namespace: "default"}, {Name: "x"}, {Namespace: "default", Name: ".."}} {
		assert.False(t, nameable(name), name)
	}
}
