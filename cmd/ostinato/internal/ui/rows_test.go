package ui_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -update writes it")
}

// The parts of a page for three CronJobs, as the script gets them.
func TestASmallPage(t *testing.T) {
	b := opened(t, night.CronJobs(now, 7))
	golden(t, "testdata/shell.html", b.get("/").body)
	golden(t, "testdata/rows.html", strings.ReplaceAll(b.get("/rows?zoom=1h&count=3").body, "read at "+readAt(b), "read at TIME"))
	golden(t, "testdata/run.html", b.get("/run?namespace=team-00&name=backup-0001&at=2026-03-02T06:00:00Z").body)
	golden(t, "testdata/cronjob.html", b.get("/cronjob?namespace=team-00&name=report-0004").body)
}

// readAt is when the list of a page was read, which the test's clock does not say.
func readAt(b *browser) string {
	_, after, _ := strings.Cut(b.get("/rows?count=1").body, "read at ")
	at, _, _ := strings.Cut(after, "<")
	return at
}

func TestRowsAreThoseOfTheScreen(t *testing.T) {
	b := opened(t, night.CronJobs(now, 300))
	for name, test := range map[string]struct {
		query              string
		from, rows, spaced int
		total              int
	}{
		"the first":                   {"from=0&count=20", 0, 20, 280, 300},
		"some in the middle":          {"from=100&count=20", 100, 20, 180, 300},
		"the last":                    {"from=290&count=20", 290, 10, 0, 300},
		"more than a screen has":      {"from=0&count=1000", 0, 100, 200, 300},
		"beyond the end":              {"from=5000&count=20", 299, 1, 0, 300},
		"no numbers":                  {"from=x&count=-3", 0, 1, 299, 300},
		"a namespace":                 {"count=100&namespace=team-03", 0, 50, 0, 50},
		"a part of a name":            {"count=100&text=team-03/mail", 0, 7, 0, 7},
		"labels":                      {"count=100&labels=habit%3Dscan", 0, 42, 0, 42},
		"only what fails in the time": {"count=100&failing=1&text=import", 0, 43, 0, 43},
		"nothing":                     {"count=100&text=zebra", 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.get("/rows?" + test.query)
			require.Equal(t, http.StatusOK, got.status, got.body)
			assert.Equal(t, test.rows, strings.Count(got.body, `<tr class="row"`))
			assert.Contains(t, got.body, fmt.Sprintf(`data-total="%d" data-from="%d" data-count="%d"`, test.total, test.from, test.rows))
			assert.Contains(t, got.body, fmt.Sprintf(`data-space="%d" aria-hidden="true"><td></td></tr>`+"\n</tbody>", test.spaced))
		})
	}
	wrong := b.get("/rows?labels=a%3D%3D%3D")
	assert.Equal(t, http.StatusBadRequest, wrong.status)
	assert.Contains(t, wrong.body, "write team=billing")
}

func TestTheFirstPaintAsksKubernetesAlone(t *testing.T) {
	b := opened(t, night.CronJobs(now, 100))
	body := b.get("/rows?count=100").body
	assert.Contains(t, body, `data-partial="1"`, "and says that there is more")
	assert.Contains(t, body, `class="unknown"`)
	assert.Zero(t, b.backend.temporal().asked)
}

func TestRowsOnTheScreenAreFilledTwentyAtATime(t *testing.T) {
	b := opened(t, night.CronJobs(now, 300))
	b.backend.temporal(func(temporal *temporal) { temporal.slow = 20 * time.Millisecond })
	body := b.get("/rows?count=70&fill=1").body
	assert.NotContains(t, body, "data-partial")
	assert.NotContains(t, body, `class="unknown"`)
	assert.Equal(t, 20, b.backend.temporal().atOnce)
	asked := b.backend.temporal().asked
	assert.Positive(t, asked)
	assert.Less(t, asked, 70, "those whose status reaches back are not asked about")

	assert.NotContains(t, b.get("/rows?count=70&fill=1").body, "data-partial")
	assert.Equal(t, asked, b.backend.temporal().asked, "what was read is kept")
	b.get("/rows?count=70&fill=1&zoom=24h")
	assert.Greater(t, b.backend.temporal().asked, asked, "more time needs more")
}

func TestNewRowsOfTheStatusJoinThoseThatWereRead(t *testing.T) {
	cronJobs := night.CronJobs(now, 1)
	b := opened(t, cronJobs)
	before := strings.Count(b.get("/rows?count=1&fill=1").body, `class="cell`)
	b.cluster.Edit(func(stored []ostinatov1.CronJob) {
		rows := stored[0].Status.RecentRuns
		stored[0].Status.RecentRuns = append([]ostinatov1.RecentRun{{
			ScheduledTime: rows[0].ScheduledTime, Outcome: "Started", JobName: "once-more", StartTime: rows[0].StartTime, Manual: true,
		}}, rows[:9]...)
	})
	confirmed := b.confirm(b.post("/plan", "action", "run", "namespace", "team-00", "name", "mail-0000")) // has the list read again
	require.Equal(t, http.StatusOK, confirmed.status)
	body := b.get("/rows?count=1").body
	assert.Equal(t, before, strings.Count(body, `class="cell`))
	assert.Contains(t, body, "running")
	assert.NotContains(t, body, "data-partial")
}

func TestWithoutTemporalThePageSaysSo(t *testing.T) {
	b := opened(t, night.CronJobs(now, 100))
	b.backend.temporal(func(temporal *temporal) { temporal.away = errAway })
	got := b.get("/rows?count=50&fill=1")
	assert.Equal(t, http.StatusOK, got.status)
	assert.Contains(t, got.body, "Older times could not be read from Temporal: context deadline exceeded nobody answers")
	assert.Contains(t, got.body, `data-row="team-00/mail-0000"`, "what Kubernetes says is shown")
	asked := b.backend.temporal().asked
	assert.LessOrEqual(t, asked, 20)
	b.get("/rows?count=50&fill=1")
	assert.Equal(t, asked, b.backend.temporal().asked, "it is left alone for a while")
	panel := b.get("/cronjob?namespace=team-00&name=mail-0000")
	assert.Contains(t, panel.body, "Older times could not be read from Temporal")
	assert.Contains(t, panel.body, "Durations of 10 runs")
}

func TestWithoutKubernetesThePageSaysSo(t *testing.T) {
	b := opened(t, night.CronJobs(now, 3))
	b.cluster.CloseClientConnections()
	b.cluster.Close()
	got := b.get("/rows?count=3")
	assert.Equal(t, http.StatusBadGateway, got.status)
	assert.Contains(t, got.body, "list CronJobs")
}

func TestWhatWasReadIsShownWhileKubernetesIsAway(t *testing.T) {
	b := opened(t, night.CronJobs(now, 3))
	require.Equal(t, http.StatusOK, b.get("/rows?count=3").status)
	require.Equal(t, http.StatusOK, b.confirm(b.post("/plan", mail("action", "suspend")...)).status) // has the list read again
	b.cluster.CloseClientConnections()
	b.cluster.Close()
	got := b.get("/rows?count=3")
	assert.Equal(t, http.StatusOK, got.status)
	assert.Contains(t, got.body, "The CronJobs could not be read again: list CronJobs")
	assert.Contains(t, got.body, `data-row="team-00/mail-0000"`)
}

// The API server allows no such names, but labels, messages, zones and whoever writes to Temporal choose texts freely.
func TestHostileTextsAreEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>" onclick="alert(1)`
	cronJobs := night.CronJobs(now, 2)
	cronJobs[1].Namespace, cronJobs[1].Name = "z"+evil, "backup"+evil
	for c := range cronJobs {
		hostile := &cronJobs[c]
		hostile.Spec.TimeZone, hostile.Spec.Schedule = nil, evil
		hostile.Status.NextScheduleTime, hostile.Status.Next = nil, evil
		hostile.Status.Conditions = append(hostile.Status.Conditions, stalled(evil+"\x1b[2J"))
		hostile.Status.Workflow.ID = evil
		for n := range hostile.Status.RecentRuns {
			row := &hostile.Status.RecentRuns[n]
			row.Outcome, row.Reason, row.Message, row.JobName, row.By, row.Manual = "FailedToCreate", evil, evil+"\x1b[2J", evil, evil, n < 3
		}
	}
	b := opened(t, cronJobs)
	const first, second = "namespace=team-00&name=mail-0000", "namespace=x&name="
	for _, path := range []string{
		"/rows?count=2", "/rows?count=2&zoom=1h&fill=1", "/rows?labels=" + escaped(evil), "/cronjob?" + first, "/run?at=2026-03-02T09:30:00Z&" + first,
		"/times?from=2026-03-02T08:00:00Z&to=2026-03-02T09:30:00Z&" + first, "/run?at=2026-03-02T09:00:00Z&" + second + escaped(evil),
		"/run?at=" + escaped(evil) + "&" + first, "/cronjob?" + second + escaped(evil),
	} {
		harmless(t, path, b.get(path).body)
	}
	assert.Contains(t, b.get("/rows?count=2").body, "&lt;script&gt;", "the texts are there")
	harmless(t, "suspend", b.post("/plan", mail("action", "suspend", "reason", evil)...).body)
	harmless(t, "run", b.post("/plan", mail("action", "run")...).body)
	harmless(t, "backfill", b.post("/plan", mail("action", "backfill", "from", evil, "to", evil)...).body)
}

func harmless(t *testing.T, path, body string) {
	t.Helper()
	assert.NotEmpty(t, body, path)
	assert.NotContains(t, body, "<script>", path)
	assert.NotContains(t, body, "<img", path)
	assert.NotContains(t, body, `" onclick="`, path)
	assert.NotContains(t, body, "\x1b", path)
}
