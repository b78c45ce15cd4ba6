package telemetry_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	certutil "k8s.io/client-go/util/cert"

	"ostinato.dev/ostinato/internal/telemetry"
)

// authority is an API server that knows the tokens "reader", "reader-renewed" and "nobody-special",
// and lets the reader get /metrics.
type authority struct {
	client *fake.Clientset
	// asked counts TokenReviews.
	asked atomic.Int32
	// down makes it fail.
	down atomic.Bool
}

func newAuthority() *authority {
	a := &authority{client: fake.NewClientset()}
	a.client.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.asked.Add(1)
		if a.down.Load() {
			return true, nil, errors.New("connection refused")
		}
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		switch token := review.Spec.Token; token {
		case "reader", "reader-renewed", "nobody-special":
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{
				Username: strings.TrimSuffix(token, "-renewed"), Groups: []string{"system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"a"}},
			}
		}
		return true, review, nil
	})
	a.client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		spec := review.Spec
		review.Status.Allowed = spec.User == "reader" && spec.NonResourceAttributes.Path == "/metrics" && spec.NonResourceAttributes.Verb == "get" &&
			fmt.Sprint(spec.Groups, spec.Extra) == "[system:authenticated] map[pod:[a]]"
		return true, review, nil
	})
	return a
}

// protected serves metrics by TLS to those whom the authority lets read them.
func (a *authority) protected(t *testing.T, log io.Writer) (read func(authorization, path string) int) {
	t.Helper()
	secure, err := telemetry.ServerTLS("", "")
	require.NoError(t, err)
	server := serve(t, telemetry.ServerOptions{
		MetricsAddress: "127.0.0.1:0", MetricsTLS: secure, Profiling: true,
		MetricsAccess: telemetry.NewAccess(a.client, slog.New(slog.NewTextHandler(log, nil))),
	})
	client := insecure(t)
	return func(authorization, path string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+server.MetricsAddress+path, nil)
		require.NoError(t, err)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, response.StatusCode == http.StatusOK, bytes.Contains(body, []byte("go_goroutines")))
		return response.StatusCode
	}
}

// insecure returns a client that takes any certificate.
func insecure(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestWhoMayReadMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		authorization, path string
		want                int
	}{
		"one with the right":       {"Bearer reader", "/metrics", http.StatusOK},
		"the scheme in lower case": {"bearer reader", "/metrics", http.StatusOK},
		"one without the right":    {"Bearer nobody-special", "/metrics", http.StatusForbidden},
		"a token that is nobody's": {"Bearer made-up", "/metrics", http.StatusUnauthorized},
		"nobody":                   {"", "/metrics", http.StatusUnauthorized},
		"an empty token":           {"Bearer ", "/metrics", http.StatusUnauthorized},
		"another scheme":           {"Basic reader", "/metrics", http.StatusUnauthorized},
		"a right to another path":  {"Bearer reader", "/debug/pprof/heap", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, newAuthority().protected(t, io.Discard)(test.authorization, test.path))
		})
	}
}

func TestTheAPIServerIsAskedOnce(t *testing.T) {
	authority := newAuthority()
	read := authority.protected(t, io.Discard)
	for range 5 {
		assert.Equal(t, http.StatusOK, read("Bearer reader", "/metrics"))
		assert.Equal(t, http.StatusUnauthorized, read("Bearer made-up", "/metrics"))
	}
	assert.Equal(t, int32(2), authority.asked.Load())
}

func TestWithoutTheAPIServerNobodyNewReads(t *testing.T) {
	authority := newAuthority()
	var log bytes.Buffer
	read := authority.protected(t, &log)
	authority.down.Store(true)
	assert.Equal(t, http.StatusServiceUnavailable, read("Bearer reader", "/metrics"))
	assert.Contains(t, log.String(), "connection refused")
	assert.NotContains(t, log.String(), "reader", "the token is not logged")
	authority.down.Store(false)
	assert.Equal(t, http.StatusOK, read("Bearer reader", "/metrics"), "an outage is not remembered")
	authority.down.Store(true)
	assert.Equal(t, http.StatusOK, read("Bearer reader", "/metrics"), "an answer is, for a while")
}

func TestStrangersCanNotFloodTheAPIServer(t *testing.T) {
	authority := newAuthority()
	read := authority.protected(t, io.Discard)
	assert.Equal(t, http.StatusOK, read("Bearer reader", "/metrics"))
	refused := 0
	for i := range 200 {
		if read(fmt.Sprintf("Bearer made-up-%d", i), "/metrics") == http.StatusTooManyRequests {
			refused++
		}
	}
	assert.Positive(t, refused)
	assert.Equal(t, int32(201-refused), authority.asked.Load())
	assert.Equal(t, http.StatusOK, read("Bearer reader", "/metrics"), "whoever is known reads on")
}

// TestACallerWithRandomTokensUsesUpNobodyElses: each address has a bucket of its own.
func TestACallerWithRandomTokensUsesUpNobodyElses(t *testing.T) {
	authority := newAuthority()
	handler := telemetry.NewAccess(authority.client, slog.New(slog.DiscardHandler)).Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	read := func(address, token string) int {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.RemoteAddr = address + ":1234"
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	for i := range 1000 {
		read("10.0.0.1", fmt.Sprintf("made-up-%d", i))
	}
	assert.Equal(t, http.StatusTooManyRequests, read("10.0.0.1", "one-more"))
	assert.Equal(t, http.StatusOK, read("10.0.0.2", "reader"))
}

// TestManyCallersWithRandomTokensUseUpNothingOfWhoReads: a reader's token is renewed while twenty addresses use up what may be
// asked in sum.
func TestManyCallersWithRandomTokensUseUpNothingOfWhoReads(t *testing.T) {
	authority := newAuthority()
	handler := telemetry.NewAccess(authority.client, slog.New(slog.DiscardHandler)).Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	read := func(address, token string) int {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.RemoteAddr = address + ":1234"
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	require.Equal(t, http.StatusOK, read("10.0.1.1", "reader"))
	flood := func(from, to int) {
		for address := from; address < to; address++ {
			for i := range 10 {
				read(fmt.Sprintf("10.0.0.%d", address), fmt.Sprintf("made-up-%d-%d", address, i))
			}
		}
	}
	flood(0, 20)
	assert.Equal(t, http.StatusTooManyRequests, read("10.0.2.1", "one-more"))
	assert.Equal(t, http.StatusOK, read("10.0.1.1", "reader-renewed"))
	// Who reads has no more questions than others.
	for i := range 1000 {
		read("10.0.1.1", fmt.Sprintf("made-up-%d", i))
	}
	assert.Equal(t, http.StatusTooManyRequests, read("10.0.1.1", "one-more"))
}

// TestWhoMayReadReadsOnInAnOutage: an answer that has run out holds while no other is to be had.
func TestWhoMayReadReadsOnInAnOutage(t *testing.T) {
	authority := newAuthority()
	access := telemetry.NewAccess(authority.client, slog.New(slog.DiscardHandler))
	handler := access.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	read := func(token string) int {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		return answer.Code
	}
	require.Equal(t, http.StatusOK, read("reader"))
	require.Equal(t, http.StatusForbidden, read("nobody-special"))
	telemetry.Expire(access)
	authority.down.Store(true)
	assert.Equal(t, http.StatusOK, read("reader"))
	assert.Equal(t, http.StatusServiceUnavailable, read("nobody-special"))
}

func TestTheCertificateMayBeRenewed(t *testing.T) {
	folder := t.TempDir()
	certificateFile, keyFile := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	renew := func(host string) {
		certificate, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(certificateFile, certificate, 0o600))
		require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	}
	renew("first.example")
	secure, err := telemetry.ServerTLS(certificateFile, keyFile)
	require.NoError(t, err)
	server := serve(t, telemetry.ServerOptions{MetricsAddress: "127.0.0.1:0", MetricsTLS: secure})
	names := func() []string {
		connection, err := tls.Dial("tcp", server.MetricsAddress, &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0].DNSNames
	}
	assert.Equal(t, []string{"first.example"}, names())
	renew("second.example")
	assert.Equal(t, []string{"second.example"}, names())
}

func TestACertificateThatCanNotBeReadIsAnError(t *testing.T) {
	_, err := telemetry.ServerTLS("absent.crt", "absent.key")
	assert.ErrorContains(t, err, "load the certificate absent.crt and its key absent.key")
}
