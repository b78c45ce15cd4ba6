package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// completions are what a shell is offered behind a line.
func completions(t *testing.T, w *world, line ...string) []string {
	t.Helper()
	stdout, _, code := w.run(t, append([]string{"__complete"}, line...)...)
	assert.Zero(t, code)
	offered, directive, _ := strings.Cut(stdout, ":")
	assert.Equal(t, "4\n", directive, "no files are offered")
	return append([]string{}, strings.Fields(offered)...)
}

func TestNamesAreCompleted(t *testing.T) {
	for name, test := range map[string]struct {
		line []string
		want []string
	}{
		"a CronJob":                        {[]string{"why", ""}, []string{"report", "orders", "import"}},
		"by its beginning":                 {[]string{"runs", "or"}, []string{"orders"}},
		"only one, where one is taken":     {[]string{"tree", "report", ""}, []string{}},
		"one after another":                {[]string{"suspend", "report", ""}, []string{"orders", "import"}},
		"a CronJob or a Job's prefix":      {[]string{"logs", "re"}, []string{"report"}},
		"a Job":                            {[]string{"logs", "job/o"}, []string{"job/orders-29541330"}},
		"a Job of the CronJob":             {[]string{"logs", "report", "--run", ""}, []string{"report-xk2lp"}},
		"one of batch/v1, to be moved":     {[]string{"move", "n"}, []string{"nightly"}},
		"one of ours, to be moved back":    {[]string{"move", "--undo", ""}, []string{"report", "orders", "import"}},
		"nothing, where a time is written": {[]string{"next", ""}, []string{}},
		"the ways to write an answer":      {[]string{"get", "-o", ""}, []string{"json", "yaml", "wide", "name"}},
		"concurrency policies":             {[]string{"run", "report", "--overlap-policy", ""}, []string{"Allow", "Forbid", "Replace", "Queue"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, completions(t, worldWith(t, natives("nightly")), test.line...))
		})
	}
}

// What is printed while a line is typed would stand in the line.
func TestCompletionIsSilentOnErrors(t *testing.T) {
	w := newWorld(t)
	w.api.refuse = forbidden("list cronjobs")
	stdout, stderr, code := w.run(t, "__complete", "why", "")
	assert.Zero(t, code)
	assert.Equal(t, ":4\n", stdout)
	assert.NotContains(t, stderr, "forbidden")
}

func TestCompletionAsksForWhatTheTableOfRightsSays(t *testing.T) {
	w := worldWith(t, natives("nightly"))
	completions(t, w, "why", "")
	completions(t, w, "move", "")
	completions(t, w, "logs", "job/")
	assert.ElementsMatch(t, rights(t)["completion of names"][0], w.api.asked)
	assert.Empty(t, w.temporal.asked)
}

func worldWith(t *testing.T, change func(*world)) *world {
	t.Helper()
	w := newWorld(t)
	change(w)
	return w
}
