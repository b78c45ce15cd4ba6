package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

const (
	namespace = "default"
	jobUID    = "of-the-job"
)

// releases are the forms in which an ended Pod can be released from its finalizer.
func releases(_ context.Context, s *server) ([]form, error) {
	pods := s.Kubernetes.CoreV1().Pods(namespace)
	var ended []*corev1.Pod
	release := func(name string, request func(ctx context.Context, pod *corev1.Pod) error) form {
		return form{
			name: name,
			prepare: func(ctx context.Context, _, count int) error {
				ended = make([]*corev1.Pod, count)
				return each(ctx, count, func(ctx context.Context, number int) (err error) {
					ended[number], err = endedPod(ctx, pods)
					return err
				})
			},
			request: func(ctx context.Context, number int) error { return request(ctx, ended[number]) },
		}
	}
	return []form{
		release("JSON patch with tests", func(ctx context.Context, pod *corev1.Pod) error {
			owner := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: jobUID}}
			after, err := k8s.ReleaseTrackedPod(ctx, s.Kubernetes, owner, pod.Name, pod.UID, corev1.PodSucceeded)
			if err == nil && after == nil {
				return errors.New("a test did not match")
			}
			return err
		}),
		release("merge patch with resourceVersion", func(ctx context.Context, pod *corev1.Pod) error {
			_, err := k8s.ReleaseReadPod(ctx, s.Kubernetes, pod, false)
			return err
		}),
		release("strategic merge patch with UID", func(ctx context.Context, pod *corev1.Pod) error {
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
				"uid": pod.UID, "$deleteFromPrimitiveList/finalizers": []string{names.TrackingFinalizer}, "labels": map[string]any{names.WatchBucketLabel: nil},
			}})
			if err != nil {
				return fmt.Errorf("encode: %w", err)
			}
			_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: k8s.JobFieldManager})
			return err
		}),
		release("update of the whole Pod", func(ctx context.Context, pod *corev1.Pod) error {
			pod.Finalizers = nil
			delete(pod.Labels, names.WatchBucketLabel)
			_, err := pods.Update(ctx, pod, metav1.UpdateOptions{FieldManager: k8s.JobFieldManager})
			return err
		}),
	}, nil
}

// endedPod makes a Pod as a Job has it that has succeeded.
func endedPod(ctx context.Context, pods typedcorev1.PodInterface) (*corev1.Pod, error) {
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "release-", Finalizers: []string{names.TrackingFinalizer},
			Labels:          map[string]string{names.WatchBucketLabel: "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: jobUID, Controller: ptr.To(true)}},
		},
		Spec: podSpec(),
	}, metav1.CreateOptions{FieldManager: k8s.JobFieldManager})
	if err != nil {
		return nil, err
	}
	pod.Status.Phase = corev1.PodSucceeded
	return pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		NodeName: "nowhere", RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "busybox", Command: []string{"true"}, Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}},
	}
}
