package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

// signalLate tells that creates of the first Pods of a Job had no answer, as the watch of new Jobs does.
func (k *jobKube) signalLate(reference protocol.ObjectReference, spec job.Spec) {
	k.environment.SignalWorkflow(protocol.JobSpecSignal, protocol.JobSpec{Input: protocol.JobInput{Job: reference, Spec: spec, Late: true}})
}

// The bridge has started the workflow, or it is that of a Job which had the name before. Nothing looks at a Job that has ended.
func TestAJobDoesNotEndBeforeItsFirstPodsCanHaveLanded(t *testing.T) {
	for name, told := range map[string]bool{"which its workflow was started with": false, "which its workflow hears": true} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			began := kube.environment.Now()
			input := protocol.JobInput{Job: hello, Spec: jobSpec(1, 1), Late: !told}
			input.Spec.ActiveDeadlineSeconds = ptr.To[int64](5)
			if told {
				kube.after(500*time.Millisecond, func() { kube.signalLate(hello, input.Spec) })
			}
			kube.after(7*time.Second, kube.firstPodGoes)
			result, err := kube.runInput(input)
			if took := kube.environment.Now().Sub(began); err != nil || result.Outcome != job.Failed || took < 35*time.Second {
				t.Errorf("%s after %s, %v", result.Outcome, took, err)
			}
		})
	}
}

// The workflow asks for the same Pods again. Once it has them, their names are taken as long as they are there.
func TestAJobWhoseFirstPodsHaveTheirNamesEndsAtOnce(t *testing.T) {
	kube := newJobKube(t)
	began := kube.environment.Now()
	kube.after(5*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	result, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1), Late: true})
	if took := kube.environment.Now().Sub(began); err != nil || result.Outcome != job.Complete || took > 10*time.Second {
		t.Errorf("%s after %s, %v", result.Outcome, took, err)
	}
}

// firstPodGoes tells that the first Pod is gone, whose name is free then.
func (k *jobKube) firstPodGoes() {
	k.pods[0].Gone, k.pods[0].Tracked = true, false
	k.signalFacts(k.pods[0])
}

// The watch makes the first Pods of a Job once, and a writer of Temporal can say so again.
func TestFirstPodsThatMayLandAreHeardOfOnce(t *testing.T) {
	kube := newJobKube(t)
	began, spec := kube.environment.Now(), jobSpec(1, 1)
	for second := range 100 {
		kube.after(time.Duration(second)*time.Second, func() { kube.signalLate(hello, spec) })
	}
	kube.after(5*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(spec, job.Complete)
	if took := kube.environment.Now().Sub(began); took > time.Minute {
		t.Errorf("the Job ended after %s", took)
	}
}

// A workflow that continues as new has heard it.
func TestFirstPodsThatMayLandAreNotHeardOfAgainByTheNextRun(t *testing.T) {
	kube := newJobKube(t)
	kube.environment.SetContinueAsNewSuggested(true)
	kube.after(0, func() { kube.signalLate(hello, jobSpec(1, 1)) })
	_, err := kube.run(jobSpec(1, 1))
	var next protocol.JobInput
	kube.continued(err, &next)
	expect(t, "they may land", next.State.Late.IsZero(), false)

	kube = newJobKube(t)
	kube.after(10*time.Second, func() { kube.signalLate(hello, jobSpec(1, 1)) })
	kube.after(20*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	began := kube.environment.Now()
	if _, err := kube.runInput(next); err != nil {
		t.Fatal(err)
	}
	if took := kube.environment.Now().Sub(began); took > 45*time.Second {
		t.Errorf("the Job ended after %s", took)
	}
}

// The bridge tells of the successor too, and does not know of the creates.
func TestFirstPodsOfASuccessorThatMayLandAreNotForgotten(t *testing.T) {
	kube := newJobKube(t)
	successor := hello
	successor.UID = "successor"
	kube.after(10*time.Second, func() {
		kube.gone = true
		kube.signalLate(successor, jobSpec(1, 1))
		kube.signalSpec(successor, jobSpec(1, 2))
	})
	_, err := kube.run(jobSpec(1, 1))
	var next protocol.JobInput
	kube.continued(err, &next)
	expect(t, "the next Job", next.Job.UID, successor.UID)
	expect(t, "its Pods may land", next.Late, true)
}

// A webhook hangs, and the regular attempt, on another worker, makes the Pod. That is deleted for the deadline, and its name is free.
func TestAJobDoesNotEndBeforeTheCreateOfALocalAttemptCanHaveLanded(t *testing.T) {
	kube := newJobKube(t)
	began := kube.environment.Now()
	kube.attempt = func(info activity.Info, request protocol.JobRequest) error {
		if len(request.Creates) > 0 && info.IsLocalActivity {
			return context.DeadlineExceeded
		}
		return nil
	}
	spec := jobSpec(1, 1)
	spec.ActiveDeadlineSeconds = ptr.To[int64](5)
	kube.after(7*time.Second, kube.firstPodGoes)
	kube.mustEnd(spec, job.Failed)
	if took := kube.environment.Now().Sub(began); took < 35*time.Second {
		t.Errorf("the Job ended after %s", took)
	}
}

// A webhook holds the create of the local attempt; the regular one, on another worker, is refused. The Pod's name is free, so it may land:
// the Job must not end before, be it at its deadline, or as a work queue whose other Pod has succeeded.
func TestAJobWaitsForTheCreateOfALocalAttemptIfTheNextOneIsRefused(t *testing.T) {
	deadline, queue := jobSpec(1, 1), jobSpec(2, 1)
	deadline.ActiveDeadlineSeconds, queue.Completions = ptr.To[int64](5), nil
	for name, test := range map[string]struct {
		spec job.Spec
		made int
		ends job.Outcome
	}{"at its deadline": {deadline, 0, job.Failed}, "a work queue": {queue, 1, job.Complete}} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			began := kube.environment.Now()
			kube.attempt = func(info activity.Info, request protocol.JobRequest) error {
				if len(request.Creates) > 0 && info.IsLocalActivity {
					return context.DeadlineExceeded
				}
				return nil
			}
			kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
				if len(request.Creates) == 0 {
					return nil, nil
				}
				created := kube.create(request.Creates[:test.made-len(kube.pods)])
				return &protocol.JobResult{
					Report: job.Report{Created: created}, Refused: &protocol.Refusal{Reason: ledger.Forbidden, Message: "exceeded quota"},
				}, nil
			}
			if test.made > 0 {
				kube.after(5*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
			}
			kube.mustEnd(test.spec, test.ends)
			if took := kube.environment.Now().Sub(began); took < 35*time.Second {
				t.Errorf("the Job ended after %s", took)
			}
		})
	}
}
