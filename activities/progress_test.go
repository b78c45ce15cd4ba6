package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// A conflict says that the Pod is another one now, or it is an admission webhook's: the Pod tells.
func TestADeleteInConflictIsRead(t *testing.T) {
	conflict := apierrors.NewConflict(pods, "a", errors.New("denied by the webhook"))
	for name, test := range map[string]struct {
		// now is the Pod as it is after the conflict; nil if it is gone.
		now      *corev1.Pod
		vanished bool
	}{
		"it is gone":               {nil, true},
		"another one has its name": {helloPod("a", corev1.PodRunning).Identified("new-uid").Pod, true},
		"it runs on":               {helloPod("a", corev1.PodRunning).Pod, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.kubernetes.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				resource := corev1.SchemeGroupVersion.WithResource("pods")
				err := s.kubernetes.Tracker().Delete(resource, namespace, "a")
				if err == nil && test.now != nil {
					err = s.kubernetes.Tracker().Add(test.now)
				}
				if err != nil {
					t.Error(err)
				}
				return true, nil, conflict
			})
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Deletes: []job.Delete{{Name: "a", UID: "a-uid"}}})
			if gone := slices.Equal(result.Vanished, []string{"a-uid"}); gone != test.vanished {
				t.Errorf("vanished %v", result.Vanished)
			}
			failed := len(result.Failures) == 1 && strings.Contains(result.Failures[0].Message, "denied by the webhook")
			if failed == test.vanished {
				t.Errorf("failures %+v", result.Failures)
			}
			if said := slices.ContainsFunc(s.recorded(), func(event string) bool { return strings.HasPrefix(event, "Warning FailedDelete ") }); said == test.vanished {
				t.Errorf("an Event says that the delete failed: %v", said)
			}
		})
	}
}
