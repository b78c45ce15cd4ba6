package failure

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
)

// crowd follows the Pods of the one Indexed Job of a namespace, in the order in which they changed.
type crowd struct {
	mutex sync.Mutex
	// active holds the Pods of an index that have neither ended nor are being deleted.
	active map[string][]types.UID
	// seen, ended and free hold all Pods, those that ended, and those of them that are released.
	seen, ended, free map[types.UID]bool
	// crowded says when an index had more than one active Pod.
	crowded []string
}

// watchCrowd follows the Pods of a namespace until the test ends.
func watchCrowd(t *testing.T, namespace string) *crowd {
	t.Helper()
	c := &crowd{active: map[string][]types.UID{}, seen: map[types.UID]bool{}, ended: map[types.UID]bool{}, free: map[types.UID]bool{}}
	stack.FollowPods(t, namespace, c.observe)
	return c
}

func (c *crowd) observe(pod *corev1.Pod, gone bool) {
	index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	ended := gone || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.seen[pod.UID] = true
	if ended {
		c.ended[pod.UID] = true
	}
	if gone || ended && !harness.Tracked(pod) {
		c.free[pod.UID] = true
	}
	others := slices.DeleteFunc(c.active[index], func(uid types.UID) bool { return uid == pod.UID })
	if !ended && pod.DeletionTimestamp == nil {
		if len(others) > 0 && len(others) == len(c.active[index]) {
			c.crowded = append(c.crowded, fmt.Sprintf("index %s: %s beside %v", index, pod.UID, others))
		}
		others = append(others, pod.UID)
	}
	c.active[index] = others
}

func (c *crowd) count(pods map[types.UID]bool) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(pods)
}

func (c *crowd) created() int { return c.count(c.seen) }

func (c *crowd) released() int { return c.count(c.free) }

func (c *crowd) String() string {
	return fmt.Sprintf("%d Pods created, %d ended, %d released", c.created(), c.count(c.ended), c.released())
}

// neverTwoOfAnIndex fails the test when an index had two active Pods at a time.
func (c *crowd) neverTwoOfAnIndex(t *testing.T) {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, what := range c.crowded {
		t.Errorf("two active Pods of one index: %s", what)
	}
}

// exactly is how an Indexed Job has to end.
type exactly struct {
	succeeded, failed int32
	// pods is how many Pods an index may ever have had.
	pods func(index int) int
}

// finishesExactly asserts that a Job becomes Complete with exact counters and exactly the Pods it needs, all of them
// there and released.
func finishesExactly(t *testing.T, record *harness.Record, namespace, job string, want exactly) {
	t.Helper()
	harness.Eventually(t, bulkRecovery, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, job, batchv1.JobComplete) })
	harness.Eventually(t, bulkRecovery, func(ctx context.Context) error { return ended(ctx, harness.JobWorkflow(namespace, job)) })
	pods, err := stack.PodsOf(t.Context(), namespace, job)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		if harness.Tracked(&pods[i]) {
			t.Errorf("pod %s still carries the tracking finalizer", pods[i].Name)
		}
	}
	byIndex := map[string]int{}
	for _, pod := range record.Pods(job) {
		byIndex[pod.Annotations[batchv1.JobCompletionIndexAnnotation]]++
	}
	total := 0
	for index := range int(want.succeeded) {
		total += want.pods(index)
		if got := byIndex[fmt.Sprint(index)]; got != want.pods(index) {
			t.Errorf("index %d had %d Pods, want %d", index, got, want.pods(index))
		}
	}
	if seen := len(record.Pods(job)); seen != total || len(pods) != total {
		t.Errorf("%d Pods were created and %d are there, want %d", seen, len(pods), total)
	}
	finished, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), job, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := finished.Status
	indexes := fmt.Sprintf("0-%d", want.succeeded-1)
	switch {
	case status.Succeeded != want.succeeded, status.Failed != want.failed, status.Active != 0, status.CompletedIndexes != indexes:
	case status.FailedIndexes != nil && *status.FailedIndexes != "":
	case status.Ready == nil || *status.Ready != 0 || status.Terminating == nil || *status.Terminating != 0:
	case uncounted(status) > 0:
	default:
		return
	}
	t.Errorf("want %d succeeded, %d failed, indexes %s and nothing else, got %+v", want.succeeded, want.failed, indexes, status)
}

func uncounted(status batchv1.JobStatus) int {
	if status.UncountedTerminatedPods == nil {
		return 0
	}
	return len(status.UncountedTerminatedPods.Succeeded) + len(status.UncountedTerminatedPods.Failed)
}
