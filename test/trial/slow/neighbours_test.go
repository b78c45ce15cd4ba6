//go:build trial

package slow

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	// neighbours are the Jobs that are measured, one after the other, and firstPod is what each may take to its first Pod.
	neighbours = 5
	firstPod   = 2 * time.Second
	// heldUp are the Jobs of the other namespace.
	heldUp = 200
)

// measure makes Jobs in a namespace of their own and says how long each has waited for its first Pod.
func measure(t *testing.T, meanwhile string) {
	t.Helper()
	namespace := stack.Namespace(t)
	created := make(chan time.Time, neighbours)
	stack.FollowPods(t, namespace, func(pod *corev1.Pod, _ bool) {
		if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName == "" {
			created <- time.Now()
		}
	})
	var waits []time.Duration
	for n := range neighbours {
		began := time.Now()
		stack.CreateJob(t, namespace, fmt.Sprintf("neighbour-%d", n), harness.JobSpec())
		select {
		case at := <-created:
			waits = append(waits, at.Sub(began).Round(time.Millisecond))
		case <-time.After(harness.Bulk):
			t.Fatalf("%s: no Pod within %s", meanwhile, harness.Bulk)
		}
		time.Sleep(time.Second)
	}
	t.Logf("%s: create to first Pod %v", meanwhile, waits)
	if longest := slices.Max(waits); longest > firstPod {
		t.Errorf("%s: %s, want %s at most", meanwhile, longest, firstPod)
	}
}

// A Pod webhook that hangs for the Jobs of one namespace.
func TestAWebhookThatHangs(t *testing.T) {
	measure(t, "nothing else")
	namespace := stack.Namespace(t)
	over := make(chan struct{})
	hangs := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(func() { close(over); hangs.Close() })
	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "hangs-"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "hangs.example.com", SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: ptr.To(admissionv1.Fail), TimeoutSeconds: ptr.To(int32(10)),
			ClientConfig: admissionv1.WebhookClientConfig{
				URL: ptr.To(hangs.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hangs.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	webhooks := stack.Kubernetes.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configured, err := webhooks.Create(t.Context(), configuration, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := webhooks.Delete(context.Background(), configured.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(2 * time.Second) // The API server hears of it.
	for n := range heldUp {
		stack.CreateJob(t, namespace, fmt.Sprintf("held-%d", n), harness.JobSpec())
	}
	measure(t, fmt.Sprintf("a Pod webhook hangs for %d Jobs", heldUp))
}

// A node whose kubelet does not answer, with 1,500 failed Pods: the end of their logs is asked for.
func TestANodeThatDoesNotAnswer(t *testing.T) {
	namespace := stack.Namespace(t)
	away := silentNode(t)
	const each = 8
	onNode := func(spec *batchv1.JobSpec) { spec.Template.Spec.NodeName = away }
	for n := range heldUp {
		stack.CreateJob(t, namespace, fmt.Sprintf("away-%d", n), harness.JobSpec(harness.Parallelism(each), harness.Completions(each), harness.BackoffLimit(100), onNode))
	}
	harness.Eventually(t, 2*harness.Bulk, func(ctx context.Context) error {
		pods, err := stack.Pods(ctx, namespace)
		if err == nil && len(pods) < heldUp*each {
			err = fmt.Errorf("%d Pods", len(pods))
		}
		return err
	})
	pods, err := stack.Pods(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		pods[i].Status.Phase = corev1.PodFailed
		pods[i].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}
		if _, err := stack.Kubernetes.CoreV1().Pods(namespace).UpdateStatus(t.Context(), &pods[i], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	measure(t, fmt.Sprintf("%d Pods of a node that does not answer have failed", len(pods)))
}

// silentNode makes a node whose kubelet takes connections and says nothing.
func silentNode(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	nodes := stack.Kubernetes.CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "away-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), node.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// The node controllers label and taint a new node meanwhile.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		fresh, err := nodes.Get(t.Context(), node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		fresh.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		fresh.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
		_, err = nodes.UpdateStatus(t.Context(), fresh, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return node.Name
}
