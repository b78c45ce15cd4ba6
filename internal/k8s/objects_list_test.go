package k8s_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/k8s"
)

// TestAListOutlastsItsSnapshot: etcd forgets one after five minutes, and a list of very many Pods takes longer.
func TestAListOutlastsItsSnapshot(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		page := &corev1.PodList{}
		switch action.(clienttesting.ListActionImpl).ListOptions.Continue {
		case "":
			page.Items, page.Continue = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, "second, of the snapshot"
		case "second, of the snapshot":
			expired := apierrors.NewResourceExpired("the provided continue parameter is too old")
			expired.ErrStatus.Continue = "second, as it is now"
			return true, nil, expired
		case "second, as it is now":
			page.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
		default:
			return true, nil, fmt.Errorf("list %+v", action)
		}
		return true, page, nil
	})
	var seen []string
	err := k8s.EachPod(t.Context(), client, "default", labels.Everything(), 1, func(pod *corev1.Pod) error {
		seen = append(seen, pod.Name)
		return nil
	})
	if err != nil || !slices.Equal(seen, []string{"a", "b"}) {
		t.Errorf("seen %q, error %v", seen, err)
	}
}
