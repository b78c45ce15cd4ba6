package ask

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Whatever the code of a report comes to ask for: no request for a Secret leaves the machine.
func TestNoSecretIsAskedFor(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"JobList","apiVersion":"batch/v1","items":[]}`))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	cluster, err := NewCluster(WithoutSecrets(config), "shop", "")
	require.NoError(t, err)
	secrets := cluster.clients.Kubernetes.CoreV1().Secrets("shop")
	_, err = secrets.List(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, ErrSecret)
	_, err = secrets.Get(t.Context(), "passwords", metav1.GetOptions{})
	assert.ErrorIs(t, err, ErrSecret)
	_, err = cluster.clients.Kubernetes.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, ErrSecret)
	_, err = cluster.Jobs(t.Context(), "shop")
	assert.NoError(t, err)
	assert.Equal(t, []string{"/apis/batch/v1/namespaces/shop/jobs"}, asked)
	assert.Nil(t, config.WrapTransport, "the configuration of other commands is as it was")
}
