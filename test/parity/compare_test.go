package parity

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/internal/names"
)

// difference is one that is meant to be, with its reason. It is taken out of
// both sides before they are compared.
type difference struct {
	reason string
	remove func(*shape)
}

var allowed = []difference{
	{
		reason: "Ostinato's Pods carry the label by which the shards of PodWatch share them",
		remove: func(s *shape) {
			for i := range s.Pods {
				delete(s.Pods[i].Labels, names.WatchBucketLabel)
			}
		},
	},
	{
		reason: "conditions are a list keyed by type: Ostinato puts those of others after its own, upstream leaves them where they are",
		remove: func(s *shape) {
			slices.SortStableFunc(s.Status.Conditions, func(a, b conditionShape) int {
				return strings.Count(string(a.Type), "/") - strings.Count(string(b.Type), "/")
			})
		},
	},
}

// compare asserts that both controllers left the same at every step, made the
// same number of Pods, and said the same in Events.
func compare(t *testing.T, test testCase, builtin, ostinato side) {
	t.Helper()
	for n := range test.steps {
		want, got := builtin.shapes[n], ostinato.shapes[n]
		for _, difference := range allowed {
			difference.remove(&want)
			difference.remove(&got)
		}
		assert.Equal(t, text(t, want), text(t, got), "step %q; expected is kube-controller-manager's", want.Step)
	}
	assert.Equal(t, len(builtin.record.Pods(test.name)), len(ostinato.record.Pods(test.name)), "Pods that were created")
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, events(c, t.Context(), test.name, builtin), events(c, t.Context(), test.name, ostinato), "Events; expected are kube-controller-manager's")
	}, 10*time.Second, 200*time.Millisecond)
}

func text(t *testing.T, shape shape) string {
	t.Helper()
	data, err := yaml.Marshal(shape)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// podName is a Pod's name in a message.
var podName = regexp.MustCompile(`-[a-z0-9]{5}$`)

// events lists what was said about the Job, with how often, in alphabetical order.
func events(c *assert.CollectT, ctx context.Context, job string, on side) []string {
	list, err := stack.Kubernetes.CoreV1().Events(on.namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + job,
	})
	if !assert.NoError(c, err) {
		return nil
	}
	counts := map[string]int{}
	for _, event := range list.Items {
		times := max(int(event.Count), 1)
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		counts[fmt.Sprintf("%s %s: %s", event.Type, event.Reason, podName.ReplaceAllString(event.Message, "-<pod>"))] += times
	}
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d x %s", counts[line], line))
	}
	return lines
}
