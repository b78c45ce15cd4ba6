package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func jobSpec(parallelism, completions int32) job.Spec {
	return job.Spec{Generation: 1, Parallelism: parallelism, Completions: &completions, BackoffLimit: 6, RestartPolicy: corev1.RestartPolicyNever}
}

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func conditionTypes(status batchv1.JobStatus) []batchv1.JobConditionType {
	var types []batchv1.JobConditionType
	for _, condition := range status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			types = append(types, condition.Type)
		}
	}
	return types
}

func TestJobWithOnePodThatSucceedsCallsTheAPITwice(t *testing.T) {
	kube := newJobKube(t)
	var timers []time.Duration
	kube.environment.SetOnTimerScheduledListener(func(_ string, duration time.Duration) { timers = append(timers, duration.Round(time.Minute)) })
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.CarryOutActivity})
	expect(t, "first status", kube.requests[0].Status.Active, 1)
	expect(t, "conditions", conditionTypes(*kube.requests[1].Status), []batchv1.JobConditionType{"SuccessCriteriaMet", "Complete"})
	expect(t, "releases", kube.requests[1].Releases, []job.Release{{Name: kube.pods[0].Name, UID: "pod-1", Phase: corev1.PodSucceeded}})
	expect(t, "succeeded", result.Succeeded, 1)
	expect(t, "timers", timers, []time.Duration{time.Hour})
}

func TestJobBacksOffBetweenFailures(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() { kube.end(1, corev1.PodFailed) })
	kube.after(time.Minute+9*time.Second, func() { expect(t, "Pods before the back-off ends", len(kube.pods), 1) })
	kube.after(time.Minute+11*time.Second, func() { kube.end(2, corev1.PodFailed) })
	kube.after(time.Minute+30*time.Second, func() { expect(t, "Pods before the second back-off ends", len(kube.pods), 2) })
	kube.after(time.Minute+32*time.Second, func() { kube.end(3, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "counters", [2]int32{result.Succeeded, result.Failed}, [2]int32{1, 2})
}

func TestJobFailsAtItsBackoffLimit(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(2, 2)
	spec.BackoffLimit = 0
	kube.after(time.Minute, func() { kube.end(1, corev1.PodFailed) })
	kube.after(2*time.Minute, func() {
		expect(t, "conditions while the other Pod ends", conditionTypes(kube.lastStatus()), []batchv1.JobConditionType{"FailureTarget"})
		kube.end(2, corev1.PodFailed)
	})
	result := kube.mustEnd(spec, job.Failed)
	expect(t, "reason", result.Reason, "BackoffLimitExceeded")
	expect(t, "failed", result.Failed, 2)
}

func TestJobEndsAtItsDeadline(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(1, 1)
	spec.ActiveDeadlineSeconds = ptr.To(int64(90))
	kube.after(2*time.Minute, func() { kube.end(1, corev1.PodFailed) })
	result := kube.mustEnd(spec, job.Failed)
	expect(t, "reason", result.Reason, "DeadlineExceeded")
	expect(t, "calls", kube.calls[:2], []string{protocol.CarryOutActivity, protocol.TerminatePodsActivity + " Verdict"})
	expect(t, "deleted, to be counted", []bool{kube.pods[0].Deleting, kube.pods[0].Removed}, []bool{true, false})
}

func TestJobIsSuspendedAndResumedBySignal(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.SuspendSignal, "maintenance") })
	kube.after(2*time.Minute, func() {
		expect(t, "conditions", conditionTypes(kube.lastStatus()), []batchv1.JobConditionType{"Suspended"})
		expect(t, "removed", kube.pods[0].Removed, true)
		// An edit from before the signal comes late and must not undo it.
		kube.environment.SignalWorkflow(protocol.JobSpecSignal, protocol.JobSpec{Input: protocol.JobInput{Job: hello, Spec: jobSpec(1, 1)}})
		kube.pods[0].Gone = true
		kube.signalFacts(kube.pods[0])
	})
	kube.after(3*time.Minute, func() { kube.environment.SignalWorkflow(protocol.ResumeSignal, map[string]any{"by": "ann"}) })
	kube.after(4*time.Minute, func() { kube.end(2, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "suspends", []bool{kube.suspends[0].Suspend, kube.suspends[1].Suspend}, []bool{true, false})
	expect(t, "notes", []protocol.SignalNote{kube.suspends[0].Note, kube.suspends[1].Note},
		[]protocol.SignalNote{{Note: "maintenance"}, {By: "ann"}})
	expect(t, "counters", [2]int32{result.Succeeded, result.Failed}, [2]int32{1, 0})
	expect(t, "startTime is that of the resume", result.StartTime.Sub(kube.environment.Now()).Round(time.Minute), -time.Minute)
}

func TestJobIsStoppedBySignal(t *testing.T) {
	for name, before := range map[string]func(*jobKube){
		"alone":                 func(*jobKube) {},
		"while it is suspended": func(kube *jobKube) { kube.environment.SignalWorkflow(protocol.SuspendSignal, nil) },
	} {
		kube := newJobKube(t)
		kube.after(time.Minute, func() { before(kube) })
		kube.after(2*time.Minute, func() {
			kube.environment.SignalWorkflow(protocol.StopSignal, map[string]any{"by": "ada", "reason": "it hangs"})
		})
		kube.after(3*time.Minute, func() {
			kube.pods[0].Gone = true
			kube.signalFacts(kube.pods[0])
		})
		result := kube.mustEnd(jobSpec(1, 1), job.Failed)
		expect(t, name+": reason", [2]string{result.Reason, result.Message}, [2]string{"Stopped", "Job was stopped by ada (claimed): it hangs"})
		last := kube.suspends[len(kube.suspends)-1]
		expect(t, name+": the wish", [2]any{last.Stop, last.Signal()}, [2]any{true, protocol.StopSignal})
	}
}

// A stop is written whatever else people wish before and after it, while the API server does not answer, and it is written once.
func TestAStopIsNeitherSupersededNorRepeated(t *testing.T) {
	for name, signals := range map[string][]string{
		"many suspends after it":  append([]string{protocol.StopSignal}, slices.Repeat([]string{protocol.SuspendSignal, protocol.ResumeSignal}, 20)...),
		"many suspends before it": append(slices.Repeat([]string{protocol.ResumeSignal, protocol.SuspendSignal}, 20), protocol.StopSignal, protocol.ResumeSignal),
		"many stops":              slices.Repeat([]string{protocol.StopSignal}, 30),
	} {
		kube := newJobKube(t)
		kube.refuseSuspends = true
		kube.after(time.Minute, func() {
			for _, signal := range signals {
				kube.environment.SignalWorkflow(signal, nil)
			}
		})
		kube.after(5*time.Minute, func() { kube.refuseSuspends = false })
		kube.after(time.Hour, func() {
			kube.pods[0].Gone = true
			kube.signalFacts(kube.pods[0])
		})
		result := kube.mustEnd(jobSpec(1, 1), job.Failed)
		expect(t, name+": reason", result.Reason, "Stopped")
		stops := 0
		for _, request := range kube.suspends {
			if request.Stop {
				stops++
			}
		}
		expect(t, name+": stops that were written", stops, 1)
	}
}

func TestSignalsOfPeopleAreTakenWhateverTheirArgument(t *testing.T) {
	for _, argument := range []any{nil, "", 42, []string{"a"}, []byte("\xff\xfe"), map[string]any{"note": 1, "by": []int{2}}} {
		kube := newJobKube(t)
		kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.SuspendSignal, argument) })
		kube.after(2*time.Minute, func() { kube.remove() })
		kube.mustEnd(jobSpec(1, 1), job.Deleted)
		expect(t, "suspends", len(kube.suspends), 1)
	}
}

// Signals that wait together are taken in the order of the history.
func TestSuspendAndResumeAreTakenInTheirOrder(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		for _, order := range [][]string{
			{protocol.ResumeSignal, protocol.SuspendSignal}, {protocol.SuspendSignal, protocol.ResumeSignal},
		} {
			kube := newJobKube(t)
			spec := jobSpec(1, 1)
			spec.Suspend = suspended
			sent := false
			kube.answer = func(protocol.JobRequest) (*protocol.JobResult, error) {
				for _, signal := range order {
					if !sent {
						kube.environment.SignalWorkflow(signal, nil)
					}
				}
				sent = true
				return nil, nil
			}
			kube.after(2*time.Minute, func() { kube.remove() })
			kube.mustEnd(spec, job.Deleted)
			expect(t, "writes", len(kube.suspends), 2)
			expect(t, "last write", kube.suspends[len(kube.suspends)-1].Suspend, order[1] == protocol.SuspendSignal)
		}
	}
}

func TestJobFollowsEdits(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		spec := jobSpec(3, 5)
		spec.Generation = 2
		kube.signalSpec(hello, spec)
	})
	kube.after(2*time.Minute, func() {
		expect(t, "Pods after scaling up", len(kube.pods), 3)
		expect(t, "calls, without one that only reads", kube.calls, []string{protocol.CarryOutActivity, protocol.CarryOutActivity})
		kube.remove()
	})
	kube.mustEnd(jobSpec(1, 5), job.Deleted)
}

func TestDeletedJobsPodsAreReleased(t *testing.T) {
	t.Run("by signal", func(t *testing.T) {
		kube := newJobKube(t)
		kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.DeletedSignal, protocol.Deleted{UID: "other"}) })
		kube.after(2*time.Minute, func() { kube.remove() })
		kube.mustEnd(jobSpec(1, 1), job.Deleted)
		expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.CarryOutActivity, protocol.ReleaseOrphansActivity})
	})
	t.Run("when an activity finds it gone", func(t *testing.T) {
		kube := newJobKube(t)
		kube.after(time.Minute, func() { kube.gone = true; kube.end(1, corev1.PodSucceeded) })
		kube.mustEnd(jobSpec(1, 1), job.Deleted)
		expect(t, "last call", kube.calls[len(kube.calls)-1], protocol.ReleaseOrphansActivity)
	})
}

// TestARunThatIsDeletedLeavesItsEvidence: so does one that another replaces.
func TestARunThatIsDeletedLeavesItsEvidence(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() { kube.remove() })
	result := kube.mustEnd(jobSpec(1, 1), job.Deleted)
	if len(result.Attempts) != 1 || result.Attempts[0].Ended != job.EndedJobDeleted || result.Attempts[0].Log != "last words" {
		t.Errorf("attempts %+v", result.Attempts)
	}
}

func TestJobOfAnotherUID(t *testing.T) {
	other := protocol.ObjectReference{Namespace: "default", Name: "hello", UID: "uid-2"}
	t.Run("takes the workflow over when this one is gone", func(t *testing.T) {
		kube := newJobKube(t)
		kube.after(time.Minute, func() { kube.gone = true; kube.signalSpec(other, jobSpec(2, 2)) })
		_, err := kube.run(jobSpec(1, 1))
		var next protocol.JobInput
		kube.continued(err, &next)
		expect(t, "next", next.Job, other)
		expect(t, "state", next.State == nil, true)
		expect(t, "last call", kube.calls[len(kube.calls)-1], protocol.ReleaseOrphansActivity)
	})
	t.Run("is a late signal when this one exists", func(t *testing.T) {
		kube := newJobKube(t)
		kube.after(time.Minute, func() { kube.signalSpec(other, jobSpec(2, 2)) })
		kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
		result := kube.mustEnd(jobSpec(1, 1), job.Complete)
		expect(t, "UID", result.UID, hello.UID)
	})
	t.Run("sends facts that are not ours", func(t *testing.T) {
		kube := newJobKube(t)
		kube.after(time.Minute, func() {
			pod := kube.pods[0]
			pod.Phase = corev1.PodFailed
			kube.environment.SignalWorkflow(protocol.PodsSignal, protocol.PodFacts{JobUID: other.UID, Facts: []job.PodFact{pod}})
		})
		kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
		kube.mustEnd(jobSpec(1, 1), job.Complete)
	})
}

func TestRefusedPodIsTriedAgain(t *testing.T) {
	kube := newJobKube(t)
	began := kube.environment.Now()
	var tries []time.Duration
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if len(request.Creates) == 0 {
			return nil, nil
		}
		tries = append(tries, kube.environment.Now().Sub(began).Round(time.Second))
		if len(tries) > 4 {
			return nil, nil
		}
		return &protocol.JobResult{Refused: &protocol.Refusal{Reason: ledger.Forbidden, Message: "exceeded quota"}}, nil
	}
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "tries", tries, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second})
}

// A refusal that leaves nothing open, such as a quota's conflict, costs no list.
func TestThePodsAreListedIfACreateMayHaveMadeOne(t *testing.T) {
	for reason, lists := range map[string]bool{ledger.RefusedOtherwise: false, ledger.NotPrescribed: false, ledger.ServerError: true} {
		t.Run(reason, func(t *testing.T) {
			kube := newJobKube(t)
			refused := false
			kube.answer = func(protocol.JobRequest) (*protocol.JobResult, error) {
				if refused {
					return nil, nil
				}
				refused = true
				return &protocol.JobResult{Refused: &protocol.Refusal{Reason: reason, Message: "no"}}, nil
			}
			kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
			kube.mustEnd(jobSpec(1, 1), job.Complete)
			expect(t, fmt.Sprint("a list in ", kube.calls), slices.Contains(kube.calls, protocol.ListPodsActivity), lists)
		})
	}
}

// A plan of many Pods that has no answer for ten minutes is made anew, with what was heard meanwhile.
func TestABulkCallHasTenMinutes(t *testing.T) {
	kube := newJobKube(t)
	var budgets []time.Duration
	kube.environment.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.TaskQueue == names.Cluster("").BulkTaskQueue() {
			budgets = append(budgets, info.ScheduleToCloseTimeout, info.StartToCloseTimeout)
		}
	})
	kube.after(time.Minute, kube.remove)
	kube.mustEnd(jobSpec(50, 50), job.Deleted)
	expect(t, "budgets of the call and of its attempt", budgets, []time.Duration{10 * time.Minute, 10 * time.Minute})
}

func TestRefusedStatusIsReadAgainAndRepeated(t *testing.T) {
	kube := newJobKube(t)
	refused := 0
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if request.Status == nil || len(request.Creates) > 0 || refused == 2 {
			return nil, nil
		}
		refused++
		current := *request.Status.DeepCopy()
		current.Conditions, current.CompletionTime, current.Succeeded, current.Failed = nil, nil, 0, 4
		kube.status = &current
		return &protocol.JobResult{Report: job.Report{StatusRefused: "failed: may not decrease"}, Current: &current}, nil
	}
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "calls", kube.calls, []string{
		protocol.CarryOutActivity,
		protocol.CarryOutActivity, protocol.ListPodsActivity, // what somebody else counted
		protocol.CarryOutActivity,
		protocol.ListPodsActivity, protocol.CarryOutActivity,
	})
	expect(t, "counters", [2]int32{result.Succeeded, result.Failed}, [2]int32{1, 4})
}

func TestOutageOfTheAPIServerIsWaitedOut(t *testing.T) {
	kube := newJobKube(t)
	began := kube.environment.Now()
	kube.answer = func(protocol.JobRequest) (*protocol.JobResult, error) {
		if kube.environment.Now().Sub(began) < 30*time.Second {
			return nil, errors.New("connection refused")
		}
		return nil, nil
	}
	kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "Pods", len(kube.pods), 1)
}

func TestErrorThatIsNotRetriedPausesTheWorkflow(t *testing.T) {
	kube := newJobKube(t)
	failures := 0
	kube.answer = func(protocol.JobRequest) (*protocol.JobResult, error) {
		if failures < 3 {
			failures++
			return nil, temporal.NewNonRetryableApplicationError("not allowed", "Forbidden", nil)
		}
		return nil, nil
	}
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "calls", len(kube.calls), 5)
}

func TestManyPodsGoThroughTheBulkQueue(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		spec := jobSpec(600, 1000)
		spec.Generation, spec.Suspend = 2, true
		kube.signalSpec(hello, spec)
	})
	kube.after(90*time.Second, func() { kube.remove() }) // before the next look at the Pods
	kube.mustEnd(jobSpec(600, 1000), job.Deleted)
	expect(t, "calls", kube.calls, []string{
		protocol.CarryOutActivity, protocol.CarryOutActivity, // 500 Pods, and 100
		protocol.CarryOutActivity, protocol.TerminatePodsActivity + " Suspension", protocol.CarryOutActivity, // after a look at the object
		protocol.CarryOutActivity, protocol.ReleaseOrphansActivity,
	})
	expect(t, "active, then terminating",
		[]int32{kube.requests[0].Status.Active, kube.requests[1].Status.Active, *kube.requests[3].Status.Terminating}, []int32{500, 600, 600})
}

func TestManyReleasesFollowTheStatusInOneCall(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		for i := range kube.pods {
			kube.pods[i].Phase, kube.pods[i].Finished = corev1.PodSucceeded, kube.environment.Now()
		}
		kube.signalFacts(kube.pods...)
	})
	result := kube.mustEnd(jobSpec(20, 20), job.Complete)
	expect(t, "succeeded", result.Succeeded, 20)
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.CarryOutActivity})
	expect(t, "releases beside the status", len(kube.requests[1].Releases), 20)
}

func TestReleasesWaitForARefusedStatus(t *testing.T) {
	kube := newJobKube(t)
	refused := false
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if refused || request.Status == nil || len(request.Status.Conditions) == 0 {
			return nil, nil
		}
		refused = true
		return &protocol.JobResult{Report: job.Report{StatusRefused: "conflict"}, Current: &batchv1.JobStatus{Active: 20}}, nil
	}
	kube.after(time.Minute, func() {
		for i := range kube.pods {
			kube.pods[i].Phase, kube.pods[i].Finished = corev1.PodSucceeded, kube.environment.Now()
		}
		kube.signalFacts(kube.pods...)
	})
	kube.mustEnd(jobSpec(20, 20), job.Complete)
	expect(t, "calls after the refusal", kube.calls[2:], []string{protocol.ListPodsActivity, protocol.CarryOutActivity})
}

func TestFactsMayComeBeforeTheResultOfTheCreate(t *testing.T) {
	kube := newJobKube(t)
	first := true
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if !first {
			return nil, nil
		}
		first = false
		kube.create(request.Creates)
		kube.end(1, corev1.PodSucceeded)
		return &protocol.JobResult{Refused: &protocol.Refusal{Reason: ledger.ServerError, Message: "timeout"}}, nil
	}
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "Pods", len(kube.pods), 1)
}

func TestRepeatedFactsCountOnce(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		for range 3 {
			kube.end(1, corev1.PodSucceeded)
		}
	})
	kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded); kube.end(2, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(1, 2), job.Complete)
	expect(t, "succeeded", result.Succeeded, 2)
}

func TestLongHistoryContinuesAsNewWithItsState(t *testing.T) {
	for name, grow := range map[string]func(*testsuite.TestWorkflowEnvironment){
		"of many events":  func(e *testsuite.TestWorkflowEnvironment) { e.SetCurrentHistoryLength(1001) },
		"of large events": func(e *testsuite.TestWorkflowEnvironment) { e.SetCurrentHistorySize(2_400_001) },
	} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			kube.environment.SetCurrentHistorySize(1_400_000)
			spec := jobSpec(1, 2)
			kube.after(time.Minute, func() {
				grow(kube.environment)
				kube.end(1, corev1.PodSucceeded)
			})
			_, err := kube.run(spec)
			var next protocol.JobInput
			kube.continued(err, &next)
			expect(t, "phase of the Pod heard of", next.State.Pods[0].Phase, corev1.PodSucceeded)

			again := newJobKube(t)
			again.pods = kube.pods
			again.after(time.Minute, func() { again.end(1, corev1.PodSucceeded); again.end(2, corev1.PodSucceeded) })
			result, err := again.runInput(next)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "succeeded", result.Succeeded, 2)
			expect(t, "a look at the Job, and a plan for each end", again.calls, slices.Repeat([]string{protocol.CarryOutActivity}, 3))
			expect(t, "what the look names", again.requests[0].Digest, "")
		})
	}
}

// A forged input has a spec of its own, by which nothing would be due for years: the Job's own is read first.
func TestAJobThatIsContinuedGoesByItsOwnSpec(t *testing.T) {
	kube := newJobKube(t)
	kube.object = jobSpec(1, 1)
	forged := kube.object
	forged.BackoffBaseSeconds, forged.BackoffCapSeconds = 300_000_000, 300_000_000
	failed := kube.environment.Now().UTC()
	state := job.State{Attempts: 1, Failed: 1, Backoff: job.Backoff{Failures: 1, Last: failed}, Written: &batchv1.JobStatus{Failed: 1}}
	kube.after(time.Hour, func() { kube.remove() })
	kube.after(time.Minute, func() { expect(t, "Pods after the back-off that the Job has", len(kube.pods), 1) })
	if _, err := kube.runInput(protocol.JobInput{Job: hello, Spec: forged, State: &state}); err != nil {
		t.Fatal(err)
	}
}

// A state that is large from the start is no reason by itself: the next run would begin with it too.
func TestALargeStateDoesNotContinueAsNewByItself(t *testing.T) {
	kube := newJobKube(t)
	kube.environment.SetCurrentHistorySize(1_400_000)
	kube.after(time.Minute, func() {
		kube.environment.SetCurrentHistorySize(2_300_000)
		kube.end(1, corev1.PodSucceeded)
	})
	kube.mustEnd(jobSpec(1, 1), job.Complete)
}

// TestASuccessorIsNotForgottenInAnOutage: the Job is replaced while the API server is away, and the history becomes long meanwhile.
func TestASuccessorIsNotForgottenInAnOutage(t *testing.T) {
	kube := newJobKube(t)
	successor := hello
	successor.UID = "successor"
	away := errors.New("the API server is away")
	kube.after(time.Minute, func() {
		kube.answer = func(protocol.JobRequest) (*protocol.JobResult, error) { return nil, away }
		kube.signalSpec(successor, jobSpec(1, 1))
		kube.environment.SetCurrentHistoryLength(1001)
	})
	kube.after(20*time.Minute, func() {
		kube.answer = nil
		kube.remove()
	})
	_, err := kube.run(jobSpec(1, 1))
	var next protocol.JobInput
	kube.continued(err, &next)
	expect(t, "the next Job", next.Job.UID, successor.UID)
	expect(t, "begins with a list", next.List, true)
}
