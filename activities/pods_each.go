package activities

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

const (
	// podPage is how many Pods are listed by one request, and podPages how many such
	// pages are read ahead: a Job may have 100,000 Pods.
	podPage  = 500
	podPages = 1
	// podBatch is how many Pods are kept for requests that are made side by side.
	podBatch = 100
)

// eachPod calls look with every Pod of a namespace, or of all, that matches the selector. A Pod
// for which look returns a function is written to: these functions are called some
// at a time, until one fails.
//
// The list is of one moment. It is read in pages that are dropped when they are done.
func (a *Activities) eachPod(ctx context.Context, namespace string, selector labels.Selector, look func(*corev1.Pod) (write func() error)) error {
	pods := a.Kubernetes.CoreV1().Pods(namespace)
	pages := &pager.ListPager{
		PageSize:       podPage,
		PageBufferSize: podPages,
		PageFn: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := pods.List(ctx, options)
			if err != nil {
				return nil, outage(err, "list Pods %s of namespace %q", selector, namespace)
			}
			return list, nil
		},
	}
	var batch []func() error
	flush := func() error {
		writes := batch
		batch = nil
		return each(writes, func(write func() error) error { return write() })
	}
	err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(object runtime.Object) error {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil
		}
		if write := look(pod); write != nil {
			batch = append(batch, write)
		}
		if len(batch) < podBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
