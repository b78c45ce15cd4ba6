package activities

import (
	"context"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// ReleasePods removes the tracking finalizer of every Pod of a Job that is gone
// or being deleted, so that the Pods can go. An attempt after a failure finds
// only what is left.
func (a *Activities) ReleasePods(ctx context.Context, request protocol.ReleasePodsRequest) (protocol.ReleasePodsResult, error) {
	pods, err := a.podsOf(ctx, request.Job)
	if err != nil {
		return protocol.ReleasePodsResult{}, err
	}
	var count atomic.Int64
	err = each(pods, func(pod *corev1.Pod) error {
		if !k8s.Tracked(pod) {
			return nil
		}
		released, err := k8s.ReleasePod(ctx, a.Kubernetes, pod.Namespace, pod.Name, pod.UID)
		if err != nil {
			return outage(err, "release Pod %s/%s", pod.Namespace, pod.Name)
		}
		if released {
			count.Add(1)
		}
		return nil
	})
	return protocol.ReleasePodsResult{Released: int(count.Load())}, err
}

// podsOf lists the Pods that a Job controls, and those with its label that
// garbage collection has cut loose.
//
// Pods are found by the label with the Job's UID that the API server puts into
// the template. A Job with a manual selector may have none or another's, so that
// its Pods are sought by watch bucket and controller when nothing was found.
func (a *Activities) podsOf(ctx context.Context, owner protocol.ObjectReference) ([]*corev1.Pod, error) {
	pods, err := a.listPods(ctx, owner, batchv1.ControllerUidLabel, owner.UID, func(pod *corev1.Pod) bool {
		controller := metav1.GetControllerOfNoCopy(pod)
		return controller == nil || string(controller.UID) == owner.UID
	})
	if err != nil || len(pods) > 0 {
		return pods, err
	}
	return a.listPods(ctx, owner, names.WatchBucketLabel, names.WatchBucket(owner.UID), func(pod *corev1.Pod) bool {
		controller := metav1.GetControllerOfNoCopy(pod)
		return controller != nil && string(controller.UID) == owner.UID
	})
}

func (a *Activities) listPods(ctx context.Context, owner protocol.ObjectReference, label, value string, belongs func(*corev1.Pod) bool) ([]*corev1.Pod, error) {
	list, err := a.Kubernetes.CoreV1().Pods(owner.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{label: value}).String(),
	})
	if err != nil {
		return nil, outage(err, "list Pods of Job %s/%s", owner.Namespace, owner.Name)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if belongs(&list.Items[i]) {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}
