package k8s

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/names"
)

// ReleasePod removes the tracking finalizer of the Pod with this UID and leaves
// other finalizers, whoever adds or removes them at the same time. A Pod that is
// gone, replaced by another of its name, or without the finalizer is a success;
// released is true when this call removed it or found it removed.
//
// An empty UID releases whatever has the name. The API server answers a UID that does not match with 409 or 422 depending on
// where it notices; both are looked into by a read.
func ReleasePod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (released bool, err error) {
	pods := client.CoreV1().Pods(namespace)
	patch := releasePatch(uid)
	_, err = pods.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: JobFieldManager})
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case !apierrors.IsConflict(err) && !apierrors.IsInvalid(err):
		return false, err
	}
	refused := err
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
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

// releasePatch removes the finalizer from the list that is there, whatever else
// is in it, and fails where the UID is another.
func releasePatch(uid types.UID) []byte {
	if uid == "" {
		return fmt.Appendf(nil, `{"metadata":{"$deleteFromPrimitiveList/finalizers":[%q]}}`, names.TrackingFinalizer)
	}
	return fmt.Appendf(nil, `{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":[%q]}}`, uid, names.TrackingFinalizer)
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
