package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestFactsAreBoundedInSum: 500 texts of a kilobyte are half a megabyte, and pack to nothing.
func TestFactsAreBoundedInSum(t *testing.T) {
	exits := func(count, length int) []job.Exit {
		exits := make([]job.Exit, count)
		for i := range exits {
			exits[i] = job.Exit{Container: strings.Repeat("c", length), Code: 1}
		}
		return exits
	}
	conditions := func(count, length int) []string {
		conditions := make([]string, count)
		for i := range conditions {
			conditions[i] = strings.Repeat("c", length)
		}
		return conditions
	}
	for name, test := range map[string]struct {
		fact job.PodFact
		want string
	}{
		"a hundred containers":       {job.PodFact{Exits: exits(100, 63)}, ""},
		"a condition of a long type": {job.PodFact{Conditions: conditions(1, 325)}, ""},
		"a name that no Pod has":     {job.PodFact{Name: strings.Repeat("n", 254)}, "a name of 254 bytes"},
		"many exits":                 {job.PodFact{Exits: exits(101, 1)}, "101 exits"},
		"many conditions":            {job.PodFact{Conditions: conditions(101, 1)}, "101 conditions"},
		"a container with no name":   {job.PodFact{Exits: exits(1, 254)}, "254 bytes"},
		"a condition that is none":   {job.PodFact{Conditions: conditions(1, 326)}, "326 bytes"},
		"exits with long names":      {job.PodFact{Exits: exits(100, 253)}, "texts of 25300 bytes"},
		"many long conditions":       {job.PodFact{Conditions: conditions(100, 325)}, "texts of 32500 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := job.ValidateFacts([]job.PodFact{test.fact})
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// Signals name Pods that nobody knows: none is taken in, and one list tells which of them there are.
func TestNoFactBringsAPod(t *testing.T) {
	for name, stranger := range map[string]job.PodFact{
		"of others":                   {Name: "e"},
		"by the name of one of ours":  {Name: "hello-1", Attempt: 1},
		"by a number that is not had": {Name: "hello-2", Attempt: 2},
	} {
		t.Run(name, func(t *testing.T) {
			state := job.State{}.Of("default", "hello", "uid-1")
			state.Attempts, state.Pods = 1, []job.Pod{{PodFact: job.PodFact{Name: "hello-1", UID: "uid-of-ours", Attempt: 1, Phase: corev1.PodRunning}}}
			state.Listing = start
			stranger.UID, stranger.Phase, stranger.Tracked = "e-1", corev1.PodRunning, true
			state = state.Observe([]job.PodFact{stranger})
			assert.Len(t, state.Pods, 1)
			assert.True(t, job.Decide(state, specOf(1, 1), start.Add(time.Second)).List, "a list tells")
		})
	}
}

// What a Pod keeps from its creation is known: somebody who says otherwise could have another Pod deleted in its place, or
// its release asked for under a name that there is not.
func TestNoFactRenamesAPod(t *testing.T) {
	index, other := int32(0), int32(7)
	ours := job.PodFact{Name: "hello-1", UID: "pod-1", Attempt: 1, Index: &index, Phase: corev1.PodRunning, Tracked: true}
	madeUp := job.PodFact{
		Name: "zebra", UID: "pod-1", Attempt: 99, Index: &other, Failures: 50, Ignored: 50, Phase: corev1.PodSucceeded, Tracked: true, Version: 1,
	}
	want := ours
	want.Phase, want.Version = corev1.PodSucceeded, 1

	state := job.State{}.Of("default", "hello", "uid-1")
	state.Attempts, state.Pods = 1, []job.Pod{{PodFact: ours}}
	assert.Equal(t, []job.Pod{{PodFact: want}}, state.Observe([]job.PodFact{madeUp}).Pods, "by a signal")

	spec := specOf(1, 1)
	plan := job.Decide(job.Begin("default", "hello", "uid-1", spec, false), spec, start)
	madeUp.UID = "zebra"
	state = job.Apply(plan, job.Report{Created: []job.CreatedPod{{Name: plan.Creates[0].Name, UID: "pod-1", Ended: &madeUp}}}, start)
	want.Name, want.Index = plan.Creates[0].Name, nil
	assert.Equal(t, []job.Pod{{PodFact: want}}, state.Pods, "by the result of a create")
}
