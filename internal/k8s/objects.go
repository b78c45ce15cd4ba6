package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"
)

// ErrGone says that the object does not exist any more, or that another object has its name now.
var ErrGone = errors.New("object is gone")

// withUID returns what was read, or ErrGone where nothing has the name, or an object with another UID.
func withUID[Object metav1.Object](object Object, err error, uid types.UID) (Object, error) {
	var none Object
	switch {
	case apierrors.IsNotFound(err), err == nil && object.GetUID() != uid:
		return none, ErrGone
	case err != nil:
		return none, err
	}
	return object, nil
}

// GetJob reads a Job; the error is ErrGone when it does not exist or has another UID.
func GetJob(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (*batchv1.Job, error) {
	job, err := client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	return withUID(job, err, uid)
}

// GetPod reads a Pod from the API server's watch cache, which costs it a third of a read from etcd and may be a moment old;
// what the cache does not have, or has under another UID, is read live. The error is ErrGone when the Pod does not exist or
// has another UID.
func GetPod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (*corev1.Pod, error) {
	cached, err := client.CoreV1().Pods(namespace).Get(ctx, name, FromCache)
	if pod, err := withUID(cached, err, uid); !errors.Is(err, ErrGone) {
		return pod, err
	}
	return GetPodLive(ctx, client, namespace, name, uid)
}

// GetPodLive is GetPod without the watch cache.
func GetPodLive(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (*corev1.Pod, error) {
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	return withUID(pod, err, uid)
}

// DeletePod deletes the Pod with this UID, with its own grace period. A Pod that is gone or replaced by another of its name
// is a success; deleted is true when this call deleted it. A conflict may be an admission webhook's, so a read of the Pod tells.
func DeletePod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (deleted bool, err error) {
	err = client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
	if !apierrors.IsConflict(err) {
		return isDeleted(err)
	}
	_, readErr := GetPodLive(ctx, client, namespace, name, uid)
	if errors.Is(readErr, ErrGone) {
		return false, nil
	}
	return false, cmp.Or(readErr, err)
}

// DeleteJob deletes the Job with this UID, and its Pods in the background. A Job that is gone or replaced is a success. With a
// resource version DeleteJob leaves a Job that was written since it had that one; empty means any.
func DeleteJob(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID, version string) (deleted bool, err error) {
	guards := metav1.NewUIDPreconditions(string(uid))
	if version != "" {
		guards.ResourceVersion = &version
	}
	return isDeleted(client.BatchV1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: guards, PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	}))
}

func isDeleted(err error) (bool, error) {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// ListPage is how many objects are listed by one request: there may be 100,000, and each
// may have more than a megabyte. Two pages are in memory at a time.
const ListPage = 100

// EachPod calls see with every Pod of a namespace, or of all, that matches the selector, until see returns an error.
// The list is read in pages of size Pods, and a page is dropped when it is done. It is a snapshot, unless etcd forgets that after
// some minutes: then the rest is listed as it is now, and a Pod that is there all the time is seen once.
func EachPod(ctx context.Context, client kubernetes.Interface, namespace string, selector labels.Selector, size int64, see func(*corev1.Pod) error) error {
	what := fmt.Sprintf("Pods %s of namespace %q", selector, namespace)
	return eachItem(ctx, what, selector, size, see, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Pods(namespace).List(ctx, options)
	})
}

// EachJob is EachPod for all Jobs of a namespace, or of all.
func EachJob(ctx context.Context, client kubernetes.Interface, namespace string, see func(*batchv1.Job) error) error {
	what := fmt.Sprintf("Jobs of namespace %q", namespace)
	return eachItem(ctx, what, labels.Everything(), ListPage, see, func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.BatchV1().Jobs(namespace).List(ctx, options)
	})
}

func eachItem[Item any](ctx context.Context, what string, selector labels.Selector, size int64, see func(Item) error, page pager.ListPageFunc) error {
	pages := &pager.ListPager{PageSize: size, PageFn: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := page(ctx, options)
		var status apierrors.APIStatus
		if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			options.Continue = status.Status().Continue
			list, err = page(ctx, options)
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", what, err)
		}
		return list, nil
	}}
	return pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(object runtime.Object) error {
		if item, ok := object.(Item); ok {
			return see(item)
		}
		return nil
	})
}
