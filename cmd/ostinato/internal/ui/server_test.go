package ui_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ui"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

var now = time.Date(2026, 3, 2, 9, 32, 0, 0, time.UTC)

// backend is the API server of a test, and a Temporal that says what the test wants.
type backend struct {
	ui.Reach
	mutex sync.Mutex
	state temporal
}

// temporal is how Temporal answers: away is why it can't be reached, slow how long each answer takes.
type temporal struct {
	away error
	slow time.Duration
	// asked is how many ledgers were read, now how many are, and atOnce how many were at most.
	asked, now, atOnce int
	// runs are the backfills that were no dry runs.
	runs []schedule.BackfillRequest
}

// temporal reads, and may change, how Temporal answers.
func (b *backend) temporal(edit ...func(*temporal)) temporal {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, one := range edit {
		one(&b.state)
	}
	return b.state
}

func (b *backend) Ledger(ctx context.Context, cronJob *ostinatov1.CronJob, question protocol.LedgerQuestion) ([]ostinatov1.RecentRun, bool, error) {
	answers := b.temporal(func(temporal *temporal) {
		temporal.asked++
		temporal.now++
		temporal.atOnce = max(temporal.atOnce, temporal.now)
	})
	defer b.temporal(func(temporal *temporal) { temporal.now-- })
	select {
	case <-time.After(answers.slow):
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	since := question.Since
	if since.IsZero() {
		since = now.Add(-48 * time.Hour)
	}
	return night.Ledger(cronJob, since), false, answers.away
}

func (b *backend) Suspensions(context.Context, *ostinatov1.CronJob) ([]ledger.Suspension, error) {
	return []ledger.Suspension{{From: now.Add(-time.Hour), To: now, Suspended: "by ada <script>", Resumed: "by bob"}}, nil
}

func (b *backend) Evidence(context.Context, ostinatov1.WorkflowReference) (protocol.JobDescription, error) {
	return protocol.JobDescription{Attempts: []job.Attempt{{Pod: "backup-a", Container: "main", ExitCode: 3, Log: "no space left <script>\n"}}}, nil
}

func (b *backend) Backfill(_ context.Context, _ *ostinatov1.CronJob, request schedule.BackfillRequest) (protocol.BackfillAnswer, error) {
	if !request.DryRun {
		b.temporal(func(temporal *temporal) { temporal.runs = append(temporal.runs, request) })
	}
	return protocol.BackfillAnswer{DryRun: request.DryRun, Accepted: !request.DryRun, Runs: 2, First: request.From, Last: request.To}, nil
}

// browser is one that has opened the address, and calls the page as its script does.
type browser struct {
	t       testing.TB
	backend *backend
	cluster *night.Server
	server  *httptest.Server
	address string
	cookie  *http.Cookie
	key     string
}

// newPage serves a page for some CronJobs; nobody has opened it yet.
func newPage(t testing.TB, cronJobs []ostinatov1.CronJob) *browser {
	t.Helper()
	cluster := night.NewServer(cronJobs)
	t.Cleanup(cluster.Close)
	reached, err := ask.NewCluster(cluster.Config(), "", "")
	require.NoError(t, err)
	b := &browser{t: t, cluster: cluster, backend: &backend{Reach: ui.Reach{Cluster: reached}}}
	listener, err := ui.Listen(t.Context(), 0)
	require.NoError(t, err)
	page := ui.New(ui.Settings{
		Backend: b.backend, Clock: func() answer.Clock { return answer.Clock{Now: now, Zone: time.UTC} }, By: "ada", Where: "all namespaces of night",
		TemporalUI: "http://127.0.0.1:8233",
	}, listener.Addr())
	b.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: page.Handler()}}
	b.server.Start()
	t.Cleanup(b.server.Close)
	b.address = page.URL()
	return b
}

var keyed = regexp.MustCompile(`<meta name="ostinato-page" content="([^"]+)">`)

// open exchanges the token.
func (b *browser) open() *browser {
	b.t.Helper()
	answered := b.send(http.MethodGet, b.address, nil, nil)
	require.Equal(b.t, http.StatusOK, answered.status)
	require.Len(b.t, answered.cookies, 1)
	b.cookie = answered.cookies[0]
	found := keyed.FindStringSubmatch(answered.body)
	require.Len(b.t, found, 2, "the page gets its key")
	b.key = found[1]
	return b
}

// opened is a page that a browser has opened.
func opened(t testing.TB, cronJobs []ostinatov1.CronJob) *browser { return newPage(t, cronJobs).open() }

type answered struct {
	status  int
	body    string
	header  http.Header
	cookies []*http.Cookie
}

// send sends a request as it is, with some headers. Redirects are not followed.
func (b *browser) send(method, address string, form url.Values, headers map[string]string) answered {
	b.t.Helper()
	if !strings.Contains(address, "://") {
		address = b.server.URL + address
	}
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return answered{response.StatusCode, string(body), response.Header, response.Cookies()}
}

// own are the headers of the page's own script.
func (b *browser) own() map[string]string {
	return map[string]string{
		"Cookie": b.cookie.Name + "=" + b.cookie.Value, "X-Ostinato-Page": b.key, "Origin": b.server.URL, "Sec-Fetch-Site": "same-origin",
	}
}

// get asks as the page's script does.
func (b *browser) get(path string) answered {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil, b.own())
}

// post sends a form as the page's script does; pairs are names and values.
func (b *browser) post(path string, pairs ...string) answered {
	b.t.Helper()
	form := url.Values{}
	for n := 0; n+1 < len(pairs); n += 2 {
		form.Add(pairs[n], pairs[n+1])
	}
	return b.send(http.MethodPost, path, form, b.own())
}

var planned = regexp.MustCompile(`name="plan" value="([^"]+)"`)

// confirm takes a plan that was shown and does it.
func (b *browser) confirm(shown answered) answered {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, shown.status, shown.body)
	found := planned.FindStringSubmatch(shown.body)
	require.Len(b.t, found, 2, "there is something to confirm: %s", shown.body)
	return b.post("/do", "plan", found[1])
}

var errAway = errors.Join(context.DeadlineExceeded, errors.New("nobody answers"))

func TestThePageListensOnLoopbackAlone(t *testing.T) {
	listener, err := ui.Listen(t.Context(), 0)
	require.NoError(t, err)
	defer listener.Close()
	address, ok := listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	assert.True(t, address.IP.IsLoopback())
}

func TestServingEndsWithItsContext(t *testing.T) {
	listener, err := ui.Listen(t.Context(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ui.New(ui.Settings{}, listener.Addr()).Serve(ctx, listener) }()
	cancel()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Error("the page is still served")
	}
}
