package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/ledger"
)

const root = "../../.."

func TestTheReferenceIsUpToDate(t *testing.T) {
	assert.NoError(t, run(root, true))
}

// What people wrote names every outcome and reason of the ledger.
func TestTheReferenceExplainsEveryOutcomeAndReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/reference.md"))
	require.NoError(t, err)
	for _, outcome := range ledger.Outcomes {
		assert.Contains(t, string(text), "\n| `"+string(outcome)+"` |")
	}
	for _, reason := range slices.Concat(ledger.Reasons, []string{ledger.ResultReasonReplaced}) {
		assert.Contains(t, string(text), "`"+reason+"`")
	}
}

// A page that names a metric which is gone would send people looking for it.
func TestTheMetricsThatPagesNameExist(t *testing.T) {
	metrics, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`((?:ostinato|job_controller|cronjob_controller)_[a-z_]*[a-z])(?:`|\\{)")
	found := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, name := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			assert.Contains(t, string(metrics), "`"+name[1]+"`", "%s names the metric", filepath.Base(path))
		}
	}
	assert.Greater(t, found, 50)
}

func TestMarkedPartsAreReplaced(t *testing.T) {
	part := func(name, text string) string { return beginMark + name + closeMark + text + endMark }
	for name, test := range map[string]struct{ page, want, mistake string }{
		"a part":          {"before\n" + part("a", "\nold\n") + "\nafter\n", "before\n" + part("a", "\n\nnew\n\n") + "\nafter\n", ""},
		"two parts":       {part("a", "") + part("b", "x"), part("a", "\n\nnew\n\n") + part("b", "\n\nother\n\n"), ""},
		"no part":         {"text\n", "text\n", ""},
		"no end":          {beginMark + "a" + closeMark + "text", "", `the part "a" has no end`},
		"an unknown part": {part("c", ""), "", `the part "c" is none that is generated`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fill(test.page, map[string]string{"a": "new\n", "b": "other"}, map[string]bool{})
			if test.mistake != "" {
				require.ErrorContains(t, err, test.mistake)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestComments(t *testing.T) {
	doc, markers := comment("policy says what happens:\nmuch.\nAllow, Forbid: it waits\nlonger.\nQueue: it waits its turn.\n\n+optional\n+kubebuilder:default=Allow\n")
	assert.Equal(t, "policy says what happens: much.<br>`Allow`, `Forbid`: it waits longer.<br>`Queue`: it waits its turn.", doc)
	assert.Equal(t, "the time of the run", saying("at", "at is the time of the run"))
	assert.Equal(t, "is True while it runs", saying("Running", "Running is True while it runs"))
	one := field{markers: markers, kind: "string"}
	value, found := one.marker("+kubebuilder:default")
	assert.True(t, found)
	assert.Equal(t, "Allow", value)
	_, found = one.marker("+required")
	assert.False(t, found)
	assert.Equal(t, "string", one.values())
	assert.Equal(t, "a \\| b", strings.Trim(strings.Split(table([]string{"x"}, [][]string{{"a | b"}}), "\n")[2], "| "))
}
