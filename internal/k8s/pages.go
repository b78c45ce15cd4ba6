package k8s

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
)

// listPage is how many objects are listed by one request: there may be 100,000, and each
// may have more than a megabyte. Two pages are in memory at a time.
const listPage = 100

// EachPod calls see with every Pod of a namespace, or of all, that matches the
// selector, until see returns an error. The list is of one moment. It is read in pages
// that are dropped when they are done.
func EachPod(ctx context.Context, client kubernetes.Interface, namespace string, selector labels.Selector, see func(*corev1.Pod) error) error {
	pods := client.CoreV1().Pods(namespace)
	return eachItem(ctx, selector, see, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := pods.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list Pods %s of namespace %q: %w", selector, namespace, err)
		}
		return list, nil
	})
}

// EachJob is EachPod for all Jobs of a namespace, or of all.
func EachJob(ctx context.Context, client kubernetes.Interface, namespace string, see func(*batchv1.Job) error) error {
	jobs := client.BatchV1().Jobs(namespace)
	return eachItem(ctx, labels.Everything(), see, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := jobs.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list Jobs of namespace %q: %w", namespace, err)
		}
		return list, nil
	})
}

func eachItem[Item any](ctx context.Context, selector labels.Selector, see func(Item) error, page pager.ListPageFunc) error {
	pages := &pager.ListPager{PageSize: listPage, PageFn: page}
	return pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(object runtime.Object) error {
		if item, ok := object.(Item); ok {
			return see(item)
		}
		return nil
	})
}
