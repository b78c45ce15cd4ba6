package job_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// While Pods are made, the rest follows after a second, however often one create has no answer. Without progress it takes longer.
func TestCreatesGoOnSoonAsLongAsPodsAreMade(t *testing.T) {
	for name, test := range map[string]struct {
		made  int
		waits []time.Duration
	}{
		"some are made": {2, []time.Duration{time.Second, time.Second, time.Second}},
		"none is":       {0, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(100, 100)
			state, now, number := job.State{}.Of("default", "hello", "uid-1"), start, 0
			for _, wait := range test.waits {
				plan := job.Decide(state, spec, now)
				report := job.Report{CreateRefused: "ServerError: timeout", Unclear: true}
				for _, create := range plan.Creates[:test.made] {
					number++
					report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: uidOf(number)})
				}
				state = job.Apply(plan, report, now)
				equal(t, "the Pods are listed, since there may be one more", state.NeedsList, true)
				equal(t, "creates go on", state.CreateRetry.Until.Sub(now), wait)
				now = state.CreateRetry.Until
				state.NeedsList = false
			}
			equal(t, "Pods", len(state.Pods), number)
		})
	}
}

func TestWhatWasNotDoneIsNotSaidToBeTheAPIServers(t *testing.T) {
	state := job.State{}.Of("default", "hello", "uid-1")
	plan := job.Decide(state, specOf(1, 1), start)
	for want, report := range map[string]job.Report{
		"a Pod was not created (NotPrescribed: the Job is to have 1 Pods at a time); ": {CreateRefused: "NotPrescribed: the Job is to have 1 Pods at a time"},
		"the status was not written (no answer); ":                                     {StatusRefused: "no answer"},
	} {
		after := job.Apply(plan, report, start)
		after.NeedsList = false
		if waiting := job.Decide(after, specOf(1, 1), start).Waiting; !strings.HasPrefix(waiting, want) {
			t.Errorf("waiting is %q, want %q", waiting, want)
		}
	}
}

// The API server may have a status that it did not answer for: the old one is written over it.
func TestAStatusWithoutAnAnswerIsWrittenAnew(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	before := d.state
	d.spec.Parallelism = 2
	plan := d.decide()
	equal(t, "active with a second Pod", plan.Status.Active, 2)
	d.apply(plan, job.Report{Created: []job.CreatedPod{{Name: plan.Creates[0].Name, UID: "pod-2"}}, StatusRefused: "no answer"})
	d.spec.Parallelism = 1
	d.state.Pods, d.state.NeedsList = before.Pods, false
	d.now = d.now.Add(time.Second)
	if plan = d.decide(); plan.Status == nil || plan.Status.Active != 1 {
		t.Errorf("no status is written: %+v", plan)
	}
}

// A Pod whose removal had no answer is removed, or was, or has ended before: a list tells, and no other one is removed in its place.
func TestARemovalWithoutAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		failure job.PodFailure
		// became is what the Pod is when it is listed.
		became  func(pod *job.PodFact)
		deletes []string
		// succeeded is how many Pods count when this one ends.
		succeeded int32
	}{
		"nothing was done": {job.PodFailure{}, func(*job.PodFact) {}, []string{"pod-2"}, 0},
		"it was released":  {job.PodFailure{}, func(pod *job.PodFact) { pod.Tracked, pod.Removed = false, true }, []string{"pod-2"}, 0},
		"it was released, with an answer": {job.PodFailure{Released: true}, func(pod *job.PodFact) { pod.Tracked, pod.Removed = false, true },
			[]string{"pod-2"}, 0},
		"it was removed": {job.PodFailure{Released: true}, func(pod *job.PodFact) { pod.Tracked, pod.Removed, pod.Deleting = false, true, true }, nil, 0},
		"it had ended":   {job.PodFailure{}, func(pod *job.PodFact) { pod.Phase = corev1.PodSucceeded }, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(2, 4))
			d.edit(func(spec *job.Spec) { spec.Parallelism = 1 })
			d.listed()
			plan := d.decide()
			equal(t, "deletes", deleted(plan), []string{"pod-2"})
			failure := test.failure
			failure.UID, failure.Message, failure.Unclear = "pod-2", "no answer", true
			d.apply(plan, job.Report{Failures: []job.PodFailure{failure}})
			equal(t, "the Pods are listed first", d.decide().List, true)
			test.became(&d.pods[1])
			d.pods[1].Version++
			d.listed()
			plan = d.decide()
			equal(t, "deletes after the list", deleted(plan), test.deletes)
			equal(t, "failed", plan.Next.Failed, 0)
			equal(t, "succeeded", plan.Next.Succeeded, test.succeeded)
		})
	}
}

// A release without an answer is repeated after a while, and counts nothing twice.
func TestAReleaseWithoutAnAnswerIsRepeated(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	plan := d.decide()
	equal(t, "releases", releasedBy(plan), []string{"pod-1"})
	d.apply(plan, job.Report{Failures: []job.PodFailure{{UID: "pod-1", Message: "no answer", Unclear: true}}})
	plan = d.decide()
	equal(t, "a list", plan.List, false)
	equal(t, "releases at once", releasedBy(plan), nil)
	d.now = d.now.Add(time.Second)
	plan = d.decide()
	equal(t, "releases", releasedBy(plan), []string{"pod-1"})
	equal(t, "succeeded", plan.Next.Succeeded, 1)
}
