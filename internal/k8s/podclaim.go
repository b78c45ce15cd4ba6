package k8s

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/names"
)

// AdoptPod makes the Job the controller of a Pod that has none: it adds the owner
// reference, the tracking finalizer and the watch bucket label. It returns the Pod
// as stored; nil when the Pod is gone or someone else was faster.
func AdoptPod(ctx context.Context, client kubernetes.Interface, job *batchv1.Job, pod *corev1.Pod) (*corev1.Pod, error) {
	adopted, err := patchPod(ctx, client, pod.Namespace, pod.Name, pod.UID, map[string]any{
		"ownerReferences": []metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)},
		"finalizers":      []string{names.TrackingFinalizer},
		"labels":          bucketLabel(job.UID),
	})
	return settled(adopted, err)
}

// DisownPod ends the Job's control of a Pod: it removes the owner reference and the
// tracking finalizer. A Pod that can still run keeps the watch bucket label, so that
// PodWatch sees when its labels match again. A Pod that is gone is a success.
func DisownPod(ctx context.Context, client kubernetes.Interface, jobUID types.UID, pod *corev1.Pod) error {
	metadata := map[string]any{
		"ownerReferences": []map[string]any{{"$patch": "delete", "uid": jobUID}},
		untrack:           []string{names.TrackingFinalizer},
	}
	if Ended(pod) {
		metadata["labels"] = map[string]any{names.WatchBucketLabel: nil}
	}
	_, err := patchPod(ctx, client, pod.Namespace, pod.Name, pod.UID, metadata)
	_, err = settled(nil, err)
	return err
}

// LabelPod adds the watch bucket label to a Pod of the Job, so that PodWatch sees
// it; it returns false when the Pod is gone.
func LabelPod(ctx context.Context, client kubernetes.Interface, jobUID types.UID, pod *corev1.Pod) (bool, error) {
	labelled, err := patchPod(ctx, client, pod.Namespace, pod.Name, pod.UID, map[string]any{"labels": bucketLabel(jobUID)})
	labelled, err = settled(labelled, err)
	return labelled != nil, err
}

func bucketLabel(jobUID types.UID) map[string]string {
	return map[string]string{names.WatchBucketLabel: names.WatchBucket(string(jobUID))}
}

// settled treats the Pod's being gone, replaced or controlled by another, which
// the API server says with 404, 409 or 422, as nothing left to do.
func settled(pod *corev1.Pod, err error) (*corev1.Pod, error) {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil, nil
	}
	return pod, err
}
