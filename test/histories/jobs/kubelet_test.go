package jobs

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/test/histories/play"
)

// startsAfter is how long a Pod takes to start, offset keeps what happens on nodes apart from what Ostinato and others do at the same
// time.
const (
	startsAfter = time.Second
	offset      = 370 * time.Millisecond
)

// kubelet has Pods go their courses.
type kubelet struct {
	cluster *cluster
	agenda  *play.Agenda
	// course is that of a Pod by its attempt.
	course func(attempt int64) course
	// begun and terminating are the Pods that were seen, and seen to be deleted.
	begun, terminating map[types.UID]bool
}

// see takes that a Pod has changed.
func (k *kubelet) see(pod *corev1.Pod) {
	name, uid, goes := pod.Name, pod.UID, k.course(k8s.PodFact(pod).Attempt)
	if !k.begun[uid] {
		k.begun[uid] = true
		starts := time.Now().Add(startsAfter + offset)
		k.agenda.Plan(starts, func() { k.do(name, uid, k.start) })
		k.agenda.Plan(starts.Add(goes.Takes), func() {
			k.do(name, uid, func(pod *corev1.Pod) {
				if pod.Status.Phase == corev1.PodRunning {
					k.end(pod, goes.Exit)
				}
			})
		})
	}
	if pod.DeletionTimestamp != nil && !k.terminating[uid] {
		k.terminating[uid] = true
		k.agenda.Plan(time.Now().Add(goes.Grace+offset), func() {
			k.do(name, uid, func(pod *corev1.Pod) { k.end(pod, terminated) })
		})
	}
}

// terminated is the exit code of a Pod that is deleted.
const terminated = 143

// do does something with a Pod that has not ended.
func (k *kubelet) do(name string, uid types.UID, what func(*corev1.Pod)) {
	k.cluster.do(func() {
		if pod := k.cluster.pod(name); pod != nil && pod.UID == uid && !claim.Ended(pod) {
			what(pod)
		}
	})
}

func (k *kubelet) start(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now()}}}}
	k.cluster.store(pod)
}

// end has a Pod end with an exit code.
func (k *kubelet) end(pod *corev1.Pod, exit int32) {
	pod.Status.Phase = corev1.PodFailed
	if exit == 0 {
		pod.Status.Phase = corev1.PodSucceeded
	}
	disrupted := false
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
		}
		disrupted = disrupted || pod.Status.Conditions[i].Type == corev1.DisruptionTarget
	}
	ended := &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: now()}
	for _, status := range pod.Status.ContainerStatuses {
		ended.StartedAt = status.State.Running.StartedAt
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: ended}}}
	k.cluster.record.ended(pod, exit, disrupted)
	k.cluster.store(pod)
}

// evict has a Pod end as it does when its node is drained: it gets the condition, and is deleted.
func (k *kubelet) evict(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", LastTransitionTime: metav1.Now(),
	})
	k.remove(pod)
}

// remove deletes a Pod as somebody else does.
func (k *kubelet) remove(pod *corev1.Pod) {
	k.cluster.record.deleted(pod, false)
	k.cluster.terminate(pod)
}
