package job_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// A plan creates the Pod of an index and is forgotten; the Pod ends before anybody tells of
// it, and the next plan gives its number to an index whose back-off is over by then.
func TestAnIndexWhosePodEndedUnheardOfGetsNoOther(t *testing.T) {
	for name, end := range map[string]func(*cluster, *modelPod){
		"well": (*cluster).endWell, "badly": (*cluster).endBadly,
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(2, 3)
			spec.CompletionMode, spec.BackoffLimitPerIndex = batchv1.IndexedCompletion, pointer[int32](1)
			c := newCluster(t, spec).settle()
			c.endBadly(c.pods[0])
			c.endWell(c.pods[1])
			c.deliver()
			c.crash = crash{in: 2, accident: died, after: 20 * time.Second}
			c.record()
			c.settle()
			equal(t, "died", c.crashed, true)
			equal(t, "index of the forgotten create", *c.pods[2].index, 2)
			end(c, c.pods[2])
			c.mailbox = nil

			c.settle().pass(time.Second).settle()
			made := ""
			for _, pod := range c.pods {
				made += fmt.Sprint(*pod.index)
			}
			equal(t, "indexes of the Pods", made, "0120")
			equal(t, "released", c.pods[2].tracked, false)
			if name == "well" {
				equal(t, "completed", c.status.CompletedIndexes, "1,2")
			} else {
				equal(t, "failed", c.status.Failed, 2)
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
