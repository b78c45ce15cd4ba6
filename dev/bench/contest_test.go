package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A machine that is half as fast in the second repeat, for both columns, does not change the ratio.
func TestARatioIsOfOneRepeatByItself(t *testing.T) {
	var results []measurement
	for repeat, all := range []time.Duration{30 * time.Second, time.Minute, 30 * time.Second} {
		builtIn, own := measured(columns[1], scenarioCronJobs, 2*all), measured(columns[2], scenarioCronJobs, all)
		builtIn.repeat, own.repeat = repeat, repeat
		results = append(results, builtIn, own)
	}
	r := report{results: results, options: options{columns: columns, repeats: 3}}
	own := r.against(columns[1])
	assert.Equal(t, []string{"", "built-in, limits removed", "Ostinato", "times better", "aim"}, own.header)
	assert.Equal(t, []string{
		"300 CronJobs due in the same minute: due time to Job created, p99",
		"30.0 s (30.0 s..60.0 s)", "15.0 s (15.0 s..30.0 s)", "2.00", "2.00 or more",
	}, own.rows[0])
	assert.Empty(t, r.against(columns[0]).rows, "that was not measured")
}

func TestAimsAreSetBesideWhatWasMeasured(t *testing.T) {
	small, large, idle := measured(columns[2], scenarioCronJobs, 4*time.Second), measured(columns[2], scenarioCronJobs, 4*time.Second), measured(columns[2], scenarioIdle, 0)
	large.size, idle.size = 1000, 10000
	idle.armed = 30 * time.Second
	idle.steady = steady{elapsed: time.Minute, own: counts{"worker GET": 20, "bridge PUT": 10}, usage: []processUsage{{name: "worker", peakBytes: 250e6}, {name: "bridge", peakBytes: 60e6}}}
	assert.Equal(t, [][]string{
		{"1000 CronJobs due in the same minute: due time to Job created, p99", "2.00 s", "under 2.50 s"},
		{"300 CronJobs due in the same minute: processor time of a run, all processes", "17 ms", "under 50 ms"},
		{"1000 CronJobs due in the same minute: processor time of a run, all processes", "5 ms", "under 50 ms"},
		{"300 CronJobs due in the same minute: Pod ended to Job Complete, p50", "1.00 s", "under 150 ms"},
		{"1000 CronJobs due in the same minute: Pod ended to Job Complete, p50", "1.00 s", "under 150 ms"},
		{"1000 CronJobs due in the same minute: peak memory of worker and bridge", "200 MB", "under 300 MB"},
		{"10000 idle CronJobs: peak memory of worker and bridge", "310 MB", "under 500 MB"},
		{"10000 idle CronJobs: API requests of worker and bridge a second", "0.50", "under 1.00"},
		{"10000 idle CronJobs: all taken over after a cold start", "30.0 s", "under 60.0 s"},
	}, report{results: []measurement{small, large, idle}}.aims().rows)
}
