package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// exportScenes are what a person does with export and import.
var exportScenes = []scene{
	{row: "export", given: small, arguments: "export"},
	{row: "export", given: func(w *world) { small(w); w.temporal.waits["report"] = descriptionOf("uid-of-another") }, arguments: "export"},
	{row: "export", given: away, arguments: "export"},
	{arguments: "export report"},
	{row: "import", given: lost, arguments: "import testdata/export.jsonl --dry-run"},
	{row: "import", given: lost, arguments: "import testdata/export.jsonl"},
	{row: "import", given: func(w *world) {
		lost(w)
		w.temporal.answers[protocol.RestoreLedgerUpdate] = errors.New(`"ada" may not call UpdateWorkflowExecution: "restore-ledger" is for administrators`)
	}, arguments: "import testdata/export.jsonl"},
	{row: "import", given: away, arguments: "import testdata/export.jsonl"},
	{arguments: "import testdata/cronjobs.yaml"},
	{arguments: "import nowhere.jsonl"},
	{arguments: "import"},
}

// small leaves one CronJob, with a trigger that waits and a run that failed.
func small(w *world) {
	w.api.cronJobs = w.api.cronJobs[:1]
	w.temporal.answers[protocol.LedgerQuery] = ledger.Ledger{Dropped: 7, Entries: []ledger.Entry{
		{Scheduled: at(1, 0).Time, Recorded: at(1, 0).Time, Outcome: ledger.Started, Job: "orders-29541330", End: ledger.End{Result: ledger.Failed, Ended: at(1, 1).Time}},
		{Scheduled: at(2, 0).Time, Recorded: at(2, 0).Time, Outcome: ledger.Started, Job: "report-29540880", End: ledger.End{Result: ledger.Complete, Ended: at(2, 3).Time}},
	}}
	description := descriptionOf("")
	description.Triggers = []schedule.Trigger{{Sequence: 1772443680000, At: at(9, 28).Time, TriggerRequest: schedule.TriggerRequest{Note: "<once> more"}}}
	w.temporal.waits = map[string]protocol.CronJobDescription{"report": description}
}

func descriptionOf(uid string) (description protocol.CronJobDescription) {
	description.CronJob.UID = uid
	return description
}

// lost is a Temporal whose data was lost: the workflow of report has begun anew from the object. It takes rows as a workflow does.
func lost(w *world) {
	state := schedule.NewState(schedule.Identity{Name: "report", UID: "uid-report"}, w.api.cronJobs[0].Status, ledger.Ledger{}, nil)
	w.temporal.answers[protocol.LedgerQuery] = state.Ledger
	w.temporal.answers[protocol.RestoreLedgerUpdate] = func(argument string) any {
		var request protocol.RestoreLedgerRequest
		if err := json.Unmarshal([]byte(argument), &request); err != nil {
			return err
		}
		imported, answer := schedule.Import(state, request.Rows, now)
		if !request.DryRun {
			state = imported
			w.temporal.answers[protocol.LedgerQuery] = state.Ledger
		}
		return answer
	}
	w.temporal.answers[protocol.BackfillUpdate] = protocol.BackfillAnswer{Accepted: true, Runs: 2}
}

// What is given back is given back once, and by the same messages as people send.
func TestAnExportIsImportedOnce(t *testing.T) {
	w := newWorld(t)
	lost(w)
	_, _, code := w.run(t, "import", "testdata/export.jsonl")
	require.Zero(t, code)
	names := slices.DeleteFunc(slices.Clone(w.temporal.ids), func(id string) bool { return !strings.HasPrefix(id, "import-") })
	assert.Equal(t, []string{"import-trigger-1772443680000", "import-backfill-1772443690000"}, names)
	asked := strings.Join(w.temporal.requests, "\n")
	assert.Contains(t, asked, `{"note":"once more (import-trigger-1772443680000)","by":"ada","overlap":"Queue"}`)
	assert.Contains(t, asked, `{"from":"2026-02-01T02:00:00Z","to":"2026-02-02T02:00:00Z","parallelism":1,"note":"the bank asked (import-backfill-1772443690000)","by":"bob"}`)
	before := w.temporal.answers[protocol.LedgerQuery].(ledger.Ledger)
	sent := len(w.temporal.requests)

	stdout, _, code := w.run(t, "import", "testdata/export.jsonl")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "report: 0 rows given back, 4 are there, 1 refused")
	assert.Contains(t, stdout, "the trigger of 2026-03-02T09:28:00Z has its outcome, or was asked for again already")
	assert.Contains(t, stdout, "the backfill of 2026-02-01T02:00:00Z to 2026-02-02T02:00:00Z has its outcome, or was asked for again already")
	assert.Equal(t, before, w.temporal.answers[protocol.LedgerQuery])
	assert.Len(t, w.temporal.requests, sent+1, "the rows alone are sent again")
}

// A file that was not written to its end is none.
func TestAnExportIsThereWhenItIsWhole(t *testing.T) {
	w := newWorld(t)
	small(w)
	file := filepath.Join(t.TempDir(), "export.jsonl")
	_, stderr, code := w.run(t, "export", "-o", file)
	require.Zero(t, code, stderr)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, 2, bytes.Count(written, []byte("\n")))
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it holds logs")

	away(w)
	_, _, code = w.run(t, "export", "-o", file)
	assert.Equal(t, 1, code)
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, written, after, "the one before is as it was")
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

// However many CronJobs there are, few are held at a time. A list that is too old for the API server goes on.
func TestAnExportGoesFromPageToPage(t *testing.T) {
	w := newWorld(t)
	small(w)
	one := w.api.cronJobs[0]
	w.api.cronJobs, w.api.expires = nil, true
	for n := range 1200 {
		made := one.DeepCopy()
		made.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(n) * time.Second))
		w.api.cronJobs = append(w.api.cronJobs, *made)
	}
	w.temporal.answers[protocol.LedgerQuery] = ledger.Ledger{}
	stdout, stderr, code := w.run(t, "export")
	require.Zero(t, code, stderr)
	assert.Equal(t, 1201, strings.Count(stdout, "\n"))
	assert.Len(t, w.api.paths, 4, "three pages, one of them asked for twice")
}
