package k8s_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// TestTheLargestFactIsValid: a workflow takes what is said of a Pod with as many containers and conditions, and as long texts,
// as the API server takes.
func TestTheLargestFactIsValid(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("n", 253), UID: "0b7a4b8e-5f0f-4f6c-9a44-0a1d2c3b4e5f"},
		Spec:       corev1.PodSpec{NodeName: strings.Repeat("n", 253)},
		Status:     corev1.PodStatus{Phase: corev1.PodFailed},
	}
	for n := range 300 {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name:  fmt.Sprintf("%063d", n),
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: long, Message: long}},
		})
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(fmt.Sprintf("%0253d/%063d", n, n)), Status: corev1.ConditionUnknown,
		})
	}
	fact := k8s.PodFact(pod)
	if err := job.ValidateFacts([]job.PodFact{fact}); err != nil {
		t.Errorf("%v: %d exits and %d conditions", err, len(fact.Exits), len(fact.Conditions))
	}
	if len(fact.Exits) != 100 || len(fact.Conditions) < 20 {
		t.Errorf("%d exits and %d conditions", len(fact.Exits), len(fact.Conditions))
	}
}
