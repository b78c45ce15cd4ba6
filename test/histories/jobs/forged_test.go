package jobs

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// forgery is a request for an activity by who may write to Temporal and has taken the place of the Job's workflow. Its status is the Job's
// own with what is said besides.
type forgery struct {
	// Ends are the conditions of an end, by the reason; none for empty.
	Ends   []batchv1.JobConditionType
	Reason string
	// Terminates has the Pods ended for that in place of writing it.
	Terminates bool
	// Succeeded, Failed, Active and Terminating are added to the Job's own, and Started is since when it runs, if it does not say; 0 for
	// now.
	Succeeded, Failed, Active, Terminating int32
	Started                                time.Duration
	// Notes are made-up UIDs in uncountedTerminatedPods, which would be counted later as having that Fate.
	Notes int
	// Pods are how many are named as counted, with a Fate, from the place Of among those that there are; made up where that is negative.
	// Over says that their indexes are over.
	Pods, Of int
	Fate     job.Fate
	Over     bool
	// Releases has these Pods released. Creates asks for that Pod of the Job, or of its index Of; 0 for none.
	Releases bool
	Creates  int64
}

// request returns the name of the activity, and what it is asked for.
func (f forgery) request(owner *batchv1.Job, pods []corev1.Pod) (activity string, request any) {
	status := owner.Status.DeepCopy()
	status.Ready = nil
	status.Succeeded, status.Failed = status.Succeeded+f.Succeeded, status.Failed+f.Failed
	status.Active, status.Terminating = max(status.Active+f.Active, 0), ptr.To(max(ptr.Deref(status.Terminating, 0)+f.Terminating, 0))
	if status.StartTime == nil {
		status.StartTime = ptr.To(metav1.NewTime(now().Add(-f.Started)))
	}
	status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	for n := range f.Notes {
		uid := types.UID(fmt.Sprintf("noted-%d", n))
		if f.Fate == job.PodSucceeded {
			status.UncountedTerminatedPods.Succeeded = append(status.UncountedTerminatedPods.Succeeded, uid)
		} else {
			status.UncountedTerminatedPods.Failed = append(status.UncountedTerminatedPods.Failed, uid)
		}
	}
	var counted []job.Counted
	var releases []job.Release
	var over []int32
	for place := range f.Pods {
		one := job.Counted{Name: fmt.Sprintf("made-up-%d", place), UID: fmt.Sprintf("made-up-%d", place), Fate: f.Fate}
		if at := f.Of + place; f.Of >= 0 && at < len(pods) {
			fact := k8s.PodFact(&pods[at])
			one.Name, one.UID = fact.Name, fact.UID
			if fact.Index != nil {
				over = append(over, *fact.Index)
			}
		}
		counted = append(counted, one)
		if f.Releases {
			releases = append(releases, job.Release{Name: one.Name, UID: one.UID})
		}
	}
	if f.Over && f.Fate == job.PodSucceeded {
		status.CompletedIndexes = job.ParseIndexes(status.CompletedIndexes).With(over...).String()
	} else if f.Over {
		status.FailedIndexes = ptr.To(job.ParseIndexes(ptr.Deref(status.FailedIndexes, "")).With(over...).String())
	}
	if job.SpecOf(owner).CompletionMode == batchv1.IndexedCompletion {
		status.Succeeded = job.ParseIndexes(status.CompletedIndexes).Len()
	}
	digest := job.SpecOf(owner).Digest()
	if f.Terminates {
		termination, verdict := job.TerminateForSuspension, job.Verdict{}
		if len(f.Ends) > 0 {
			termination, verdict = job.TerminateForVerdict, job.Verdict{Interim: f.Ends[0], Reason: f.Reason, Message: "forged"}
		}
		return protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
			Job: reference, Digest: digest, Termination: termination, Verdict: verdict, Status: status, Counted: counted,
		}
	}
	for _, kind := range f.Ends {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: f.Reason, Message: "forged", LastTransitionTime: now(),
		})
		if finished(*status) {
			status.Active, status.Terminating = 0, new(int32)
		}
		if kind == batchv1.JobComplete {
			status.CompletionTime = ptr.To(now())
		}
	}
	return protocol.CarryOutActivity, protocol.JobRequest{
		Job: reference, Digest: digest, Status: status, Counted: counted, Releases: releases, Creates: f.creates(owner),
	}
}

func (f forgery) creates(owner *batchv1.Job) []job.Create {
	if f.Creates == 0 {
		return nil
	}
	if job.SpecOf(owner).CompletionMode != batchv1.IndexedCompletion {
		return []job.Create{{Name: names.Pod(jobName, jobUID, f.Creates), Attempt: f.Creates}}
	}
	index := int32(max(f.Of, 0))
	return []job.Create{{Name: names.IndexedPod(jobName, jobUID, index, f.Creates), Attempt: f.Creates, Index: &index}}
}

// forge has a worker carry the request out.
func (w *world) forge(f forgery) {
	if w.cluster.isLost() {
		return
	}
	var activity string
	var request any
	w.cluster.do(func() { activity, request = f.request(w.cluster.job(), w.cluster.all()) })
	process := newProcess(w.cluster, w.temporal)
	w.forging.Go(func() {
		defer process.kill()
		process.attempt(activity, []any{request}, false)(process.alive)
	})
}

// drawForgeries draws requests, one after the other, some of which lay the ground for the next.
func drawForgeries(t *rapid.T, s scenario) (steps []step) {
	at := time.Duration(rapid.IntRange(0, int(s.Lasts/time.Second)-20).Draw(t, "at")) * time.Second
	if rapid.Bool().Draw(t, "when a Pod ends") {
		at = min(startsAfter+rapid.SampledFrom(s.Courses).Draw(t, "of the course").Takes, s.Lasts-20*time.Second)
	}
	for range rapid.IntRange(1, 3).Draw(t, "forgeries") {
		at += time.Duration(rapid.IntRange(0, 8).Draw(t, "later")) * 500 * time.Millisecond
		steps = append(steps, step{At: at, Does: "forge", Forgery: drawForgery(t)})
	}
	return steps
}

func drawForgery(t *rapid.T) (f forgery) {
	few := rapid.SampledFrom([]int32{0, 0, 0, 1, 1, 2, 7})
	f.Pods, f.Of = rapid.SampledFrom([]int{0, 1, 1, 2, 7}).Draw(t, "Pods"), rapid.IntRange(-1, 2).Draw(t, "of")
	f.Fate = rapid.SampledFrom([]job.Fate{job.PodSucceeded, job.PodFailed, job.PodFailed, job.PodIgnored, job.PodUncounted, job.Undecided}).Draw(t, "fate")
	switch f.Over = rapid.Bool().Draw(t, "their indexes are over"); f.Fate {
	case job.PodSucceeded:
		f.Succeeded = int32(f.Pods)
	case job.PodFailed:
		f.Failed = int32(f.Pods)
	}
	if oneIn(t, 4, "counts others") {
		f.Succeeded, f.Failed = few.Draw(t, "succeeded"), few.Draw(t, "failed")
	}
	if oneIn(t, 3, "other numbers") {
		f.Active, f.Terminating = rapid.SampledFrom([]int32{-7, -1, 0, 1, 7}).Draw(t, "active"), few.Draw(t, "terminating")
	}
	f.Started = time.Duration(rapid.SampledFrom([]int{0, 60, 3600}).Draw(t, "started")) * time.Second
	if rapid.Bool().Draw(t, "ends the Job") {
		f.Ends = rapid.SampledFrom([][]batchv1.JobConditionType{
			{batchv1.JobFailureTarget}, {batchv1.JobFailureTarget, batchv1.JobFailed}, {batchv1.JobFailed},
			{batchv1.JobSuccessCriteriaMet}, {batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}, {batchv1.JobComplete},
		}).Draw(t, "ends")
		f.Reason = rapid.SampledFrom(job.ConditionReasons(f.Ends[0])).Draw(t, "reason")
	}
	if oneIn(t, 6, "notes Pods for later") {
		f.Notes = rapid.IntRange(1, 7).Draw(t, "notes")
	}
	f.Terminates = oneIn(t, 4, "ends Pods")
	f.Releases = rapid.Bool().Draw(t, "releases")
	if oneIn(t, 4, "creates") {
		f.Creates = rapid.Int64Range(1, 4).Draw(t, "attempt")
	}
	return f
}
