package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func builtinRun() Run {
	return Run{
		Controller: Builtin, Date: "2026-11-21", Seconds: 360, Processes: 8, Command: "make conformance CONTROLLER=builtin",
		Machine: "2 cores, 24 GB, Linux 6.18, amd64", Versions: []string{"Go 1.26.8", "Kubernetes 1.37.0"},
		Specs: []Spec{
			{Name: "[sig-apps] Job should run", File: "test/e2e/apps/job.go", Line: 80, Outcome: Passed, Seconds: 8.2},
			{Name: "[sig-apps] Job should be a gang [FeatureGate:WorkloadWithJob]", File: "test/e2e/apps/job.go", Line: 106, Outcome: NotApplicable, Reason: "feature gate WorkloadWithJob is off", Seconds: 300},
			{Name: "[sig-apps] Job should fail here", File: "test/e2e/apps/job.go", Line: 500, Outcome: Failed, Reason: "Told to stop | <*errors.StatusError> job_name", Seconds: 9},
			{Name: "[sig-apps] Job should be old", File: "test/e2e/apps/job.go", Line: 600, Outcome: Passed, Seconds: 1},
		},
	}
}

func ostinatoRun() Run {
	run := builtinRun()
	run.Controller, run.Date, run.Seconds, run.Command = Ostinato, "2026-11-22", 395, "make conformance"
	run.Versions = append(run.Versions, "Ostinato 0123abc")
	run.Specs = append(run.Specs[:3:3], Spec{Name: "[sig-apps] Job should be new", File: "test/e2e/apps/job.go", Line: 90, Outcome: Failed, Reason: "Timed out after 300.001s."})
	return run
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./dev/conformance -update writes it anew")
}

func TestTheTable(t *testing.T) {
	golden(t, "both.golden.md", render(columns{}.with(builtinRun()).with(ostinatoRun())))
	golden(t, "builtin.golden.md", render(columns{}.with(builtinRun())))
}

func TestARunReplacesItsOwnColumnOnly(t *testing.T) {
	docs := t.TempDir()
	require.NoError(t, keep(docs, builtinRun()))
	require.NoError(t, keep(docs, ostinatoRun()))

	again := builtinRun()
	again.Date, again.Specs = "2026-12-01", again.Specs[:1]
	require.NoError(t, keep(docs, again))

	kept, err := loadColumns(docs)
	require.NoError(t, err)
	assert.Equal(t, again, *kept.builtin)
	assert.Equal(t, ostinatoRun(), *kept.ostinato)
	written, err := os.ReadFile(filepath.Join(docs, "conformance.md"))
	require.NoError(t, err)
	assert.Equal(t, render(columns{builtin: &again, ostinato: kept.ostinato}), string(written), "the documentation shows both")
}

func TestAKeptRunThatMakesNoSenseIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"no JSON":            {"{", "read the kept run builtin.json: unexpected end of JSON input"},
		"another controller": {`{"controller": "ostinato"}`, `read the kept run builtin.json: it is a run of controller "ostinato", not "builtin"`},
		"another outcome":    {`{"controller": "builtin", "specs": [{"name": "a", "outcome": "fine"}]}`, `spec 1 (a) has the unknown outcome "fine"`},
		"a spec's name":      {`{"controller": "builtin", "specs": [{"outcome": "passed"}]}`, "spec 1 has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			docs := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(docs, "conformance"), 0o755))
			require.NoError(t, os.WriteFile(columnFile(docs, Builtin), []byte(test.content), 0o644))
			_, err := loadColumns(docs)
			require.ErrorContains(t, err, test.want)
			require.Error(t, keep(docs, ostinatoRun()), "nothing is written over what cannot be read")
			assert.NoFileExists(t, filepath.Join(docs, "conformance.md"))
		})
	}
}

// What is in the tree is what its runs make.
func TestTheDocumentationIsOfTheKeptRuns(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	kept, err := loadColumns(docs)
	require.NoError(t, err)
	written, err := os.ReadFile(filepath.Join(docs, "conformance.md"))
	require.NoError(t, err)
	assert.Equal(t, render(kept), string(written))
}

func TestVerdict(t *testing.T) {
	builtin, ostinato := builtinRun(), ostinatoRun()
	assert.Equal(t, []string{"[sig-apps] Job should fail here: Told to stop | <*errors.StatusError> job_name"}, verdict(builtin, nil),
		"every failure counts for kube-controller-manager")
	assert.Equal(t, verdict(builtin, nil), verdict(builtin, &builtin), "also one that it had before")
	assert.Equal(t, []string{"[sig-apps] Job should be new: Timed out after 300.001s."}, verdict(ostinato, &builtin),
		"Ostinato need not hold what kube-controller-manager does not; but what that was not asked, it has to hold")
	assert.Len(t, verdict(ostinato, nil), 2, "without a reference every failure counts")

	builtin.Specs[2].Outcome = Passed
	assert.Len(t, verdict(ostinato, &builtin), 2)
}
