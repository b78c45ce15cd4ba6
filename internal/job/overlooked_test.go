package job_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// A plan creates the Pod of an index and is forgotten; the Pod ends before anybody says so, and
// the next plan gives its number to an index whose Pod has failed since.
func TestAnIndexWhosePodEndedUnheardOfGetsNoOther(t *testing.T) {
	for name, end := range map[string]func(*cluster, *modelPod){
		"well": (*cluster).endWell, "badly": (*cluster).endBadly,
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(2, 3)
			spec.CompletionMode = batchv1.IndexedCompletion
			c := newCluster(t, spec).settle()
			c.endWell(c.pods[1])
			c.deliver()
			c.crash = crash{in: 2, accident: diedAccident}
			c.record()
			c.settle()
			equal(t, "crashed", c.crashed, true)
			equal(t, "index of the forgotten create", *c.pods[2].index, 2)
			c.mailbox = nil
			c.endBadly(c.pods[0])
			c.deliver()
			end(c, c.pods[2])
			c.mailbox = nil

			c.settle().pass(20 * time.Second).settle().pass(time.Second).settle()
			made := ""
			for _, pod := range c.pods {
				made += fmt.Sprint(*pod.index)
			}
			want := "0120"
			if name == "badly" {
				want = "01202" // Index 2 is tried again.
			}
			equal(t, "indexes of the Pods", made, want)
			equal(t, "released", c.pods[2].tracked, false)
			if name == "well" {
				equal(t, "completed", c.status.CompletedIndexes, "1,2")
			} else {
				equal(t, "failed", c.status.Failed, 2)
				equal(t, "completed", c.status.CompletedIndexes, "1")
			}
		})
	}
}

func TestOverlooked(t *testing.T) {
	ended := func(index int32, change func(*job.PodFact)) job.PodFact {
		fact := job.PodFact{Name: "hello-1-x", UID: "x", Index: &index, Phase: corev1.PodSucceeded, Tracked: true}
		change(&fact)
		return fact
	}
	known := ofIndex(1, 4)
	known.After = []string{"w", "x"}
	for name, test := range map[string]struct {
		create     job.Create
		pod        job.PodFact
		overlooked bool
	}{
		"a Pod of the index":             {ofIndex(1, 4), ended(1, func(*job.PodFact) {}), true},
		"one that failed":                {ofIndex(1, 4), ended(1, func(fact *job.PodFact) { fact.Phase = corev1.PodFailed }), true},
		"a Pod of another index":         {ofIndex(1, 4), ended(2, func(*job.PodFact) {}), false},
		"a Pod without an index":         {ofIndex(1, 4), ended(1, func(fact *job.PodFact) { fact.Index = nil }), false},
		"one that the plan knows":        {known, ended(1, func(*job.PodFact) {}), false},
		"one that was released":          {ofIndex(1, 4), ended(1, func(fact *job.PodFact) { fact.Tracked = false }), false},
		"the Pod that is asked for":      {ofIndex(1, 4), ended(1, func(fact *job.PodFact) { fact.Name = ofIndex(1, 4).Name }), false},
		"a create that is of no index":   {attempts(4)[0], ended(1, func(*job.PodFact) {}), false},
		"one that runs is for TooMany":   {ofIndex(1, 4), ended(1, func(fact *job.PodFact) { fact.Phase = corev1.PodRunning }), false},
		"another than the plan knows of": {known, ended(1, func(fact *job.PodFact) { fact.UID = "y" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			if refusal := job.Overlooked([]job.Create{test.create}, []job.PodFact{test.pod}); (refusal != "") != test.overlooked {
				t.Errorf("refusal %q, want one: %v", refusal, test.overlooked)
			}
		})
	}
}
