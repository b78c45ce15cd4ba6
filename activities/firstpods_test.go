package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// The attempt that makes a Job makes its first Pods too, as the Job's workflow will plan them.
func TestAStartMakesTheFirstPods(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*ostinatov1.CronJob)
		pods   int
	}{
		"one":                       {func(*ostinatov1.CronJob) {}, 1},
		"as many as run at once":    {func(c *ostinatov1.CronJob) { parallel(c, 3) }, 3},
		"ten at most":               {func(c *ostinatov1.CronJob) { parallel(c, 40) }, 10},
		"none of a suspended Job":   {func(c *ostinatov1.CronJob) { c.Spec.JobTemplate.Spec.Suspend = ptr.To(true) }, 0},
		"none of one without any":   {func(c *ostinatov1.CronJob) { c.Spec.JobTemplate.Spec.Parallelism = ptr.To[int32](0) }, 0},
		"none of another's manager": {func(c *ostinatov1.CronJob) { c.Spec.JobTemplate.Spec.ManagedBy = ptr.To("example.com/other") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := helloCronJob()
			// The API server gives each Job's Pods labels.
			cronJob.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "hello"}
			test.change(cronJob)
			s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
			if len(result.Started.Pods) != test.pods || len(s.pods()) != test.pods {
				t.Fatalf("started %+v, %d Pods", result.Started, len(s.pods()))
			}
			for _, pod := range s.pods() {
				if !slices.ContainsFunc(result.Started.Pods, func(made job.CreatedPod) bool { return made.Name == pod.Name && made.UID == string(pod.UID) }) {
					t.Errorf("Pod %s is not in %+v", pod.Name, result.Started.Pods)
				}
			}
		})
	}
}

// pods are those that exist.
func (s *stage) pods() []corev1.Pod {
	s.t.Helper()
	list, err := s.kubernetes.CoreV1().Pods(namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

func parallel(cronJob *ostinatov1.CronJob, pods int32) {
	cronJob.Spec.JobTemplate.Spec.Parallelism, cronJob.Spec.JobTemplate.Spec.Completions = &pods, &pods
}

// An admission webhook may take half a minute. The start is over after a second; the create of the Pod goes on, since admission
// counts one that was broken off against quotas.
func TestTheCreateOfAFirstPodOutlastsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(scheduled))
		cronJob := helloCronJob()
		cronJob.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "hello"}
		s := newStage(t, nil, []*ostinatov1.CronJob{cronJob}, func(o *activities.Options) { o.Heartbeats = &cancelling{} })
		api := s.slowDown()
		environment := s.environment()
		environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by), &reporting{timeout: 4 * time.Second}}})
		result, err := runIn[protocol.StartRunResult](s, environment, protocol.StartRunActivity, startRequest())
		if err != nil || result.Started == nil || len(result.Started.Pods) != 0 || !result.Started.Late {
			t.Fatalf("result %+v, error %v", result, err)
		}
		time.Sleep(30 * time.Second)
		close(api.may)
		synctest.Wait()
		if made := len(s.pods()); made != 1 {
			t.Errorf("%d Pods", made)
		}
	})
}

// givesUp is a Temporal that gives an attempt up at some time.
type givesUp struct{ over atomic.Bool }

func (g *givesUp) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	if g.over.Load() {
		return errors.New("workflow execution already completed")
	}
	return nil
}

// The worker stands still when it has made the Job: another attempt has made the Pods meanwhile, which may have ended and be gone.
func TestAStartThatTemporalHasGivenUpMakesNoFirstPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(scheduled))
		cronJob := helloCronJob()
		cronJob.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "hello"}
		temporal := &givesUp{}
		s := newStage(t, nil, []*ostinatov1.CronJob{cronJob}, func(o *activities.Options) { o.Heartbeats = temporal })
		s.kubernetes.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			temporal.over.Store(true)
			time.Sleep(3500 * time.Millisecond)
			return false, nil, nil
		})
		environment := s.environment()
		environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by), &reporting{timeout: 4 * time.Second}}})
		_, _ = runIn[protocol.StartRunResult](s, environment, protocol.StartRunActivity, startRequest())
		if made := len(s.pods()); made != 0 {
			t.Errorf("%d Pods", made)
		}
	})
}

// What the API server refuses of them is the Job workflow's to say: the run has started.
func TestAStartWhosePodsAreRefusedHasStarted(t *testing.T) {
	cronJob := helloCronJob()
	cronJob.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "hello"}
	s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
	s.refuse("create", "pods", 1, apierrors.NewForbidden(corev1.Resource("pods"), "", nil))
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	if result.Started == nil || len(result.Started.Pods) != 0 || result.Started.Late || result.Refused != nil {
		t.Errorf("result %+v", result)
	}
	if events := strings.Join(s.recorded(), "\n"); strings.Contains(events, "FailedCreate") {
		t.Errorf("events %s", events)
	}
}

// An attempt that finds the Job made by one before makes the first Pods that this one left out, as long as no workflow of
// the Job may have counted them.
func TestAStartThatFindsItsJobMakesThePodsThatAreLeft(t *testing.T) {
	for name, test := range map[string]struct {
		begun bool
		pods  int
	}{
		"its workflow has not begun": {false, 1},
		"its workflow has begun":     {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := helloCronJob()
			cronJob.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "hello"}
			s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
			s.refuse("create", "pods", 1, apierrors.NewForbidden(corev1.Resource("pods"), "", nil))
			// The attempt was lost before it wrote the status.
			request := startRequest()
			request.Status = nil
			first := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if test.begun {
				stored, err := s.kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), start().Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				stored.Status.StartTime = ptr.To(metav1.Now())
				if _, err := s.kubernetes.BatchV1().Jobs(namespace).UpdateStatus(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			second := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if len(first.Started.Pods) != 0 || len(second.Started.Pods) != test.pods || len(s.pods()) != test.pods {
				t.Fatalf("first %+v, second %+v, %d Pods", first.Started, second.Started, len(s.pods()))
			}
			// One more finds them made.
			third := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			if len(third.Started.Pods) != test.pods || len(s.pods()) != test.pods {
				t.Errorf("third %+v, %d Pods", third.Started, len(s.pods()))
			}
		})
	}
}
