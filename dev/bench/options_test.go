package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parseOptions returns the options that a run would have.
func parseOptions(arguments []string) (o options, err error) {
	cmd := newCommand(arguments, func(_ context.Context, given options, _, _ io.Writer) error { o = given; return nil })
	cmd.SetArgs(slices.Concat([]string{}, arguments))
	err = cmd.Execute()
	return o, err
}

func TestDefaultsMeasureEveryColumn(t *testing.T) {
	o, err := parseOptions(nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"jobs", "cronjobs"}, o.scenarios, "the Jobs of many Pods take long: only when they are asked for")
	require.Len(t, o.columns, len(columns))
	for _, scenario := range o.scenarios {
		assert.Equal(t, []int{300}, o.sizesOf(o.columns[0], scenario), "the built-in at default flags needs minutes for more")
		assert.Equal(t, []int{300, 1000}, o.sizesOf(o.columns[2], scenario))
	}
	assert.Equal(t, []int{1000, 10000}, o.sizesOf(o.columns[2], scenarioIndexed))
	assert.Equal(t, []int{5000}, o.sizesOf(o.columns[1], scenarioTogether))
	assert.Empty(t, o.sizesOf(o.columns[0], scenarioTogether))
	assert.Equal(t, "go run ./dev/bench", o.command)
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--full", "--sizes=1000,20,20", "--columns=ostinato,builtin", "--scenarios=cronjobs"})
	require.NoError(t, err)
	assert.Equal(t, []int{20, 1000}, o.sizes, "smallest first, each once")
	assert.Equal(t, []string{"builtin", "ostinato"}, []string{o.columns[0].name, o.columns[1].name}, "the order of measurement is fixed")
	assert.Equal(t, []int{20, 1000}, o.sizesOf(o.columns[0], scenarioJobs), "--full lifts the limit")
	last := func(c column, size int) *measurement {
		return &measurement{column: c, scenario: scenarioJobs, size: size, repeat: 2}
	}
	assert.True(t, o.wantsProfile(last(o.columns[1], 1000)))
	assert.False(t, o.wantsProfile(last(o.columns[1], 20)), "only the largest size is profiled")
	assert.False(t, o.wantsProfile(last(o.columns[0], 1000)), "only Ostinato is profiled")
	assert.False(t, o.wantsProfile(&measurement{column: o.columns[1], scenario: scenarioJobs, size: 1000}), "only the last repeat is profiled")
}

func TestABaselineIsMeasuredBeforeTheCheckout(t *testing.T) {
	programs := t.TempDir()
	_, err := parseOptions([]string{"--baseline=" + programs})
	require.ErrorContains(t, err, "--baseline: build both programs into the folder")
	for _, program := range []string{"worker", "bridge"} {
		require.NoError(t, os.WriteFile(filepath.Join(programs, program), nil, 0o755))
	}
	o, err := parseOptions([]string{"--columns=builtin,ostinato", "--baseline=" + programs})
	require.NoError(t, err)
	var names []string
	for _, c := range o.columns {
		names = append(names, c.name)
	}
	assert.Equal(t, []string{"builtin", "baseline", "ostinato"}, names)
	assert.Equal(t, []string{"", programs, ""}, []string{o.columns[0].programs, o.columns[1].programs, o.columns[2].programs})
}

func TestMistakesAreNamed(t *testing.T) {
	for argument, want := range map[string]string{
		"--sizes=0":                "0 is not a number above 0",
		"--sizes=many":             `--sizes="many": use whole numbers`,
		"--scenarios=pods":         `"pods" is none of jobs, cronjobs, native, failover, idle, running, indexed, together`,
		"--parallelism=0":          "--parallelism must be 1 or more",
		"--herds=0":                "--herds must be 1 or more",
		"--repeats=0":              "--repeats must be 1 or more",
		"--window=1ms":             "--window must be 1s or more",
		"--columns=kcm":            `"kcm" is none of builtin, builtin-unlimited, ostinato`,
		"--timeout=-1s":            "not negative",
		"--profile-time=10ms":      "1s or more",
		"sizes":                    `unexpected argument "sizes"`,
		"--no-such-flag-is-there=": "no-such-flag",
	} {
		_, err := parseOptions([]string{argument})
		assert.ErrorContains(t, err, want, argument)
	}
}

func TestPatienceFollowsSizeAndColumn(t *testing.T) {
	o := options{}
	assert.Equal(t, 2*time.Minute+1000*time.Second, o.patience(column{slow: true}, 1000))
	assert.Equal(t, 2*time.Minute+100*time.Second, o.patience(column{}, 1000))
	assert.Equal(t, time.Second, options{timeout: time.Second}.patience(column{slow: true}, 1000))
}

func TestPodsThatEndTogetherHaveTimeToStart(t *testing.T) {
	assert.Equal(t, 105*time.Second, options{}.runTime(scenarioTogether, column{}, 5000))
	assert.Equal(t, time.Minute, options{run: time.Minute}.runTime(scenarioTogether, column{}, 5000))
	assert.Equal(t, 3*time.Minute+30*time.Second, options{window: time.Minute}.runTime(scenarioRunning, column{}, 2000), "and are looked at")
	assert.Equal(t, 330*time.Second, options{}.runTime(scenarioRunning, column{slow: true}, 300))
}

func TestTitlesNameWhatWasMeasured(t *testing.T) {
	o := options{parallelism: 500}
	assert.Equal(t, "300 Jobs created at once", o.title(scenarioJobs, 300))
	assert.Equal(t, "one Indexed Job, completions 1000, parallelism 500", o.title(scenarioIndexed, 1000))
	assert.Equal(t, "40 CronJobs of batch/v1 due in the same minute", o.title(scenarioNative, 40))
	assert.Equal(t, "one Indexed Job, completions 20, parallelism 20", o.title(scenarioIndexed, 20))
	assert.Equal(t, "one Indexed Job, completions and parallelism 5000, Pods that end together", o.title(scenarioTogether, 5000))
}

func TestDueTimeIsAWholeMinuteAfterTheLead(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC)
	assert.Equal(t, time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC), options{}.dueTime(now, 300), "48s later is 3:04:58")
	assert.Equal(t, time.Date(2026, 1, 2, 3, 6, 0, 0, time.UTC), options{}.dueTime(now, 1000), "90s later is 3:05:40")
	assert.Equal(t, time.Date(2026, 1, 2, 3, 10, 0, 0, time.UTC), options{lead: 5 * time.Minute}.dueTime(now, 1))
	herds := options{herds: 2}.dueTimes(now, 1000)
	assert.Equal(t, []time.Time{time.Date(2026, 1, 2, 3, 6, 0, 0, time.UTC), time.Date(2026, 1, 2, 3, 9, 0, 0, time.UTC)}, herds)
}
