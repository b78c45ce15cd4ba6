package namespaced

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// Metrics of both are read by TLS, by whom the ClusterRole of the component is bound to.
func TestWhoReadsMetrics(t *testing.T) {
	namespace := stack.Namespace(t)
	token := func(account string) string {
		t.Helper()
		answer, err := stack.Kubernetes.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Token
	}
	reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}}
	if _, err := stack.Kubernetes.CoreV1().ServiceAccounts(namespace).Create(t.Context(), reader, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-reads-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ostinato-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: reader.Name}},
	}
	bindings := stack.Kubernetes.RbacV1().ClusterRoleBindings()
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.Background(), binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	prometheus, other := token(reader.Name), token("default")
	for _, member := range slices.Concat(stack.Workers(), stack.Bridges()) {
		url := strings.Replace(stack.Stack.MetricsAddress(member.Name()), "http://", "https://", 1)
		// The API server's authorizer hears of the binding by a watch.
		harness.Eventually(t, patience, func(ctx context.Context) error {
			if status, body := read(t, ctx, "", url, prometheus); status != http.StatusOK || !strings.Contains(body, "go_goroutines") {
				return fmt.Errorf("%s answers %d to whom may read metrics: %.200s", member.Name(), status, body)
			}
			return nil
		})
		for name, test := range map[string]struct {
			token string
			want  int
		}{
			"a service account without the right": {other, http.StatusForbidden},
			"a token that is nobody's":            {"made-up", http.StatusUnauthorized},
			"nobody":                              {"", http.StatusUnauthorized},
		} {
			if status, body := read(t, t.Context(), "", url, test.token); status != test.want {
				t.Errorf("%s answers %d to %s, want %d: %.200s", member.Name(), status, name, test.want, body)
			}
		}
		// The API server is asked for a neighbour's many tokens at another address, and for one more of Prometheus' account.
		refused := 0
		for n := range 300 {
			if status, _ := read(t, t.Context(), "127.0.0.2", url, fmt.Sprintf("made-up-%d", n)); status == http.StatusTooManyRequests {
				refused++
			}
		}
		if status, body := read(t, t.Context(), "", url, token(reader.Name)); refused == 0 || status != http.StatusOK {
			t.Errorf("%s refuses %d of a neighbour's requests, and answers %d to whom may read metrics: %.200s", member.Name(), refused, status, body)
		}
		deployment.NothingForbidden(t, member.LogFile())
	}
}

// read gets metrics with a token, from an address of this host. The certificate is self-signed.
func read(t *testing.T, ctx context.Context, from, url, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	dialer := &net.Dialer{}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
