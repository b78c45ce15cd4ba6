package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

var hello = protocol.ObjectReference{Namespace: "default", Name: "hello", UID: "uid-1"}

// jobKube stands for the API server behind the activities of one Job workflow.
// The workflow under test runs one activity at a time, so it needs no lock.
type jobKube struct {
	// mutex is held by the activities: an attempt that timed out may still run
	// when the next one does.
	mutex sync.Mutex

	t           *testing.T
	environment *testsuite.TestWorkflowEnvironment

	// calls lists the activities that ran, in order; requests those of CarryOut.
	calls    []string
	requests []protocol.JobRequest
	suspends []protocol.SetSuspendRequest
	pods     []job.PodFact
	// orphans are the UIDs of other Jobs whose Pods were to be released.
	orphans []string

	// listing is called with each list of the Pods, terminating before Pods are ended.
	listing, terminating func()

	// refuseSuspends makes SetSuspend fail as in an outage.
	refuseSuspends bool
	// object is the spec of the Job object.
	object job.Spec

	// attempt, when set, is called with each attempt of CarryOut, first of all; its error ends the attempt.
	attempt func(info activity.Info, request protocol.JobRequest) error
	// answer, when set, may answer a CarryOut in place of the API server.
	answer func(protocol.JobRequest) (*protocol.JobResult, error)
	gone   bool
	// status is what a list says of the Job itself.
	status *batchv1.JobStatus
}

func newJobKube(t *testing.T) *jobKube {
	environment := newEnvironment(t, "", protocol.JobWorkflow, "job/default/hello")
	kube := &jobKube{t: t, environment: environment}
	for name, function := range map[string]any{
		protocol.CarryOutActivity:       kube.reconcile,
		protocol.ListPodsActivity:       kube.listPods,
		protocol.TerminatePodsActivity:  kube.terminatePods,
		protocol.ReleaseOrphansActivity: kube.releasePods,
		protocol.SetSuspendActivity:     kube.setSuspend,
	} {
		environment.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name})
	}
	return kube
}

func (k *jobKube) reconcile(ctx context.Context, request protocol.JobRequest) (protocol.JobResult, error) {
	if k.attempt != nil {
		if err := k.attempt(activity.GetInfo(ctx), request); err != nil {
			return protocol.JobResult{}, err
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.calls = append(k.calls, protocol.CarryOutActivity)
	k.requests = append(k.requests, request)
	if k.answer != nil {
		if result, err := k.answer(request); result != nil || err != nil {
			if result == nil {
				result = &protocol.JobResult{}
			}
			return *result, err
		}
	}
	if k.gone {
		return protocol.JobResult{Gone: true}, nil
	}
	if request.Digest != k.object.Digest() {
		return protocol.JobResult{Unplanned: true, CurrentSpec: &k.object}, nil
	}
	if request.Base != nil && k.status != nil && job.Overtaken(*k.status, job.ByOthers{}, *request.Base) {
		return protocol.JobResult{Unplanned: true, CurrentSpec: &k.object, Current: k.status}, nil
	}
	return protocol.JobResult{Report: job.Report{Created: k.create(request.Creates), Logs: k.release(request.Releases)}}, nil
}

func (k *jobKube) create(creates []job.Create) []job.CreatedPod {
	var created []job.CreatedPod
	for _, create := range creates {
		i := slices.IndexFunc(k.pods, func(pod job.PodFact) bool { return pod.Name == create.Name })
		if i < 0 {
			i = len(k.pods)
			k.pods = append(k.pods, job.PodFact{
				Name: create.Name, UID: fmt.Sprintf("pod-%d", i+1), Attempt: create.Attempt, Phase: corev1.PodPending, Tracked: true, Index: create.Index,
			})
		}
		made := job.CreatedPod{Name: k.pods[i].Name, UID: k.pods[i].UID}
		if fact := k.pods[i]; fact.Ended() && fact.Tracked {
			made.Ended = &fact
		}
		created = append(created, made)
	}
	return created
}

// release takes the finalizer off, and answers for every log that is asked for.
func (k *jobKube) release(releases []job.Release) []job.PodLog {
	var logs []job.PodLog
	for _, release := range releases {
		if i := slices.IndexFunc(k.pods, func(pod job.PodFact) bool { return pod.UID == release.UID }); i >= 0 {
			k.pods[i].Tracked = false
		}
		if release.Logs {
			logs = append(logs, job.PodLog{UID: release.UID, Lines: "last words of " + release.UID})
		}
	}
	return logs
}

// terminatePods ends the Pods as asked.
func (k *jobKube) terminatePods(ctx context.Context, request protocol.TerminatePodsRequest) (protocol.PodList, error) {
	k.mutex.Lock()
	k.calls = append(k.calls, fmt.Sprintf("%s %s", protocol.TerminatePodsActivity, request.Termination))
	if k.terminating != nil {
		k.terminating()
	}
	unplanned := request.Digest != k.object.Digest()
	targets := request.Termination.Targets(k.pods, request.Undecided, request.Deleting)
	for _, target := range targets {
		i := slices.IndexFunc(k.pods, func(pod job.PodFact) bool { return pod.UID == target.UID })
		if !unplanned {
			k.pods[i].Deleting, k.pods[i].Removed = true, target.Release
			k.pods[i].Tracked = k.pods[i].Tracked && !target.Release
		}
	}
	k.mutex.Unlock()
	if unplanned {
		return protocol.PodList{Unplanned: true, Spec: &k.object}, nil
	}
	list, err := k.listPods(ctx, protocol.ListPodsRequest{})
	k.calls = k.calls[:len(k.calls)-1]
	return list, err
}

func (k *jobKube) listPods(context.Context, protocol.ListPodsRequest) (protocol.PodList, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.calls = append(k.calls, protocol.ListPodsActivity)
	if k.listing != nil {
		k.listing()
	}
	if k.gone {
		return protocol.PodList{Gone: true}, nil
	}
	there := slices.DeleteFunc(slices.Clone(k.pods), func(pod job.PodFact) bool { return pod.Gone })
	return protocol.PodList{List: job.List{Facts: there}, Status: k.status, Spec: &k.object}, nil
}

func (k *jobKube) releasePods(_ context.Context, request protocol.ReleaseOrphansRequest) (protocol.ReleaseOrphansResult, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.calls = append(k.calls, protocol.ReleaseOrphansActivity)
	if request.Job.UID != hello.UID {
		k.orphans = append(k.orphans, request.Job.UID)
	}
	result := protocol.ReleaseOrphansResult{Released: len(k.pods)}
	for _, pod := range k.pods {
		if request.Evidence && !pod.Gone {
			result.Ended = append(result.Ended, pod)
			result.Logs = append(result.Logs, job.PodLog{UID: pod.UID, Lines: "last words"})
		}
	}
	return result, nil
}

func (k *jobKube) setSuspend(_ context.Context, request protocol.SetSuspendRequest) (protocol.SetSuspendResult, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.calls = append(k.calls, protocol.SetSuspendActivity)
	if k.refuseSuspends {
		return protocol.SetSuspendResult{}, errors.New("connection refused")
	}
	k.suspends = append(k.suspends, request)
	if request.Stop {
		// An annotation has no generation.
		k.object.Stop = &job.Stop{By: request.Note.By, Note: request.Note.Note}
	} else {
		k.object.Suspend = request.Suspend
		k.object.Generation++
	}
	spec := k.object
	return protocol.SetSuspendResult{JobSpec: &spec}, nil
}

// remove deletes the Job object and signals it.
func (k *jobKube) remove() {
	k.gone = true
	k.environment.SignalWorkflow(protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
}

// after runs an action at a time since the workflow's start.
func (k *jobKube) after(delay time.Duration, action func()) *jobKube {
	k.environment.RegisterDelayedCallback(action, delay)
	return k
}

// end makes the number-th Pod (from 1) reach a phase and signals the fact.
func (k *jobKube) end(number int, phase corev1.PodPhase) {
	if number > len(k.pods) {
		k.t.Errorf("there is no Pod %d at %s", number, k.environment.Now())
		return
	}
	pod := &k.pods[number-1]
	pod.Phase, pod.Finished = phase, k.environment.Now()
	k.signalFacts(*pod)
}

func (k *jobKube) signalFacts(facts ...job.PodFact) {
	k.environment.SignalWorkflow(protocol.PodsSignal, protocol.PodFacts{JobUID: hello.UID, Facts: facts})
}

func (k *jobKube) signalDiffer() {
	k.environment.SignalWorkflow(protocol.PodsSignal, protocol.PodFacts{JobUID: hello.UID, Differ: true})
}

// signalSpec signals a spec; when it is the Job's own, the object has it from now on.
func (k *jobKube) signalSpec(reference protocol.ObjectReference, spec job.Spec) {
	if reference.UID == hello.UID {
		k.object = spec
	}
	k.environment.SignalWorkflow(protocol.JobSpecSignal, protocol.JobSpec{Input: protocol.JobInput{Job: reference, Spec: spec}})
}

// run executes the workflow for a Job that nothing was done for yet.
func (k *jobKube) run(spec job.Spec) (job.Result, error) {
	k.t.Helper()
	return k.runInput(protocol.JobInput{Job: hello, Spec: spec})
}

func (k *jobKube) runInput(input protocol.JobInput) (job.Result, error) {
	k.t.Helper()
	if k.object.RestartPolicy == "" {
		k.object = input.Spec
	}
	k.environment.ExecuteWorkflow(protocol.JobWorkflow, input)
	if !k.environment.IsWorkflowCompleted() {
		k.t.Fatalf("the workflow did not end; calls %v", k.calls)
	}
	var result job.Result
	if err := k.environment.GetWorkflowError(); err != nil {
		var failed *temporal.ApplicationError
		if errors.As(err, &failed) && failed.Type() == protocol.JobFailedErrorType {
			return result, failed.Details(&result)
		}
		return result, err
	}
	if err := k.environment.GetWorkflowResult(&result); err != nil {
		k.t.Fatalf("read result: %v", err)
	}
	return result, nil
}

// mustEnd runs the workflow to an expected outcome.
func (k *jobKube) mustEnd(spec job.Spec, want job.Outcome) job.Result {
	k.t.Helper()
	result, err := k.run(spec)
	if err != nil {
		k.t.Fatalf("the workflow failed: %v", err)
	}
	if result.Outcome != want {
		k.t.Errorf("outcome is %s, want %s (calls %v)", result.Outcome, want, k.calls)
	}
	return result
}

// lastStatus returns the last status that was to be written.
func (k *jobKube) lastStatus() batchv1.JobStatus {
	for _, request := range slices.Backward(k.requests) {
		if request.Status != nil {
			return *request.Status
		}
	}
	return batchv1.JobStatus{}
}

// continued reads the input of the next run of a workflow that continued as new.
func (k *jobKube) continued(err error, input any) {
	k.t.Helper()
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		k.t.Fatalf("the workflow ended with %v, want continue-as-new", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, input); err != nil {
		k.t.Fatalf("read input: %v", err)
	}
}
