package parity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	// patience bounds one step of a case: two back-offs, and the built-in controller's batching, with more than a hundred
	// cases at a time.
	patience = 3*harness.PodBackoff + 2*harness.Slack
	// beforeABackoff is sooner than anything that a back-off holds up.
	beforeABackoff = harness.PodBackoff - time.Second
)

// subject is a Job under one of the two controllers, with its Pods as they are now.
type subject struct {
	*ground
	name string
	// job is nil when it is gone.
	job *batchv1.Job
	// pods are those with the Job's name as label, oldest first.
	pods []*corev1.Pod
	// acted is when something was last done to the Job; at first when it was created.
	acted time.Time
}

func (g *ground) subject(name string, job *batchv1.Job, pods []*corev1.Pod) subject {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return subject{ground: g, name: name, job: job, pods: pods}
}

// unfinished returns the Pods that have not ended.
func (s subject) unfinished() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.pods {
		if !ended(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// String describes the subject in the message of a state that is not reached.
func (s subject) String() string {
	words := []string{"the Job is gone"}
	if s.job != nil {
		status, err := json.Marshal(s.job.Status)
		if err != nil {
			return err.Error()
		}
		words = []string{"status " + string(status)}
	}
	for _, pod := range s.pods {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		words = append(words, fmt.Sprintf("pod %s %s, ready %t, deleting %t, finalizers %v",
			pod.Name, pod.Status.Phase, ready, pod.DeletionTimestamp != nil, pod.Finalizers))
	}
	return strings.Join(words, "\n")
}

// play creates the Job for one controller and takes it through its steps. It
// returns the shape of the Job at each step.
func play(t *testing.T, test testCase, on *ground) []shape {
	t.Helper()
	if test.prepare != nil {
		test.prepare(t, on, test.name)
	}
	job := test.job(on)
	acted := time.Now()
	if _, err := stack.Kubernetes.BatchV1().Jobs(on.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var shapes []shape
	for _, step := range test.steps {
		now := await(t, on, test.name, acted, step)
		shapes = append(shapes, shapeOf(step.name, now))
		if step.do == nil {
			continue
		}
		acted = time.Now()
		if err := step.do(t.Context(), now); err != nil {
			t.Fatalf("step %q: %v", step.name, err)
		}
	}
	return shapes
}

// await waits until the step's state is reached. It looks through a watch, and
// at the API server only when the watch says so, for the watch may be late.
func await(t *testing.T, on *ground, name string, acted time.Time, step step) subject {
	t.Helper()
	var now subject
	var since time.Time
	harness.Eventually(t, patience, func(ctx context.Context) error {
		look := func(s subject, err error) error {
			if err != nil {
				return err
			}
			s.acted = acted
			if err := step.reached(s); err != nil {
				since = time.Time{}
				return fmt.Errorf("%s, step %q: %w\n%s", name, step.name, err, s)
			}
			now = s
			return nil
		}
		if err := look(on.glance(name), nil); err != nil {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if stays := time.Since(since); stays < step.lasts {
			return fmt.Errorf("%s, step %q: only for %s", name, step.name, stays.Round(time.Second))
		}
		return look(on.observe(ctx, name))
	})
	return now
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// The same Job goes the same way and ends in the same way under both controllers.
func TestJobsGoAsUnderTheBuiltInController(t *testing.T) {
	shared := grounds(t)
	for _, test := range testCases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			on := shared
			if test.alone {
				on = grounds(t)
			}
			shapes := make([][]shape, len(on))
			t.Run("under", func(t *testing.T) {
				for n := range on {
					t.Run(controllers[n].name, func(t *testing.T) {
						t.Parallel()
						shapes[n] = play(t, test, on[n])
					})
				}
			})
			if !t.Failed() && !*builtinOnly {
				compare(t, test, side{on[0], shapes[0]}, side{on[1], shapes[1]})
			}
		})
	}
}
