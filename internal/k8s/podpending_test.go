package k8s_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

func waiting(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func (p podBuilder) on(node string) podBuilder {
	p.Spec.NodeName = node
	return p
}

func (p podBuilder) container(status corev1.ContainerStatus) podBuilder {
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
	return p
}

func (p podBuilder) initContainer(status corev1.ContainerStatus) podBuilder {
	p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
	return p
}

func (p podBuilder) condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) podBuilder {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message})
	return p
}

// TestSinceWhenAContainerWaits: what has to come before it does not count.
func TestSinceWhenAContainerWaits(t *testing.T) {
	waits := waiting("a", "ErrImagePull", "")
	ran := terminated("prepare", 0, 90)
	ran.State.Terminated.StartedAt = at(1)
	running := corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(95)}}}
	for name, test := range map[string]struct {
		pod  podBuilder
		want metav1.Time
	}{
		"the first":               {pod(corev1.PodPending), at(0)},
		"after an init container": {pod(corev1.PodPending).initContainer(ran), at(90)},
		"behind a sidecar":        {pod(corev1.PodPending).initContainer(ran).sidecar(running.Name, running), at(95)},
		"beside another":          {pod(corev1.PodPending).initContainer(ran).container(running), at(90)},
	} {
		t.Run(name, func(t *testing.T) {
			test.pod.CreationTimestamp = at(0)
			wait, ok := k8s.WaitOf(test.pod.on("node").container(waits).Pod)
			if !ok || !wait.Since.Equal(test.want.Time) || !wait.Failed {
				t.Errorf("%+v, %v; want since %v", wait, ok, test.want)
			}
			if fact := k8s.PodFact(test.pod.Pod); !fact.PendingSince.Equal(test.want.Time) != (test.want == at(0)) {
				t.Errorf("the fact says since %v", fact.PendingSince)
			}
		})
	}
}

func TestWhyAPodHasNotStarted(t *testing.T) {
	running := corev1.ContainerStatus{Name: "prepare", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}}
	done := terminated("prepare", 0, 2)
	done.State.Terminated.StartedAt = at(1)
	failed := terminated("prepare", 1, 2)
	failed.State.Terminated.StartedAt = at(1)
	crashed := waiting("a", "CrashLoopBackOff", "")
	crashed.LastTerminationState = done.State
	unstartable := waiting("a", "RunContainerError", "exec: not found")
	unstartable.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 128, Reason: "StartError", StartedAt: metav1.Unix(0, 0), FinishedAt: at(2),
	}}
	creating := waiting("a", "ContainerCreating", "")
	pending := func() podBuilder { return pod(corev1.PodPending) }
	tests := map[string]struct {
		pod     podBuilder
		reason  job.PendingReason
		message string
	}{
		"image can't be pulled": {
			pending().on("node").container(creating).container(waiting("b", "ImagePullBackOff", "Back-off pulling image")),
			job.PendingImagePull, "ImagePullBackOff: Back-off pulling image",
		},
		"image of an init container": {
			pending().on("node").container(waiting("a", "PodInitializing", "")).initContainer(waiting("prepare", "ErrImagePull", "not found")),
			job.PendingImagePull, "ErrImagePull: not found",
		},
		"image name":              {pending().on("node").container(waiting("a", "InvalidImageName", "")), job.PendingImagePull, "InvalidImageName"},
		"Secret missing":          {pending().on("node").container(waiting("a", "CreateContainerConfigError", `secret "x" not found`)), job.PendingConfigError, `CreateContainerConfigError: secret "x" not found`},
		"command missing":         {pending().on("node").container(unstartable), job.PendingConfigError, "RunContainerError: exec: not found"},
		"no node fits":            {pending().condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available"), job.PendingUnschedulable, "Unschedulable: 0/3 nodes are available"},
		"the scheduler is silent": {pending(), job.PendingUnschedulable, "no node has been assigned yet"},
		"the node is silent":      {pending().on("node").condition(corev1.PodScheduled, corev1.ConditionTrue, "", ""), job.PendingLost, "node node has not reported anything about the Pod"},
		"volumes are missing": {
			pending().on("node").container(creating).condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, "", ""),
			job.PendingConfigError, "ContainerCreating",
		},
		"the image is being pulled": {
			pending().on("node").container(creating).condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", ""),
			job.PendingImagePull, "ContainerCreating",
		},
		"an init container runs": {pending().on("node").container(waiting("a", "PodInitializing", "")).initContainer(running), "", ""},
		"an init container has ended": {
			pending().on("node").container(waiting("a", "ErrImagePull", "")).initContainer(done), job.PendingImagePull, "ErrImagePull",
		},
		"an init container has ended, and the next one waits": {
			pending().on("node").container(waiting("a", "PodInitializing", "")).initContainer(done).initContainer(waiting("b", "ErrImagePull", "")),
			job.PendingImagePull, "ErrImagePull",
		},
		"an init container has failed":          {pending().on("node").container(waiting("a", "PodInitializing", "")).initContainer(failed), "", ""},
		"an init container failed and restarts": {pending().on("node").container(waiting("a", "PodInitializing", "")).initContainer(crashed), "", ""},
		"a sidecar runs": {
			pending().on("node").sidecar(running.Name, running).container(waiting("a", "ErrImagePull", "")), job.PendingImagePull, "ErrImagePull",
		},
		"a sidecar waits": {
			pending().on("node").sidecar("prepare", waiting("prepare", "ErrImagePull", "")).container(waiting("a", "PodInitializing", "")),
			job.PendingImagePull, "ErrImagePull",
		},
		"another container runs": {
			pending().on("node").container(running).container(waiting("b", "CreateContainerConfigError", "")),
			job.PendingConfigError, "CreateContainerConfigError",
		},
		"a container ran and restarts": {pending().on("node").container(crashed), "", ""},
		"it runs":                      {pod(corev1.PodRunning).on("node").container(waiting("a", "ErrImagePull", "")), "", ""},
		"long words": {
			pending().on("node").container(waiting("a", "ErrImagePull", strings.Repeat("é", 200))),
			job.PendingImagePull, "ErrImagePull: " + strings.Repeat("é", 119) + "...",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if fact := k8s.PodFact(test.pod.Pod); fact.Pending != test.reason || fact.PendingMessage != test.message {
				t.Errorf("%q, %q; want %q, %q", fact.Pending, fact.PendingMessage, test.reason, test.message)
			}
		})
	}
}
