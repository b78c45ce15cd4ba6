package k8s

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/names"
)

// ReleasePod removes the tracking finalizer of the Pod with this UID and leaves
// other finalizers, whoever adds or removes them at the same time. A Pod that has
// ended loses the watch bucket label in the same write, so that PodWatch loses sight
// of it. A Pod that is gone, replaced by another of its name, or without the
// finalizer is a success; released is true when this call removed it or found it
// removed.
//
// An empty UID releases whatever has the name. The API server answers a UID that
// does not match with 409 or 422 depending on where it notices; both are looked into
// by a read.
func ReleasePod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID, ended bool) (released bool, err error) {
	metadata := map[string]any{untrack: []string{names.TrackingFinalizer}}
	if ended {
		metadata["labels"] = map[string]any{names.WatchBucketLabel: nil}
	}
	_, err = patchPod(ctx, client, namespace, name, uid, metadata)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case !apierrors.IsConflict(err) && !apierrors.IsInvalid(err):
		return false, err
	}
	refused := err
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case uid != "" && pod.UID != uid, !Tracked(pod):
		return false, nil
	}
	return false, refused
}

// untrack is the directive that takes values out of metadata.finalizers, whatever
// else is in it.
const untrack = "$deleteFromPrimitiveList/finalizers"

// patchPod changes the metadata of the Pod with this UID by a strategic merge patch.
func patchPod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID, metadata map[string]any) (*corev1.Pod, error) {
	if uid != "" {
		metadata["uid"] = uid
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode patch of Pod %s/%s: %w", namespace, name, err)
	}
	return client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: JobFieldManager})
}

// DeletePod deletes the Pod with this UID, with its own grace period; an empty
// UID deletes whatever has the name. A Pod that is gone or replaced by another
// of its name is a success; deleted is true when this call deleted it.
func DeletePod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (deleted bool, err error) {
	options := metav1.DeleteOptions{}
	if uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err = client.CoreV1().Pods(namespace).Delete(ctx, name, options)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), uid != "" && apierrors.IsConflict(err):
		return false, nil
	}
	return false, err
}

// DeleteJob deletes the Job with this UID and, in the background, its Pods. A
// Job that is gone or replaced by another of its name is a success; deleted is
// true when this call deleted it.
func DeleteJob(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (deleted bool, err error) {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		PropagationPolicy: &background,
		Preconditions:     metav1.NewUIDPreconditions(string(uid)),
	}
	err = client.BatchV1().Jobs(namespace).Delete(ctx, name, options)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil
	}
	return false, err
}
