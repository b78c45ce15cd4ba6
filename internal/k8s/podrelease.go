package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/names"
)

// TrackedPod is what the release of a Pod rests on.
type TrackedPod struct {
	Namespace, Name string
	UID             types.UID
	// Job is the UID of the Job that controls the Pod.
	Job types.UID
	// Phase is the terminal phase that the Pod has; empty where the release does not
	// rest on one.
	Phase corev1.PodPhase
}

// ReleaseTrackedPod removes the tracking finalizer, and of a Pod that has ended the
// watch bucket label, in one request that also tests what the release rests on: a
// Pod as Ostinato makes it, controlled by the Job, in the phase. It returns the Pod as it
// is after that, nil when a test failed; nothing was changed then, and a look at the Pod
// tells why. Errors are the API server's; NotFound is one of them.
func ReleaseTrackedPod(ctx context.Context, client kubernetes.Interface, pod TrackedPod) (after *corev1.Pod, err error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	patch := []operation{
		{"test", "/metadata/uid", pod.UID},
		{"test", "/metadata/ownerReferences/0/uid", pod.Job},
		{"test", "/metadata/ownerReferences/0/controller", true},
		{"test", "/metadata/finalizers/0", names.TrackingFinalizer},
		{"remove", "/metadata/finalizers/0", nil},
	}
	if pod.Phase != "" {
		patch = append(patch,
			operation{"test", "/status/phase", pod.Phase},
			operation{"remove", "/metadata/labels/" + escapedBucketLabel, nil})
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode release of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	after, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.JSONPatchType, encoded, metav1.PatchOptions{FieldManager: JobFieldManager})
	switch {
	case apierrors.IsConflict(err) || hasCode(err, http.StatusUnprocessableEntity):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return after, nil
}

// Removed reports whether the API server, which answers a write with the Pod, has removed
// it by that: nothing held it any more but a finalizer that the write took away.
func Removed(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// escapedBucketLabel is names.WatchBucketLabel as a JSON pointer spells it.
const escapedBucketLabel = "ostinato.dev~1watch-bucket"

func hasCode(err error, code int32) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == code
}

// ReleaseReadPod removes the tracking finalizer of the Pod as it was read, and of one
// that has ended the watch bucket label. removed notes on the Pod that it is removed
// uncounted (names.RemovedAnnotation). Errors are the API server's: Conflict when the
// Pod has changed since it was read, NotFound when it is gone.
func ReleaseReadPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, removed bool) error {
	metadata := map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"finalizers": slices.DeleteFunc(slices.Clone(pod.Finalizers), func(finalizer string) bool { return finalizer == names.TrackingFinalizer }),
	}
	if Ended(pod) {
		metadata["labels"] = map[string]any{names.WatchBucketLabel: nil}
	}
	if removed {
		metadata["annotations"] = map[string]string{names.RemovedAnnotation: "true"}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode release of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: JobFieldManager})
	return err
}

// Watched reports whether the Pod carries the label by which PodWatch sees it.
func Watched(pod *corev1.Pod) bool {
	_, watched := pod.Labels[names.WatchBucketLabel]
	return watched
}

// GetPod reads a Pod from the API server's watch cache, which costs it a third of a
// read from etcd and may be a moment old; what the cache does not have, or has under
// another UID, is read live. The error is ErrGone when the Pod does not exist or has
// another UID.
func GetPod(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (*corev1.Pod, error) {
	pods := client.CoreV1().Pods(namespace)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
	if err == nil && pod.UID == uid {
		return pod, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return GetPodLive(ctx, client, namespace, name, uid)
}

// GetPodLive is GetPod without the watch cache.
func GetPodLive(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (*corev1.Pod, error) {
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != uid:
		return nil, ErrGone
	case err != nil:
		return nil, err
	}
	return pod, nil
}
