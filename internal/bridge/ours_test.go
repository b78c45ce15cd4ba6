package bridge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflow/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
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
			assert.Equal(t, test.want, ours(&workflow.WorkflowExecutionInfo{Type: &common.WorkflowType{Name: test.kind}, TaskQueue: test.queue}, names.Cluster("")))
		})
	}
	assert.False(t, ours(nil, names.Cluster("")))
}

func TestNamesThatNoObjectHas(t *testing.T) {
	assert.True(t, nameable(types.NamespacedName{Namespace: "default", Name: "hello.world"}))
	for _, name := range []types.NamespacedName{{Namespace: "%", Name: "x"}, {Namespace: "default", Name: "x/y"}, {Namespace: "default"}, {Name: "x"}, {Namespace: "default", Name: ".."}} {
		assert.False(t, nameable(name), name)
	}
}
