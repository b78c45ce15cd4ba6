package parity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// difference is one that is meant to be, with its reason. It is taken out of
// both sides before they are compared.
type difference struct {
	reason string
	// cases are the names of those that have it; none means all.
	cases  []string
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
			if s.Status == nil {
				return
			}
			slices.SortStableFunc(s.Status.Conditions, func(a, b conditionShape) int {
				return strings.Count(string(a.Type), "/") - strings.Count(string(b.Type), "/")
			})
		},
	},
	{
		reason: "a Job that is out of attempts while it is suspended: upstream can't write Failed before it is resumed, for want of a startTime",
		cases:  []string{"suspended-and-out-of-attempts"},
		remove: func(s *shape) {
			s.Status.StartTime = true
			s.Status.Conditions = slices.DeleteFunc(s.Status.Conditions, func(c conditionShape) bool { return c.Type == batchv1.JobFailed })
		},
	},
	{
		reason: "the built-in controller, which runs beside Ostinato, may take the finalizer off a Pod while nobody owns it",
		cases:  []string{"adopts-its-own-again"},
		remove: func(s *shape) {
			for n := range s.Pods {
				s.Pods[n].Finalizers = nil
			}
		},
	},
	{
		reason: "a Pod of Ostinato's that vanishes without its finalizer counts as failed; upstream forgets it",
		cases:  []string{"pod-taken-away-uncounted"},
		remove: func(s *shape) { s.Status.Failed = 0 },
	},
}

// side is what a controller did in its namespace.
type side struct {
	*ground
	shapes []shape
}

// eventInterval is how often the Events are listed, which is dear.
const eventInterval = 500 * time.Millisecond

// compare asserts that both controllers left the same at every step, made the
// same number of Pods, and said the same in Events.
func compare(t *testing.T, test testCase, builtin, ostinato side) {
	t.Helper()
	for n, step := range test.steps {
		if step.difference != "" {
			t.Logf("step %q is not compared: %s", step.name, step.difference)
			continue
		}
		want, got := builtin.shapes[n], ostinato.shapes[n]
		for _, shape := range []*shape{&want, &got} {
			for _, difference := range allowed {
				if len(difference.cases) == 0 || slices.Contains(difference.cases, test.name) {
					difference.remove(shape)
				}
			}
			// Pods that were made in the same second come in any order.
			slices.SortFunc(shape.Pods, func(a, b podShape) int { return cmp.Compare(text(t, a), text(t, b)) })
		}
		assert.Equal(t, text(t, want), text(t, got), "step %q; expected is kube-controller-manager's", want.Step)
	}
	assert.Equal(t, len(builtin.record.Pods(test.name)), len(ostinato.record.Pods(test.name)), "Pods that were created")
	var want, got []string
	equal := assert.EventuallyWithT(unheard{}, func(c *assert.CollectT) {
		want, got = events(t.Context(), c, test.name, builtin), events(t.Context(), c, test.name, ostinato)
		assert.Equal(c, want, got)
	}, harness.EventRetry+harness.Slack, eventInterval)
	if !equal && !oneIsLost(want, got) {
		assert.Equal(t, want, got, "Events; expected are kube-controller-manager's")
	}
}

// unheard takes failures that are judged afterwards.
type unheard struct{}

func (unheard) Errorf(string, ...any) {}

// oneIsLost reports whether all that differs is one Event about a Pod that Ostinato has not emitted: it is lost with the
// answer of the write that it is about, as on a machine that stands still for a second.
func oneIsLost(want, got []string) bool {
	missing := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(got, line) })
	return len(missing) == 1 && len(got) == len(want)-1 &&
		(strings.Contains(missing[0], " SuccessfulCreate: ") || strings.Contains(missing[0], " SuccessfulDelete: "))
}

func TestOneLostEventIsNoDifference(t *testing.T) {
	want := []string{"1 x Normal Completed: Job completed", "1 x Normal SuccessfulCreate: Created pod: a", "1 x Normal SuccessfulCreate: Created pod: b"}
	for name, test := range map[string]struct {
		got  []string
		lost bool
	}{
		"one about a Pod":            {want[:2], true},
		"two about Pods":             {want[:1], false},
		"the end of the Job":         {want[1:], false},
		"one twice":                  {[]string{want[0], want[1], "2 x Normal SuccessfulCreate: Created pod: b"}, false},
		"one that nobody waited for": {append(slices.Clone(want[:2]), "1 x Warning Other: x"), false},
	} {
		if oneIsLost(want, test.got) != test.lost {
			t.Errorf("%s: want %t", name, test.lost)
		}
	}
}

func text(t *testing.T, shape any) string {
	t.Helper()
	data, err := yaml.Marshal(shape)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// uncertain are the reasons of Events that come as often as time allows.
var uncertain = []string{"FailedCreate"}

// events lists what was said about the Job, with how often, in alphabetical order.
func events(ctx context.Context, c *assert.CollectT, job string, on side) []string {
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
		counts[fmt.Sprintf("%s %s: %s", event.Type, event.Reason, on.subject(job, nil, nil).general(event.Message))] += times
	}
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		times := fmt.Sprint(counts[line])
		if slices.ContainsFunc(uncertain, func(reason string) bool { return strings.Contains(line, " "+reason+": ") }) {
			times = "some"
		}
		lines = append(lines, times+" x "+line)
	}
	return lines
}
