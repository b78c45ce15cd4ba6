package k8s_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/internal/k8s"
)

// TestClientsSpeakProtobufForKubernetesOwnTypesOnly: custom resources have no
// protobuf form.
func TestClientsSpeakProtobufForKubernetesOwnTypesOnly(t *testing.T) {
	accepted := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		accepted[request.URL.Path] = request.Header.Get("Accept")
		writer.Header().Set("Content-Type", "application/json")
		object := map[string]any{"metadata": map[string]any{"name": "hello"}}
		if strings.Contains(request.URL.Path, "cronjobs") {
			object["apiVersion"], object["kind"] = "batch.ostinato.dev/v1", "CronJob"
		} else {
			object["apiVersion"], object["kind"] = "batch/v1", "Job"
		}
		if err := json.NewEncoder(writer).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	clients, err := k8s.NewClients(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if cronJob, err := clients.CronJobs.CronJobs("default").Get(t.Context(), "hello", metav1.GetOptions{}); err != nil || cronJob.Name != "hello" {
		t.Errorf("CronJob %v, error %v", cronJob, err)
	}
	if job, err := clients.Kubernetes.BatchV1().Jobs("default").Get(t.Context(), "hello", metav1.GetOptions{}); err != nil || job.Name != "hello" {
		t.Errorf("Job %v, error %v", job, err)
	}
	if accept := accepted["/apis/batch/v1/namespaces/default/jobs/hello"]; !strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf") {
		t.Errorf("Jobs are read as %q", accept)
	}
	if accept := accepted["/apis/batch.ostinato.dev/v1/namespaces/default/cronjobs/hello"]; strings.Contains(accept, "protobuf") {
		t.Errorf("CronJobs are read as %q", accept)
	}
}
