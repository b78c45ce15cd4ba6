package tenant

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/harness"
)

// fatPod is a Pod that nothing schedules, with the label by which PodWatch selects, labels
// of 50 kB and an annotation of 250 kB.
func fatPod(name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{names.WatchBucketLabel: "0"},
			Annotations: map[string]string{names.EvidenceAnnotation: strings.Repeat("x", 250_000)},
		},
		Spec: harness.JobSpec().Template.Spec,
	}
	pod.Spec.SchedulerName = "nobody"
	for i := range 500 {
		pod.Labels[fmt.Sprintf("label-%044d", i)] = strings.Repeat("v", 50)
	}
	return pod
}

func TestPodsWithMegabytesOfLabelsTakeNoMemory(t *testing.T) {
	namespace := stack.Namespace(t)
	memory := measure(t)
	pods := stack.Kubernetes.CoreV1().Pods(namespace)
	var group errgroup.Group
	group.SetLimit(creators)
	for i := range 400 {
		group.Go(func() error {
			_, err := pods.Create(t.Context(), fatPod(fmt.Sprintf("fat-%d", i)), metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	// The watch tells of them in their order: a Job whose end is known came after them.
	stack.CreateJob(t, namespace, "after", harness.JobSpec(harness.RunSeconds(1)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, "after", batchv1.JobComplete)
	})
	isBounded(t, memory, mostGrowth)
}
