package parity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/harness"
)

// patience covers two back-offs of the built-in controller and its batching.
const patience = 60 * time.Second

// subject is a Job under one of the two controllers, with its Pods as they are now.
type subject struct {
	namespace string
	job       *batchv1.Job
	pods      []corev1.Pod
}

// released returns nil when none of the Job's Pods carries the tracking finalizer,
// and those that were deleted are gone.
func (s subject) released() error {
	for i := range s.pods {
		if s.pods[i].DeletionTimestamp != nil {
			return fmt.Errorf("pod %s is on its way out", s.pods[i].Name)
		}
		if harness.Tracked(&s.pods[i]) {
			return fmt.Errorf("pod %s is not released", s.pods[i].Name)
		}
	}
	return nil
}

func observe(ctx context.Context, namespace, name string) (subject, error) {
	job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return subject{}, err
	}
	pods, err := stack.PodsOf(ctx, namespace, name)
	if err != nil {
		return subject{}, err
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return subject{namespace: namespace, job: job, pods: pods}, nil
}

// play creates the Job for one controller (managedBy) and takes it through its
// steps. It returns the shape of the Job at each step.
func play(t *testing.T, test testCase, namespace string, managedBy *string) []shape {
	t.Helper()
	spec := *test.spec.DeepCopy()
	spec.ManagedBy = managedBy
	_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: test.name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var shapes []shape
	for _, step := range test.steps {
		var now subject
		harness.Eventually(t, patience, func(ctx context.Context) (err error) {
			now, err = observe(ctx, namespace, test.name)
			if err != nil {
				return err
			}
			if err := step.when(now); err != nil {
				return fmt.Errorf("%s, step %q: %w", test.name, step.name, err)
			}
			return nil
		})
		shapes = append(shapes, shapeOf(step.name, now))
		if step.do != nil {
			if err := step.do(t.Context(), now); err != nil {
				t.Fatalf("step %q: %v", step.name, err)
			}
		}
	}
	return shapes
}

// controllers are those that are compared, by their managedBy.
var controllers = []struct {
	name      string
	managedBy *string
}{
	{"builtin", nil},
	{"ostinato", ostinatoManager()},
}

func ostinatoManager() *string {
	manager := names.JobController
	return &manager
}

// side is one controller's namespace and what it left there.
type side struct {
	namespace string
	record    *harness.Record
	shapes    []shape
}

// The same Job goes the same way and ends in the same way under both controllers.
func TestJobsGoAsUnderTheBuiltInController(t *testing.T) {
	var grounds []side
	for range controllers {
		namespace := stack.Namespace(t)
		grounds = append(grounds, side{namespace: namespace, record: stack.Record(t, namespace)})
	}
	for _, test := range testCases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sides := slices.Clone(grounds)
			t.Run("under", func(t *testing.T) {
				for n, controller := range controllers {
					t.Run(controller.name, func(t *testing.T) {
						t.Parallel()
						sides[n].shapes = play(t, test, sides[n].namespace, controller.managedBy)
					})
				}
			})
			if !t.Failed() {
				compare(t, test, sides[0], sides[1])
			}
		})
	}
}
