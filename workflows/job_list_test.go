package workflows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestWorkflowStartedAnewListsThePods(t *testing.T) {
	kube := newJobKube(t)
	started := metav1.NewTime(kube.environment.Now().Add(-time.Hour).Truncate(time.Second))
	ended := kube.environment.Now().Add(-time.Minute)
	kube.pods = []job.PodFact{{Name: "hello-other", UID: "pod-1", Phase: corev1.PodSucceeded, Tracked: true, Finished: ended}}
	kube.status = &batchv1.JobStatus{StartTime: &started, Active: 1, Failed: 2}
	result, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.ListPodsActivity, protocol.CarryOutActivity})
	expect(t, "counters", [2]int32{result.Succeeded, result.Failed}, [2]int32{1, 2})
	expect(t, "startTime", result.StartTime.Equal(started.Time), true)
}

// TestBeginningIsTheJobsOwn: what the Job has counted is not run again.
func TestBeginningIsTheJobsOwn(t *testing.T) {
	kube := newJobKube(t)
	started := metav1.NewTime(kube.environment.Now().Add(-time.Hour).Truncate(time.Second))
	kube.status = &batchv1.JobStatus{StartTime: &started, Succeeded: 1}
	result, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "Pods", len(kube.pods), 0)
	expect(t, "succeeded", result.Succeeded, 1)
}

// TestListIsInTheHistoryBeforeWhatFollows: a local activity would list again when the
// workflow task fails after Pods were counted and released.
func TestListIsInTheHistoryBeforeWhatFollows(t *testing.T) {
	kube := newJobKube(t)
	var local []string
	kube.environment.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) {
		local = append(local, info.ActivityType.Name)
	})
	started := metav1.NewTime(kube.environment.Now())
	kube.status = &batchv1.JobStatus{StartTime: &started}
	kube.pods = []job.PodFact{{Name: "hello-other", UID: "pod-1", Phase: corev1.PodSucceeded, Tracked: true, Finished: started.Time}}
	if _, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1)}); err != nil {
		t.Fatal(err)
	}
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.ListPodsActivity, protocol.CarryOutActivity})
	expect(t, "local activities", local, []string{protocol.CarryOutActivity, protocol.CarryOutActivity})
}

// TestJobThatTheBuiltInControllerWentOnWith: the workflow slept while another counted
// and released the Pods that it knows.
func TestJobThatTheBuiltInControllerWentOnWith(t *testing.T) {
	kube := newJobKube(t)
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if request.Status == nil || request.Status.Succeeded == 0 || kube.status != nil {
			return nil, nil
		}
		// Both Pods are in the counter, and no list shows them any more.
		kube.pods, kube.status = nil, &batchv1.JobStatus{StartTime: request.Status.StartTime, Succeeded: 2}
		return &protocol.JobResult{Report: job.Report{StatusRefused: "cannot decrease the succeeded counter"}, Current: kube.status}, nil
	}
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(2, 2), job.Complete)
	expect(t, "succeeded", result.Succeeded, 2)
}

// A plan is not carried out for a Job whose Pods another controller has counted since.
func TestJobThatTheBuiltInControllerHasCounted(t *testing.T) {
	kube := newJobKube(t)
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if request.Base == nil {
			t.Error("a plan has no base")
		}
		if kube.status != nil {
			return nil, nil
		}
		started := metav1.NewTime(kube.environment.Now())
		kube.status = &batchv1.JobStatus{StartTime: &started, Succeeded: 2}
		return &protocol.JobResult{Unplanned: true, Current: kube.status, CurrentSpec: &kube.object}, nil
	}
	result, err := kube.run(jobSpec(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.ListPodsActivity, protocol.CarryOutActivity})
	expect(t, "Pods", len(kube.pods), 0)
	expect(t, "succeeded", result.Succeeded, 2)
}

// TestWorkflowThatIsStartedTooLate: the bridge may have seen the Job before it ended.
func TestWorkflowThatIsStartedTooLate(t *testing.T) {
	kube := newJobKube(t)
	complete := batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
	}}
	kube.status = &complete
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		return &protocol.JobResult{
			Refused: &protocol.Refusal{Reason: ledger.NotPrescribed, Message: "the Job is Complete"}, Current: &complete,
		}, nil
	}
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.ListPodsActivity})
	expect(t, "succeeded", result.Succeeded, 1)
}

func TestPodsAreListedIfTheNumbersDiffer(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		kube.pods[0].Phase, kube.pods[0].Finished = corev1.PodSucceeded, kube.environment.Now() // and no fact
	})
	kube.after(2*time.Minute, kube.signalDiffer)
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "list", slices.Contains(kube.calls, protocol.ListPodsActivity), true)
}

// TestPodsDeletedAfterASuspensionGoWithIt: the word of the suspension comes before that of the delete, and both before they can be acted
// upon, since the Pods are being listed. A Pod that was being deleted before is waited for.
func TestPodsDeletedAfterASuspensionGoWithIt(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(2, 2)
	spec.PodReplacementPolicy = batchv1.Failed
	suspended := spec
	suspended.Suspend, suspended.Generation = true, spec.Generation+1
	deleted := func(pod job.PodFact) job.PodFact {
		pod.Deleting = true
		pod.Version++
		return pod
	}
	kube.after(time.Minute, func() {
		kube.pods[0] = deleted(kube.pods[0])
		kube.signalFacts(kube.pods[0])
	})
	kube.after(2*time.Minute, kube.signalDiffer)
	kube.listing = func() {
		kube.listing = nil
		kube.signalSpec(hello, suspended)
		late := deleted(kube.pods[1])
		kube.signalFacts(late)
		kube.terminating = func() { kube.pods[1] = late }
	}
	kube.after(time.Hour, func() {
		expect(t, "removed", []bool{kube.pods[0].Removed, kube.pods[1].Removed}, []bool{false, true})
		expect(t, "failed", kube.lastStatus().Failed, 0)
		kube.remove()
	})
	kube.mustEnd(spec, job.Deleted)
}

// TestAPodThatGoesWithoutAWordIsMissed: it was removed, and went while nobody watched.
func TestAPodThatGoesWithoutAWordIsMissed(t *testing.T) {
	kube := newJobKube(t)
	suspended := jobSpec(1, 1)
	suspended.Suspend, suspended.Generation = true, suspended.Generation+1
	kube.after(time.Minute, func() { kube.signalSpec(hello, suspended) })
	terminating := func(want int32) func() {
		return func() { expect(t, "terminating", *kube.lastStatus().Terminating, want) }
	}
	kube.after(10*time.Minute, terminating(1))
	kube.after(10*time.Minute+time.Second, func() { kube.pods = nil })
	kube.after(11*time.Minute, kube.signalDiffer)
	kube.after(12*time.Minute, terminating(0))
	kube.after(13*time.Minute, func() { kube.calls = nil })
	kube.after(40*time.Minute, func() {
		expect(t, "calls", kube.calls, nil)
		kube.remove()
	})
	kube.mustEnd(jobSpec(1, 1), job.Deleted)
}

// TestAListHasAllTheTimeThatItTakes: an API server that takes eight seconds for a page takes long for 100,000 Pods.
func TestAListHasAllTheTimeThatItTakes(t *testing.T) {
	kube := newJobKube(t)
	kube.status = &batchv1.JobStatus{StartTime: new(metav1.NewTime(kube.environment.Now())), Succeeded: 1}
	var attempt, call, silent time.Duration
	kube.environment.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == protocol.ListPodsActivity {
			attempt, call, silent = info.StartToCloseTimeout, info.ScheduleToCloseTimeout, info.HeartbeatTimeout
		}
	})
	if _, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1)}); err != nil {
		t.Fatal(err)
	}
	if attempt < time.Hour || call != 0 && call < attempt || silent == 0 || silent > 10*time.Second {
		t.Errorf("an attempt has %s, the call %s, and a silence may last %s", attempt, call, silent)
	}
}
