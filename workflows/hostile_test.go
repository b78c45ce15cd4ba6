package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// A workflow that no process of Ostinato has started ends with the reason.
func TestInvalidInputsFailTheWorkflow(t *testing.T) {
	nameless, native := hello, hello
	nameless.UID, native.Native = "", true
	crooked := protocol.ObjectReference{Namespace: "../kube-system", Name: "hello", UID: "uid"}
	for name, test := range map[string]struct {
		workflow, id string
		input        any
		want         string
	}{
		"a Job without a UID":            {protocol.JobWorkflow, "job/default/hello", protocol.JobInput{Job: nameless}, "uid"},
		"a Job under another ID":         {protocol.JobWorkflow, "job/default/mine", protocol.JobInput{Job: hello}, "start it under that ID"},
		"a Job of another cluster":       {protocol.JobWorkflow, "east/job/default/hello", protocol.JobInput{Job: hello}, "start it under that ID"},
		"a Job of a crooked name":        {protocol.JobWorkflow, "job/../kube-system/hello", protocol.JobInput{Job: crooked}, "namespace"},
		"a negative parallelism":         {protocol.JobWorkflow, "job/default/hello", protocol.JobInput{Job: hello, Spec: job.Spec{Parallelism: -1}}, "parallelism"},
		"a state of negative numbers":    {protocol.JobWorkflow, "job/default/hello", protocol.JobInput{Job: hello, State: &job.State{Attempts: -1}}, "attempts"},
		"a CronJob without a UID":        {protocol.CronJobWorkflow, "cronjob/default/hello", protocol.CronJobInput{CronJob: nameless, Spec: cron("* * * * *", allow)}, "uid"},
		"a CronJob under another ID":     {protocol.CronJobWorkflow, "x", protocol.CronJobInput{CronJob: hello, Spec: cron("* * * * *", allow)}, "start it under that ID"},
		"ours, under a native's ID":      {protocol.CronJobWorkflow, "batch-cronjob/default/hello", protocol.CronJobInput{CronJob: hello, Spec: cron("* * * * *", allow)}, "start it under that ID"},
		"a native, under the ID of ours": {protocol.CronJobWorkflow, "cronjob/default/hello", protocol.CronJobInput{CronJob: native, Spec: cron("* * * * *", allow)}, "start it under that ID"},
		"a Job that says native":         {protocol.JobWorkflow, "job/default/hello", protocol.JobInput{Job: native}, "native"},
		"a CronJob of no policy":         {protocol.CronJobWorkflow, "cronjob/default/hello", protocol.CronJobInput{CronJob: hello, Spec: schedule.Spec{Schedule: "* * * * *"}}, "concurrencyPolicy"},
		"a negative history limit": {protocol.CronJobWorkflow, "cronjob/default/hello", protocol.CronJobInput{CronJob: hello, Spec: schedule.Spec{
			Schedule: "* * * * *", ConcurrencyPolicy: allow, FailedJobsHistoryLimit: -1,
		}}, "history limits"},
		"a backfill of no time": {protocol.CronJobWorkflow, "cronjob/default/hello", protocol.CronJobInput{
			CronJob: hello, Spec: cron("* * * * *", allow), State: &schedule.State{Backfills: []schedule.Backfill{{Trigger: schedule.Trigger{Sequence: 1}}}},
		}, "a backfill has 0 times"},
		"a trigger of no policy": {protocol.CronJobWorkflow, "cronjob/default/hello", protocol.CronJobInput{
			CronJob: hello, Spec: cron("* * * * *", allow), State: &schedule.State{Triggers: []schedule.Trigger{{TriggerRequest: schedule.TriggerRequest{Overlap: "Always"}}}},
		}, "overlap is"},
		"a shard of none":        {protocol.PodWatchWorkflow, "podwatch/0-of-0", protocol.PodWatchInput{}, "want 0 <= shard"},
		"a second watch":         {protocol.PodWatchWorkflow, "podwatch/mine", protocol.PodWatchInput{Shards: 1}, "start it under that ID"},
		"a payload of no object": {protocol.JobWorkflow, "job/default/hello", "hello", "unable to decode"},
	} {
		t.Run(name, func(t *testing.T) {
			environment := newEnvironment(t, "", test.workflow, test.id)
			environment.ExecuteWorkflow(test.workflow, test.input)
			err := environment.GetWorkflowError()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one that says %q", err, test.want)
			}
			var failed *temporal.ApplicationError
			if test.want != "unable to decode" && (!errors.As(err, &failed) || failed.Type() != protocol.InvalidInputErrorType || !failed.NonRetryable()) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// What nobody of Ostinato sends changes nothing.
func TestForgedSignalsChangeNothing(t *testing.T) {
	negative := int32(-1)
	other := hello
	other.Name = "other"
	for name, signal := range map[string]struct {
		name     string
		argument any
	}{
		"facts of no Job":              {protocol.PodsSignal, protocol.PodFacts{Facts: []job.PodFact{{Name: "x", UID: "y", Phase: corev1.PodFailed, Tracked: true}}}},
		"negative facts":               {protocol.PodsSignal, protocol.PodFacts{JobUID: hello.UID, Facts: []job.PodFact{{Name: "x", UID: "y", Index: &negative}}}},
		"too many facts":               {protocol.PodsSignal, protocol.PodFacts{JobUID: hello.UID, Facts: make([]job.PodFact, 600)}},
		"facts of the wrong type":      {protocol.PodsSignal, []int{1, 2}},
		"a spec of another Job":        {protocol.JobSpecSignal, protocol.JobSpec{Input: protocol.JobInput{Job: other, Spec: jobSpec(9, 9)}}},
		"a negative spec":              {protocol.JobSpecSignal, protocol.JobSpec{Input: protocol.JobInput{Job: hello, Spec: job.Spec{Parallelism: -3}}}},
		"a deletion of the wrong type": {protocol.DeletedSignal, 7},
	} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			kube.after(time.Minute, func() { kube.environment.SignalWorkflow(signal.name, signal.argument) })
			kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
			result := kube.mustEnd(jobSpec(1, 1), job.Complete)
			expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity, protocol.CarryOutActivity})
			expect(t, "counters", [2]int32{result.Succeeded, result.Failed}, [2]int32{1, 0})
		})
	}
	for name, generation := range map[string]int64{"a spec that the object does not have": 1, "an edit of the object that wants more Pods": 2} {
		for outage, failures := range map[string]int{"": 0, ", while the API server does not answer": 3} {
			t.Run(name+outage, func(t *testing.T) {
				kube := newJobKube(t)
				forged := jobSpec(50, 50)
				forged.Generation = generation
				kube.after(time.Minute, func() {
					kube.attempt = func(activity.Info, protocol.JobRequest) error {
						if failures--; failures >= 0 {
							return errors.New("connection refused")
						}
						return nil
					}
					kube.environment.SignalWorkflow(protocol.JobSpecSignal, protocol.JobSpec{Input: protocol.JobInput{Job: hello, Spec: forged}})
				})
				kube.after(time.Hour, func() { kube.end(1, corev1.PodSucceeded) })
				kube.mustEnd(jobSpec(1, 1), job.Complete)
				expect(t, "Pods", len(kube.pods), 1)
			})
		}
	}
	t.Run("a deletion of a Job that exists", func(t *testing.T) {
		kube := newJobKube(t)
		kube.after(time.Minute, func() {
			kube.environment.SignalWorkflow(protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
		})
		kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
		kube.mustEnd(jobSpec(1, 1), job.Complete)
	})
}

// A forged input prescribes nothing: the object does.
func TestAForgedSpecIsReplacedByTheObjects(t *testing.T) {
	kube := newJobKube(t)
	kube.object = jobSpec(1, 1)
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	result, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(100, 100)})
	if err != nil || result.Outcome != job.Complete || len(kube.pods) != 1 {
		t.Errorf("%d Pods, result %+v, error %v", len(kube.pods), result, err)
	}
}

// The workflow of a name that was given to a new Job looks after the Pods of the one
// before: nobody else hears of them.
func TestPodsOfAPredecessorAreReleased(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		kube.environment.SignalWorkflow(protocol.PodsSignal, protocol.PodFacts{JobUID: "predecessor", Facts: []job.PodFact{{Name: "x", UID: "y", Phase: corev1.PodFailed, Tracked: true}}})
	})
	kube.after(2*time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "orphans", kube.orphans, []string{"predecessor"})
}

// In Temporal a failed Job's workflow is a failed one, with the result.
func TestTheWorkflowOfAFailedJobFails(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(1, 1)
	spec.BackoffLimit = 0
	kube.after(time.Minute, func() { kube.end(1, corev1.PodFailed) })
	kube.object = spec
	kube.environment.ExecuteWorkflow(protocol.JobWorkflow, protocol.JobInput{Job: hello, Spec: spec})
	var failed *temporal.ApplicationError
	if err := kube.environment.GetWorkflowError(); !errors.As(err, &failed) || failed.Type() != protocol.JobFailedErrorType ||
		failed.Category() != temporal.ApplicationErrorCategoryBenign || !strings.Contains(err.Error(), "BackoffLimitExceeded") {
		t.Fatalf("error %v", err)
	}
	var result job.Result
	if err := failed.Details(&result); err != nil || result.Failed != 1 || result.Outcome != job.Failed {
		t.Errorf("result %+v, error %v", result, err)
	}
}

// A call that waits for the API server gives way to what may change its plan.
func TestACallThatWaitsGivesWay(t *testing.T) {
	kube := newJobKube(t)
	down := true
	kube.answer = func(request protocol.JobRequest) (*protocol.JobResult, error) {
		if down && len(request.Creates) > 0 {
			return nil, errors.New("connection refused")
		}
		return nil, nil
	}
	kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.SuspendSignal, nil) })
	kube.after(5*time.Minute, func() {
		down = false
		expect(t, "suspended", kube.object.Suspend, true)
	})
	kube.after(10*time.Minute, func() {
		expect(t, "Pods of a suspended Job", len(kube.pods), 0)
		kube.remove()
	})
	kube.mustEnd(jobSpec(1, 1), job.Deleted)
}

// A wish that could not be carried out is not forgotten.
func TestASuspendIsRepeatedUntilTheAPIServerAnswers(t *testing.T) {
	kube := newJobKube(t)
	kube.refuseSuspends = true
	kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.SuspendSignal, nil) })
	kube.after(30*time.Minute, func() { kube.refuseSuspends = false })
	kube.after(45*time.Minute, func() {
		expect(t, "suspended", kube.object.Suspend, true)
		kube.remove()
	})
	kube.mustEnd(jobSpec(1, 1), job.Deleted)
}

// While spec.suspend can't be written the Job goes on with its Pods.
func TestAJobGoesOnWhileItsSuspendCantBeWritten(t *testing.T) {
	kube := newJobKube(t)
	kube.refuseSuspends = true
	started := kube.environment.Now()
	kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.SuspendSignal, nil) })
	kube.after(65*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "Complete soon after its Pod", kube.environment.Now().Before(started.Add(100*time.Second)), true)
}

func TestAWishThatCouldNotBeWrittenIsContinuedAsNew(t *testing.T) {
	kube := newJobKube(t)
	kube.refuseSuspends = true
	kube.after(time.Minute, func() { kube.environment.SignalWorkflow(protocol.SuspendSignal, protocol.SignalNote{By: "ada"}) })
	kube.after(3*time.Minute, func() {
		kube.environment.SetCurrentHistoryLength(1001)
		kube.signalFacts(kube.pods[0])
	})
	_, err := kube.run(jobSpec(1, 1))
	var next protocol.JobInput
	kube.continued(err, &next)
	expect(t, "the next input", next.Validate(), nil)

	again := newJobKube(t)
	again.environment.SetStartTime(kube.environment.Now())
	again.pods = kube.pods
	again.after(time.Minute, func() { again.remove() })
	if _, err := again.runInput(next); err != nil {
		t.Fatal(err)
	}
	if len(again.suspends) != 1 || !again.suspends[0].Suspend || again.suspends[0].Note.By != "ada" {
		t.Errorf("suspends %+v", again.suspends)
	}
}

// A Job that is another controller's now is left to it.
func TestAJobOfAnotherControllerIsLeft(t *testing.T) {
	kube := newJobKube(t)
	kube.answer = func(protocol.JobRequest) (*protocol.JobResult, error) { return &protocol.JobResult{Foreign: true}, nil }
	kube.mustEnd(jobSpec(1, 1), job.HandedOver)
	expect(t, "calls", kube.calls, []string{protocol.CarryOutActivity})
}

// A Pod that can't be released does not hold up the end of its deleted Job's workflow,
// for which a Job of the same name may wait.
func TestTheWorkflowOfADeletedJobWaitsForNoPodForEver(t *testing.T) {
	kube := newJobKube(t)
	var budget time.Duration
	kube.environment.OnActivity(protocol.ReleaseOrphansActivity, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, _ protocol.ReleaseOrphansRequest) (protocol.ReleaseOrphansResult, error) {
			if info := activity.GetInfo(ctx); !info.IsLocalActivity {
				budget = info.ScheduleToCloseTimeout
			}
			return protocol.ReleaseOrphansResult{}, errors.New("pods \"bad\" is forbidden: a policy")
		})
	kube.after(time.Minute, func() { kube.remove() })
	kube.mustEnd(jobSpec(1, 1), job.Deleted)
	expect(t, "the bound of the release", budget > 0 && budget <= time.Hour, true)
}
