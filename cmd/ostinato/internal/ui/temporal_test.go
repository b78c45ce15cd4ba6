package ui_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ui"
)

// upstream is Temporal's page in its Pod, which keeps the last request.
type upstream struct {
	*httptest.Server
	last *http.Request
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		u.last = request.Clone(context.Background())
		http.SetCookie(writer, &http.Cookie{Name: "_csrf", Value: "theirs"})
		_, _ = io.WriteString(writer, "Temporal at "+request.URL.Path)
	}))
	t.Cleanup(u.Close)
	return u
}

// visitor is a person's, before a page.
type visitor struct {
	t       *testing.T
	address string
	page    *ui.TemporalPage
	cookie  string
}

func newVisitor(t *testing.T, temporal ui.Temporal) *visitor {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	page := ui.NewTemporalPage(temporal, server.Listener.Addr())
	server.Config.Handler = page.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return &visitor{t: t, address: server.URL, page: page}
}

func (b *visitor) send(method, address string, headers map[string]string) (*http.Response, string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, nil)
	require.NoError(b.t, err)
	if b.cookie != "" {
		request.Header.Set("Cookie", b.cookie)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return response, string(body)
}

// open exchanges the address's token for the cookie.
func (b *visitor) open() {
	b.t.Helper()
	response, body := b.send(http.MethodGet, b.page.URL(), map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
	require.Equal(b.t, http.StatusOK, response.StatusCode)
	require.Contains(b.t, body, `url=/"`)
	b.cookie = response.Cookies()[0].Name + "=" + response.Cookies()[0].Value
}

func reaching(u *upstream) ui.Temporal {
	return ui.Temporal{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", u.Listener.Addr().String())
		},
		Token: func(context.Context) (string, error) { return "adas", nil },
	}
}

func TestTemporalsPageKnowsThePerson(t *testing.T) {
	u := newUpstream(t)
	b := newVisitor(t, reaching(u))
	b.open()
	b.cookie += "; _csrf=theirs"
	response, body := b.send(http.MethodPost, b.address+"/api/v1/namespaces?x=1", map[string]string{"Origin": b.address, "Authorization": "Bearer forged"})
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "Temporal at /api/v1/namespaces", body)
	assert.Equal(t, "Bearer adas", u.last.Header.Get("Authorization"))
	assert.Equal(t, "_csrf=theirs", u.last.Header.Get("Cookie"), "the cookie of this page stays here")
	assert.Empty(t, u.last.Header.Get("Origin"))
	assert.Equal(t, "x=1", u.last.URL.RawQuery)
}

func TestNoOneElseSeesTemporalsPageAsThePerson(t *testing.T) {
	u := newUpstream(t)
	b := newVisitor(t, reaching(u))
	refused := func(what, method, address string, headers map[string]string) {
		t.Helper()
		response, body := b.send(method, address, headers)
		assert.Equal(t, http.StatusForbidden, response.StatusCode, what)
		assert.Equal(t, "Forbidden\n", body, what)
	}
	refused("without the token", http.MethodGet, b.address+"/", nil)
	refused("with another token", http.MethodGet, b.address+"/?token=x", nil)
	b.open()
	stranger := *b
	stranger.cookie = ""
	refusedFor := func(what, address string) {
		t.Helper()
		response, _ := stranger.send(http.MethodGet, address, nil)
		assert.Equal(t, http.StatusForbidden, response.StatusCode, what)
	}
	refusedFor("the second with the address", b.page.URL())
	refusedFor("without the cookie", b.address+"/api/v1/namespaces")
	refused("from another page", http.MethodPost, b.address+"/api/v1/namespaces", map[string]string{"Origin": "http://evil.example"})
	refused("in another page", http.MethodGet, b.address+"/api/v1/namespaces", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.address+"/", nil)
	require.NoError(t, err)
	request.Host = "rebound.example:80"
	request.Header.Set("Cookie", b.cookie)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusForbidden, response.StatusCode, "by another name")
	assert.Nil(t, u.last, "nothing has reached Temporal")
}

func TestWhyTemporalsPageIsNotShown(t *testing.T) {
	u := newUpstream(t)
	away, unknown, open := reaching(u), reaching(u), reaching(u)
	away.Dial = func(context.Context) (net.Conn, error) { return nil, errors.New("no Pod is ready") }
	unknown.Token = func(context.Context) (string, error) { return "", errors.New("ClusterRole ostinato-temporal-user") }
	open.Token = nil
	for _, test := range []struct {
		temporal ui.Temporal
		status   int
		want     string
	}{
		{away, http.StatusBadGateway, "Temporal's page can't be reached: no Pod is ready"},
		{unknown, http.StatusForbidden, "Temporal does not know you: ClusterRole ostinato-temporal-user"},
		{open, http.StatusOK, "Temporal at /"},
	} {
		b := newVisitor(t, test.temporal)
		b.open()
		response, body := b.send(http.MethodGet, b.address+"/", nil)
		assert.Equal(t, test.status, response.StatusCode)
		assert.Equal(t, test.want, strings.TrimSpace(body))
	}
	assert.Empty(t, u.last.Header.Get("Authorization"))
}
