package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/names"
)

// CarryOut writes to a Pod what package claim says about it. An adopted Pod gets the Job's owner reference, the
// tracking finalizer and the watch bucket label. A disowned one loses reference and finalizer; if it can still run it
// keeps the label, so that PodWatch sees when its labels match again. A released one is left to ReleasePod.
//
// It returns the Pod as stored; nil if it is gone or someone else was faster, which the API server answers with 404, 409 or
// 422, and for verdicts after which it does not matter. Other errors are the API server's.
func CarryOut(ctx context.Context, client kubernetes.Interface, verdict claim.Verdict, owner claim.Owner, pod *corev1.Pod) (*corev1.Pod, error) {
	bucket := map[string]string{names.WatchBucketLabel: names.WatchBucket(string(owner.UID))}
	var metadata map[string]any
	switch verdict {
	case claim.Keep:
		return pod, nil
	case claim.Label:
		metadata = map[string]any{"labels": bucket}
	case claim.Adopt:
		metadata = map[string]any{
			"ownerReferences": []metav1.OwnerReference{*metav1.NewControllerRef(owner.Job, jobKind)},
			"finalizers":      []string{names.TrackingFinalizer},
			"labels":          bucket,
		}
	case claim.Disown:
		metadata = released(claim.Ended(pod))
		metadata["ownerReferences"] = []map[string]any{{"$patch": "delete", "uid": owner.UID}}
	case claim.Release:
		_, err := ReleasePod(ctx, client, pod.Namespace, pod.Name, pod.UID, claim.Ended(pod))
		return nil, err
	default:
		return nil, nil
	}
	stored, err := patchMetadata(ctx, client, pod.Namespace, pod.Name, pod.UID, metadata)
	if apierrors.IsNotFound(err) || refused(err) {
		return nil, nil
	}
	return stored, err
}

// refused reports whether the object is another one than the request asks for: the API server answers 409 or 422,
// depending on where it notices.
func refused(err error) bool { return apierrors.IsConflict(err) || apierrors.IsInvalid(err) }

// ReleasePod removes the tracking finalizer of the Pod with this UID and leaves other finalizers, even if they are
// added or removed at the same time. With ended it removes the watch bucket label in the same write, so that PodWatch
// loses sight of the Pod. A Pod that is gone, replaced by another of its name, or without the finalizer is a success;
// released is true when this call removed it or found it removed.
func ReleasePod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID, ended bool) (bool, error) {
	_, err := patchMetadata(ctx, client, namespace, name, uid, released(ended))
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case !refused(err):
		return err == nil, err
	}
	pod, readErr := GetPodLive(ctx, client, namespace, name, uid)
	switch {
	case readErr == nil && claim.Tracked(pod):
		return false, err
	case errors.Is(readErr, ErrGone):
		return false, nil
	}
	return false, readErr
}

// released is a strategic merge patch of metadata that takes off the tracking finalizer, whatever other finalizers there
// are, and of a Pod that has ended the watch bucket label.
func released(ended bool) map[string]any {
	metadata := map[string]any{"$deleteFromPrimitiveList/finalizers": []string{names.TrackingFinalizer}}
	if ended {
		metadata["labels"] = map[string]any{names.WatchBucketLabel: nil}
	}
	return metadata
}

// patchMetadata changes the metadata of the Pod with this UID by a strategic merge patch.
func patchMetadata(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID, metadata map[string]any) (*corev1.Pod, error) {
	metadata["uid"] = uid
	return patchPod(ctx, client, namespace, name, types.StrategicMergePatchType, map[string]any{"metadata": metadata})
}

func patchPod(ctx context.Context, client kubernetes.Interface, namespace, name string, kind types.PatchType, patch any) (*corev1.Pod, error) {
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch of Pod %s/%s: %w", namespace, name, err)
	}
	return client.CoreV1().Pods(namespace).Patch(ctx, name, kind, encoded, metav1.PatchOptions{FieldManager: JobFieldManager})
}

// ReleaseTrackedPod removes the tracking finalizer, and of a Pod that has ended the watch bucket label, in one request that
// also tests what the release rests on: a Pod as Ostinato makes it, controlled by the Job, in the terminal phase, if there is
// one given. It returns the Pod as it is after that, nil when a test failed; nothing was changed then, and a look at the Pod
// tells why. Errors are the API server's; NotFound is one of them.
func ReleaseTrackedPod(
	ctx context.Context, client kubernetes.Interface, owner *batchv1.Job, name string, uid types.UID, phase corev1.PodPhase,
) (after *corev1.Pod, err error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	patch := []operation{
		{"test", "/metadata/uid", uid},
		{"test", "/metadata/ownerReferences/0/uid", owner.UID},
		{"test", "/metadata/ownerReferences/0/controller", true},
		{"test", "/metadata/finalizers/0", names.TrackingFinalizer},
		{"remove", "/metadata/finalizers/0", nil},
	}
	if phase != "" {
		patch = append(patch,
			operation{"test", "/status/phase", phase},
			operation{"remove", "/metadata/labels/" + strings.ReplaceAll(names.WatchBucketLabel, "/", "~1"), nil})
	}
	after, err = patchPod(ctx, client, owner.Namespace, name, types.JSONPatchType, patch)
	if refused(err) {
		return nil, nil
	}
	return after, err
}

// Removed reports whether the API server, which answers a write with the Pod, has removed it by that: nothing held it any
// more but a finalizer that the write took away.
func Removed(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// ReleaseReadPod removes the tracking finalizer of the Pod as it was read, whatever other finalizers there are, and of one
// that has ended the watch bucket label. removed notes on the Pod that it is removed uncounted (names.RemovedAnnotation).
// It returns the Pod as it is after that. Errors are the API server's: Conflict when the Pod has changed since it was read,
// NotFound when it is gone.
func ReleaseReadPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, removed bool) (after *corev1.Pod, err error) {
	metadata := released(claim.Ended(pod))
	metadata["resourceVersion"] = pod.ResourceVersion
	if removed {
		metadata["annotations"] = map[string]string{names.RemovedAnnotation: "true"}
	}
	return patchMetadata(ctx, client, pod.Namespace, pod.Name, pod.UID, metadata)
}
