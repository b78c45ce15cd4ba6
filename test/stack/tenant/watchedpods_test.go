package tenant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// watchedPod is a Pod that nothing schedules, with the label by which PodWatch selects.
func watchedPod(name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{names.WatchBucketLabel: "0"}},
		Spec:       harness.JobSpec().Template.Spec,
	}
	pod.Spec.SchedulerName = "nobody"
	return pod
}

// fatPod is a watched Pod with so many labels of 100 bytes and an annotation of 250 kB. With 8,000 labels it is as large as
// etcd takes it: what the API server notes of field managers has their keys once more.
func fatPod(name string, labels int) *corev1.Pod {
	pod := watchedPod(name)
	pod.Annotations = map[string]string{names.EvidenceAnnotation: strings.Repeat("x", 250_000)}
	for i := range labels {
		pod.Labels[fmt.Sprintf("label-%044d", i)] = strings.Repeat("v", 50)
	}
	return pod
}

// createPods creates Pods, creators of them at a time.
func createPods(ctx context.Context, namespace string, count int, pod func(i int) *corev1.Pod) error {
	var group errgroup.Group
	group.SetLimit(creators)
	for i := range count {
		group.Go(func() error {
			_, err := stack.Kubernetes.CoreV1().Pods(namespace).Create(ctx, pod(i), metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

func TestPodsWithMegabytesOfLabelsTakeNoMemory(t *testing.T) {
	namespace := stack.Namespace(t)
	labels := 500
	if harness.Trial() {
		labels = 8000
	}
	below := stack.MeasureMemory(t)
	if err := createPods(t.Context(), namespace, 400, func(i int) *corev1.Pod { return fatPod(fmt.Sprintf("fat-%d", i), labels) }); err != nil {
		t.Fatal(err)
	}
	// The watch delivers them in their order: a Job whose end is known came after them.
	stack.CreateJob(t, namespace, "after", harness.JobSpec(harness.RunSeconds(1)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, "after", batchv1.JobComplete)
	})
	below(maxGrowth)
}

// maxLater is how much later than in a quiet namespace a Job may be Complete beside what others do.
const maxLater = 2 * time.Second

// TestPodsThatNobodyControlsHoldUpNoOtherNamespace: PodWatch reads each of them, and the Job that its labels name.
func TestPodsThatNobodyControlsHoldUpNoOtherNamespace(t *testing.T) {
	tenant, other := stack.Namespace(t), stack.Namespace(t)
	completes := func(name string) time.Duration {
		t.Helper()
		stack.CreateJob(t, other, name, harness.JobSpec(harness.RunUntilEnded()))
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.PodsAre(ctx, other, name, corev1.PodRunning, 1) })
		begun := time.Now()
		stack.End(t, other, name, 1)
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.JobHas(ctx, other, name, batchv1.JobComplete) })
		return time.Since(begun)
	}
	quiet := completes("quiet")
	ended := make(chan error, 1)
	go func() {
		ended <- createPods(t.Context(), tenant, harness.Size(500), func(i int) *corev1.Pod {
			orphan := watchedPod(fmt.Sprintf("orphan-%d", i))
			orphan.Labels[batchv1.JobNameLabel] = "nobody"
			return orphan
		})
	}()
	var beside []time.Duration
	for over := false; !over; {
		beside = append(beside, completes(fmt.Sprintf("beside-%d", len(beside))))
		select {
		case err := <-ended:
			if over = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	slices.Sort(beside)
	median := beside[len(beside)/2]
	t.Logf("Complete %s after the end in a quiet namespace, %s (median of %d) beside Pods of others, %s at most",
		quiet.Round(time.Millisecond), median.Round(time.Millisecond), len(beside), beside[len(beside)-1].Round(time.Millisecond))
	if median > quiet+maxLater {
		t.Errorf("Jobs were Complete %s later than in a quiet namespace, want %s at most", (median - quiet).Round(time.Millisecond), maxLater)
	}
}
