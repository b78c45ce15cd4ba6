package access_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/authorization"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/internal/temporalserver/access"
)

// pipes are a listener's connections within the process, so that the clock of a test stands for theirs.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	connection, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p <- far
	return near, nil
}

// ailing is an API server whose answers to reviews a test chooses. It allows ada everything.
type ailing struct {
	answer atomic.Pointer[http.HandlerFunc]
	// waiting are the questions that have no answer yet, most the most at a time.
	waiting, most atomic.Int64
}

func (s *ailing) set(answer http.HandlerFunc) { s.answer.Store(&answer) }

func (s *ailing) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	s.most.Store(max(s.most.Load(), s.waiting.Add(1)))
	defer s.waiting.Add(-1)
	// A server hears that its client goes once it has read the request.
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	(*s.answer.Load())(writer, request)
}

func healthy(writer http.ResponseWriter, request *http.Request) {
	review := map[string]any{}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	review["status"] = map[string]any{
		"authenticated": true, "audiences": []string{access.Audience}, "user": authenticationv1.UserInfo{Username: "ada"}, "allowed": true,
	}
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(review)
}

// after has the answer come after a time, unless the client goes.
func after(wait time.Duration, answer http.HandlerFunc) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		select {
		case <-time.After(wait):
			answer(writer, request)
		case <-request.Context().Done():
		}
	}
}

func failing(status int, headers map[string]string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		for name, value := range headers {
			writer.Header().Set(name, value)
		}
		http.Error(writer, "etcdserver: no leader", status)
	}
}

// serve returns an installation that asks the server.
func (s *ailing) serve(t *testing.T) world {
	t.Helper()
	connections := make(pipes)
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(connections) }()
	config := &rest.Config{Host: "http://apiserver", Dial: connections.dial, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.CloseIdleConnections()
		close(connections)
		_ = server.Close()
	})
	api, err := kubernetes.NewForConfigAndClient(config, client)
	require.NoError(t, err)
	return worldOf(t, access.NewReviews(api))
}

// goroutines are those of the test that have not ended; runtime.NumGoroutine counts some that have.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble"))
}

// While the API server ails, people are refused soon and the programs go on. Nothing stays behind, and the next call after it is decided.
func TestAnAilingAPIServerHoldsUpNoOneForLong(t *testing.T) {
	const (
		// patience bounds a question to the API server; perSecond and atOnce bound those about callers of one address.
		patience  = 5 * time.Second
		perSecond = 20
		atOnce    = 40
	)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		within time.Duration
	}{
		"an error":                          {failing(http.StatusInternalServerError, nil), 0},
		"no leader":                         {failing(http.StatusServiceUnavailable, nil), 0},
		"no leader, ask again soon":         {failing(http.StatusServiceUnavailable, map[string]string{"Retry-After": "1"}), patience},
		"too many requests, ask much later": {failing(http.StatusTooManyRequests, map[string]string{"Retry-After": "40"}), patience},
		"an answer after 40 s":              {after(40*time.Second, healthy), patience},
		"an error after 40 s":               {after(40*time.Second, failing(http.StatusGatewayTimeout, nil)), patience},
		"a beginning, and the rest after 40 s": {func(writer http.ResponseWriter, request *http.Request) {
			writer.Header().Set("Content-Type", "application/json")
			fmt.Fprint(writer, `{"status":{"allowed":true,"authenticated":true`)
			writer.(http.Flusher).Flush()
			after(40*time.Second, func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, `}}`) })(writer, request)
		}, patience},
		"another page": {func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "<html>log in</html>") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &ailing{}
				server.set(healthy)
				w := server.serve(t)
				allowed := func(who, method string, request any) {
					t.Helper()
					result, err := w.call(t, who, method, temporalNamespace, request)
					require.NoError(t, err)
					assert.Equal(t, authorization.DecisionAllow, result.Decision)
				}
				allowed("a token", "QueryWorkflow", query(cronJob))
				time.Sleep(10 * time.Second)
				synctest.Wait()
				before := goroutines()

				server.set(test.answer)
				var people sync.WaitGroup
				for range 1000 {
					people.Go(func() {
						began := time.Now()
						result, err := w.call(t, "a token", "QueryWorkflow", temporalNamespace, query(cronJob))
						assert.ErrorAs(t, err, new(*serviceerror.Unavailable))
						assert.NotEqual(t, authorization.DecisionAllow, result.Decision)
						assert.LessOrEqual(t, time.Since(began), test.within)
					})
					time.Sleep(20 * time.Millisecond)
				}
				allowed("certificate of worker", "PollWorkflowTaskQueue", nil)
				people.Wait()
				synctest.Wait()
				assert.Zero(t, server.waiting.Load(), "questions that no one waits for")
				assert.LessOrEqual(t, server.most.Load(), int64(atOnce+perSecond*patience.Seconds()), "questions at a time")

				server.set(healthy)
				time.Sleep(time.Second)
				allowed("a token", "QueryWorkflow", query(cronJob))
				// By then connections that no one uses are closed.
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				assert.LessOrEqual(t, goroutines(), before)
			})
		})
	}
}
