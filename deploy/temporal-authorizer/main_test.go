package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/internal/temporalserver/access"
)

// A stranger has forty tokens asked about at once, and twenty a second from then on (package access).
func TestAStrangersTokensKeepNobodyWaiting(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":false}}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(file, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","namespace":"temporal"}}]}`, server.URL), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	cluster, namespace, err := apiServer()
	if err != nil {
		t.Fatal(err)
	}
	if namespace != "temporal" {
		t.Errorf("the namespace is %q", namespace)
	}
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	reviews := access.NewReviews(client)
	var strangers sync.WaitGroup
	for n := range 40 {
		strangers.Go(func() { _, _, _ = reviews.Identify(t.Context(), "10.0.0.66", fmt.Sprint("stranger ", n)) })
	}
	time.Sleep(100 * time.Millisecond)
	begun := time.Now()
	_, _, err = reviews.Identify(t.Context(), "10.0.0.1", "ada's")
	if took := time.Since(begun); err != nil || took > time.Second {
		t.Errorf("another caller waits %s: %v", took.Round(time.Second/10), err)
	}
	strangers.Wait()
}
