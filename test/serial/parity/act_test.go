package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
)

func patchJob(patch string) act {
	return func(ctx context.Context, s subject) error {
		_, err := stack.Kubernetes.BatchV1().Jobs(s.namespace).Patch(ctx, s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

func suspend(suspend bool) act { return patchJob(fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend)) }

func parallelism(n int) act { return patchJob(fmt.Sprintf(`{"spec":{"parallelism":%d}}`, n)) }

// elastic edits both completions and parallelism.
func elastic(n int) act {
	return patchJob(fmt.Sprintf(`{"spec":{"completions":%d,"parallelism":%d}}`, n, n))
}

// patchStatus edits the Job's status, as another controller or a person may.
func patchStatus(patch string) act {
	return func(ctx context.Context, s subject) error {
		_, err := stack.Kubernetes.BatchV1().Jobs(s.namespace).Patch(ctx, s.name, types.StrategicMergePatchType,
			[]byte(`{"status":`+patch+`}`), metav1.PatchOptions{}, "status")
		return err
	}
}

// deleteJob deletes the Job.
func deleteJob(policy metav1.DeletionPropagation) act {
	return func(ctx context.Context, s subject) error {
		return stack.Kubernetes.BatchV1().Jobs(s.namespace).Delete(ctx, s.name, metav1.DeleteOptions{PropagationPolicy: &policy})
	}
}

// recreate deletes the Job with its Pods and creates it anew the moment it is gone.
func recreate(ctx context.Context, s subject) error {
	if err := deleteJob(metav1.DeletePropagationBackground)(ctx, s); err != nil {
		return err
	}
	again := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name},
		Spec:       *s.job.Spec.DeepCopy(),
	}
	again.Spec.Selector, again.Spec.Template.Labels = nil, nil
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := stack.Kubernetes.BatchV1().Jobs(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err == nil {
			return false, nil
		}
		if ignoreNotFound(err) != nil {
			return false, err
		}
		_, err = stack.Kubernetes.BatchV1().Jobs(s.namespace).Create(ctx, again, metav1.CreateOptions{})
		return true, err
	})
}

// aSecondLater waits until another second has begun since the last act, for times
// in status and in Pods are whole seconds.
func aSecondLater(ctx context.Context, s subject) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, harness.Slack, true, func(context.Context) (bool, error) {
		return time.Since(s.newest()) > time.Second, nil
	})
}

// newest is the last whole second in which something happened.
func (s subject) newest() time.Time {
	newest := s.acted.Truncate(time.Second)
	if s.job != nil && s.job.Status.StartTime != nil && s.job.Status.StartTime.After(newest) {
		newest = s.job.Status.StartTime.Time
	}
	for _, pod := range s.pods {
		for _, condition := range pod.Status.Conditions {
			if condition.LastTransitionTime.After(newest) {
				newest = condition.LastTransitionTime.Time
			}
		}
	}
	return newest
}

// selection picks from a Job's Pods.
type selection func(subject) []*corev1.Pod

// eachPod picks all that have not ended, onePod the oldest of them.
func eachPod(s subject) []*corev1.Pod { return s.unfinished() }

func onePod(s subject) []*corev1.Pod { return s.unfinished()[:min(1, len(s.unfinished()))] }

// endedPods picks those that have ended.
func endedPods(s subject) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(pod *corev1.Pod) bool { return !ended(pod) })
}

// index picks the Pods of completion indexes that have not ended.
func index(indexes ...int) selection {
	return func(s subject) []*corev1.Pod {
		return slices.DeleteFunc(s.unfinished(), func(pod *corev1.Pod) bool {
			number, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
			return err != nil || !slices.Contains(indexes, number)
		})
	}
}

// to does something to each Pod that is picked, and fails when none is.
func to(pick selection, do func(context.Context, *corev1.Pod) error) act {
	return func(ctx context.Context, s subject) error {
		pods := pick(s)
		if len(pods) == 0 {
			return fmt.Errorf("job %s has no such Pod", s.name)
		}
		for _, pod := range pods {
			if err := do(ctx, pod); err != nil {
				return err
			}
		}
		return nil
	}
}

// deletePods deletes Pods as a person or a node drain does.
func deletePods(pick selection) act { return deletePodsWithin(pick, nil) }

// killPods deletes Pods by force: they are gone at once where no finalizer holds them.
func killPods(pick selection) act {
	return deletePodsWithin(pick, ptr.To(int64(0)))
}

func deletePodsWithin(pick selection, graceSeconds *int64) act {
	return to(pick, func(ctx context.Context, pod *corev1.Pod) error {
		return stack.Kubernetes.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: graceSeconds})
	})
}

// evict asks the Eviction API to remove Pods: they get the condition DisruptionTarget.
func evict(pick selection) act {
	return to(pick, func(ctx context.Context, pod *corev1.Pod) error {
		return stack.Kubernetes.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		})
	})
}

// patchPods edits Pods; patchPodStatus their status.
func patchPods(pick selection, patch string) act {
	return to(pick, func(ctx context.Context, pod *corev1.Pod) error {
		_, err := stack.Kubernetes.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

func patchPodStatus(ctx context.Context, pod *corev1.Pod, status any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = stack.Kubernetes.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// copyPods creates another Pod from each that is picked, as a person with an
// editor might: with its labels, owner and finalizer.
func copyPods(pick selection, change func(*corev1.Pod)) act {
	return to(pick, func(ctx context.Context, pod *corev1.Pod) error {
		again := pod.DeepCopy()
		again.ObjectMeta = metav1.ObjectMeta{
			Namespace: pod.Namespace, GenerateName: pod.GenerateName, Labels: again.Labels, Annotations: again.Annotations,
			OwnerReferences: pod.OwnerReferences, Finalizers: pod.Finalizers,
		}
		again.Spec.NodeName, again.Status = "", corev1.PodStatus{}
		change(again)
		_, err := stack.Kubernetes.CoreV1().Pods(pod.Namespace).Create(ctx, again, metav1.CreateOptions{})
		return err
	})
}

// setIndex makes the copy one of another completion index.
func setIndex(index string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation] = index, index
	}
}

// unchanged leaves the copy as it is.
func unchanged(*corev1.Pod) {}
