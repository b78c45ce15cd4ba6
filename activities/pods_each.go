package activities

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"ostinato.dev/ostinato/internal/k8s"
)

const (
	// podPage is how many Pods are listed by one request: a Job may have 100,000.
	podPage = 500
	// podBatch is how many Pods are kept for requests that are made side by side.
	podBatch = 100
)

// eachPod calls look with every Pod of a namespace, or of all, that matches the selector. A Pod for which look returns
// a function is written to: these functions are called some at a time, until one fails.
func (a *Activities) eachPod(ctx context.Context, namespace string, selector labels.Selector, look func(*corev1.Pod) (write func() error)) error {
	var batch []func() error
	var failed error
	flush := func() error {
		_, failed = gather(batch, func(write func() error) (struct{}, error) { return struct{}{}, write() })
		batch = nil
		return failed
	}
	err := k8s.EachPod(ctx, a.Kubernetes, namespace, selector, podPage, func(pod *corev1.Pod) error {
		if write := look(pod); write != nil {
			batch = append(batch, write)
		}
		if len(batch) < podBatch {
			return nil
		}
		return flush()
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return outage(err, "look at Pods")
	}
	return flush()
}
