package activities_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/protocol"
)

// newlyMade is a Job that no workflow has begun with.
func newlyMade(change ...func(*batchv1.Job)) *batchv1.Job {
	made := helloJob()
	made.Status = batchv1.JobStatus{}
	parallelJob(1)(made)
	for _, apply := range change {
		apply(made)
	}
	return made
}

func parallelJob(pods int32) func(*batchv1.Job) {
	return func(made *batchv1.Job) { made.Spec.Parallelism, made.Spec.Completions = &pods, &pods }
}

// The Pods are those that the Job's workflow plans first.
func TestTheFirstPodsOfANewJobAreMade(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*batchv1.Job)
		pods   int
	}{
		"one":                  {func(*batchv1.Job) {}, 1},
		"as many as run":       {parallelJob(3), 3},
		"ten at most":          {parallelJob(40), 10},
		"of an Indexed Job":    {func(j *batchv1.Job) { j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion); parallelJob(2)(j) }, 2},
		"none where none runs": {func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](0) }, 0},
		"none of one that nobody could select": {func(j *batchv1.Job) {
			j.Spec.Template.Labels = nil
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			made := newlyMade(test.change)
			s := newStage(t, []runtime.Object{made}, nil)
			first, err := s.activities.BeginJob(t.Context(), jobRef, false)
			require.NoError(t, err)
			require.Equal(t, test.pods, len(s.pods()))
			require.Len(t, first.Pods, test.pods)
			assert.Equal(t, protocol.JobInput{Job: jobRef, Spec: job.SpecOf(made), Pods: first.Pods}, *first)
			for _, pod := range s.pods() {
				assert.True(t, metav1.IsControlledBy(&pod, made), pod.Name)
			}
			// A watch that sees the Job once more makes no others.
			again, err := s.activities.BeginJob(t.Context(), jobRef, false)
			require.NoError(t, err)
			assert.Equal(t, test.pods, len(s.pods()))
			assert.ElementsMatch(t, first.Pods, again.Pods)
		})
	}
}

// The Job is read first: since it was seen, a workflow may have begun with it, ended its Pods and removed them.
func TestAJobThatIsNewNoMoreGetsNoFirstPods(t *testing.T) {
	for name, became := range map[string]func(*batchv1.Job){
		"it has begun":     func(j *batchv1.Job) { j.Status.StartTime = ptr.To(metav1.Now()) },
		"it is suspended":  func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) },
		"it is another":    func(j *batchv1.Job) { j.UID = "another" },
		"it wants no Pods": func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{newlyMade(became)}, nil)
			_, err := s.activities.BeginJob(t.Context(), jobRef, false)
			require.NoError(t, err)
			assert.Empty(t, s.pods())
		})
	}
}

// What is refused is the workflow's to say, once. It asks for all Pods again, in the same batches, and so says it of each.
func TestFirstPodsThatAreRefusedAreLeftToTheWorkflow(t *testing.T) {
	for name, there := range map[string]int{"all": 0, "all but one": 1} {
		t.Run(name, func(t *testing.T) {
			made := newlyMade()
			made.Spec.Parallelism, made.Spec.Completions = ptr.To[int32](3), ptr.To[int32](3)
			s := newStage(t, []runtime.Object{made}, nil)
			var asked atomic.Int32
			s.kubernetes.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return int(asked.Add(1)) > there, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
			})
			input, err := s.activities.BeginJob(t.Context(), jobRef, false)
			require.NoError(t, err)
			assert.Empty(t, input.Pods)
			assert.False(t, input.Late)
			assert.Len(t, s.pods(), there)
			assert.NotContains(t, strings.Join(s.recorded(), "\n"), "FailedCreate")
		})
	}
}

// An admission webhook that does not answer keeps nobody from the next Job.
func TestANewJobIsGivenUpAfterASecond(t *testing.T) {
	made := newlyMade()
	s := newStage(t, []runtime.Object{made}, nil)
	api := slowServer{s.kubernetes, make(chan struct{}, 1), make(chan struct{})}
	s.options.Kubernetes = api
	began := time.Now()
	input, err := activities.New(s.options).BeginJob(t.Context(), jobRef, false)
	require.NoError(t, err)
	assert.Empty(t, input.Pods)
	assert.Less(t, time.Since(began), 10*time.Second)
	close(api.may)
}

// Another watch has made the Pods, and may have started no workflow.
func TestAWatchFindsThePodsThatAreMade(t *testing.T) {
	for name, test := range map[string]struct {
		become func(*corev1.Pod)
		want   func(pod *corev1.Pod) job.CreatedPod
	}{
		"one runs": {func(*corev1.Pod) {}, func(pod *corev1.Pod) job.CreatedPod {
			return job.CreatedPod{Name: pod.Name, UID: string(pod.UID)}
		}},
		"one has ended": {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, func(pod *corev1.Pod) job.CreatedPod {
			return job.CreatedPod{Name: pod.Name, UID: string(pod.UID), Ended: &job.PodFact{
				Name: pod.Name, UID: string(pod.UID), Phase: corev1.PodSucceeded, Tracked: true, Attempt: 1,
			}}
		}},
		"one has ended and was released": {func(pod *corev1.Pod) { pod.Status.Phase, pod.Finalizers = corev1.PodSucceeded, nil }, func(pod *corev1.Pod) job.CreatedPod {
			return job.CreatedPod{Name: pod.Name, UID: string(pod.UID), Released: true}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			made := newlyMade()
			s := newStage(t, []runtime.Object{made}, nil)
			_, err := s.activities.BeginJob(t.Context(), jobRef, false)
			require.NoError(t, err)
			pod := s.pods()[0].DeepCopy()
			test.become(pod)
			_, err = s.kubernetes.CoreV1().Pods(namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
			require.NoError(t, err)
			again, err := s.activities.BeginJob(t.Context(), jobRef, false)
			require.NoError(t, err)
			require.Len(t, again.Pods, 1)
			got, want := again.Pods[0], test.want(pod)
			if got.Ended != nil {
				got.Ended.Finished, got.Ended.Version, got.Ended.Started = time.Time{}, 0, time.Time{}
			}
			assert.Equal(t, want, got)
			assert.Equal(t, names.Pod(jobName, jobUID, 1), pod.Name)
		})
	}
}

// A create had no answer: its Pod may be there. The workflow asks for the same Pods once more, by their names.
func TestAWorkflowIsStartedWithoutPodsIfOneIsUnclear(t *testing.T) {
	s := newStage(t, []runtime.Object{newlyMade(parallelJob(3))}, nil)
	s.refuse("create", "pods", 1, apierrors.NewTimeoutError("etcdserver: request timed out", 1))
	input, err := s.activities.BeginJob(t.Context(), jobRef, false)
	require.NoError(t, err)
	assert.Empty(t, input.Pods)
	assert.False(t, input.List)
	assert.True(t, input.Late)
}

// starting is Temporal as the watch of new Jobs sees it.
type starting struct {
	podwatch.Signaller
	answer  error
	options client.StartWorkflowOptions
	input   any
	signals []any
}

func (s *starting) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, arguments ...any) (client.WorkflowRun, error) {
	s.options, s.input = options, arguments[0]
	return nil, s.answer
}

func (s *starting) SignalWithStartWorkflow(
	_ context.Context, _, name string, argument any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	s.signals = append(s.signals, name, argument)
	return nil, nil
}

func (s *starting) SignalWorkflow(_ context.Context, _, _, name string, argument any) error {
	s.signals = append(s.signals, name, argument)
	return nil
}

func TestTheWatchStartsTheWorkflowOfANewJob(t *testing.T) {
	input := protocol.JobInput{Job: jobRef, Pods: []job.CreatedPod{{Name: "hello-1", UID: "pod-1"}}}
	told := []any{protocol.JobSpecSignal, protocol.JobSpec{Input: input}, protocol.PodsSignal, protocol.PodFacts{JobUID: jobUID, Facts: []job.PodFact{{Name: "hello-1", UID: "pod-1", Tracked: true}}}}
	for name, test := range map[string]struct {
		answer  error
		signals []any
		fails   bool
	}{
		"that has none":                     {nil, nil, false},
		"whose workflow runs: it hears":     {serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", "", ""), told, false},
		"again if Temporal does not answer": {serviceerror.NewUnavailable("later"), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, nil)
			temporal := &starting{answer: test.answer}
			s.options.Temporal = temporal
			err := activities.New(s.options).StartJob(t.Context(), input)
			assert.Equal(t, test.fails, err != nil, "%v", err)
			assert.Equal(t, input, temporal.input)
			assert.Equal(t, s.options.Cluster.JobWorkflowID(namespace, jobName), temporal.options.ID)
			assert.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, temporal.options.WorkflowIDConflictPolicy)
			assert.Equal(t, test.signals, temporal.signals)
		})
	}
}

// The Job was there when the watch began.
func TestTheWorkflowOfAJobThatWasListedBeginsWithAList(t *testing.T) {
	s := newStage(t, []runtime.Object{newlyMade(parallelJob(3))}, nil)
	input, err := s.activities.BeginJob(t.Context(), jobRef, true)
	require.NoError(t, err)
	assert.Empty(t, input.Pods)
	assert.True(t, input.List)
	pods, err := s.kubernetes.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, pods.Items)
}
