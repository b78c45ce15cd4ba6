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

// ReleaseOrphans removes the tracking finalizer of every Pod of a Job that is gone
// or being deleted, so that the Pods can go: those that the Job controls, and those
// with its label that garbage collection has cut loose. An attempt after a failure
// finds only what is left.
//
// The Job's selector may not be known any more. So Pods are found by the label with
// the Job's UID that the API server puts into the template, and, since a Job with a
// manual selector has none or another's, by watch bucket.
func (a *Activities) ReleaseOrphans(ctx context.Context, request protocol.ReleaseOrphansRequest) (protocol.ReleaseOrphansResult, error) {
	var count atomic.Int64
	release := func(pod *corev1.Pod) func() error {
		controller := metav1.GetControllerOfNoCopy(pod)
		ours := controller != nil && string(controller.UID) == request.Job.UID ||
			controller == nil && pod.Labels[batchv1.ControllerUidLabel] == request.Job.UID
		if !ours || !k8s.Tracked(pod) {
			return nil
		}
		return func() error {
			released, err := k8s.ReleasePod(ctx, a.Kubernetes, pod.Namespace, pod.Name, pod.UID, k8s.Ended(pod))
			if err != nil {
				return outage(err, "release Pod %s/%s", pod.Namespace, pod.Name)
			}
			if released {
				count.Add(1)
			}
			return nil
		}
	}
	for _, selector := range []labels.Set{
		{batchv1.ControllerUidLabel: request.Job.UID},
		{names.WatchBucketLabel: names.WatchBucket(request.Job.UID)},
	} {
		if err := a.eachPod(ctx, request.Job.Namespace, labels.SelectorFromSet(selector), release); err != nil {
			return protocol.ReleaseOrphansResult{}, err
		}
	}
	return protocol.ReleaseOrphansResult{Released: int(count.Load())}, nil
}
