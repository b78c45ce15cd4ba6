package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func measured(c column, scenario string, all time.Duration) measurement {
	return measurement{
		column: c, scenario: scenario, size: 300, pods: 300, elapsed: time.Minute, peaksReset: true,
		created: 2 * time.Second,
		spans: spans{
			fromStart: []time.Duration{all / 2}, podFromStart: []time.Duration{all / 2}, toPod: []time.Duration{100 * time.Millisecond},
			toComplete: []time.Duration{time.Second}, whole: []time.Duration{2 * time.Second}, all: all,
		},
		usage: []processUsage{
			{name: "etcd", cpuSeconds: 1.5, peakBytes: 60e6}, {name: "worker", cpuSeconds: 2, peakBytes: 100e6},
			{name: "worker", cpuSeconds: 1, peakBytes: 100e6}, {name: postgres, cpuSeconds: 0.5}, {name: "bench", cpuSeconds: 1, peakBytes: 60e6}, {name: others, cpuSeconds: 0.5},
		},
		writes: counts{"POST jobs": 300, "POST pods": 300, "PATCH pods/status": 600, "PUT leases": 9, "POST events": 150, "PUT jobs/status (409)": 3},
	}
}

func text(t table) string {
	var out bytes.Buffer
	t.writeText(&out)
	return out.String()
}

func TestReportTables(t *testing.T) {
	results := []measurement{measured(columns[0], scenarioJobs, 88500*time.Millisecond), measured(columns[2], scenarioJobs, 6*time.Second)}
	results[1].calls = counts{"worker RespondWorkflowTaskCompleted": 900}
	r := report{results: results, options: options{columns: columns, repeats: 1}}
	tables := r.tables()
	assert.Contains(t, text(tables[0]), `
300 Jobs created at once
                                     built-in, default flags   Ostinato
  Jobs Complete per second                               3.4       50.0
  first create to Pod created, p50                    44.2 s     3.00 s
  first create to Pod created, p99                    44.2 s     3.00 s
  first create to Pod created, max                    44.2 s     3.00 s
  all Complete after                                  88.5 s     6.00 s
`)
	assert.Contains(t, text(tables[1]), `
  process                          built-in, default flags        Ostinato
  etcd                                        1.5 s, 60 MB    1.5 s, 60 MB
  worker                                     3.0 s, 200 MB   3.0 s, 200 MB
  postgres                                           0.5 s           0.5 s
  bench                                       1.0 s, 60 MB    1.0 s, 60 MB
  all above but the bench                    5.0 s, 260 MB   5.0 s, 260 MB
  everything else on the machine                     0.5 s           0.5 s
`)
	assert.Contains(t, text(tables[2]), `
  request                 built-in, default flags   Ostinato
  POST pods                                  1.00       1.00
  POST events                                0.50       0.50
  PUT jobs/status (409)                      0.01       0.01
  all but Events                             1.01       1.01
  Events                                     0.50       0.50
`)
	assert.Contains(t, text(tables[3]), `
  call                                  Ostinato
  worker RespondWorkflowTaskCompleted       3.00
`)
	assert.Contains(t, text(tables[4]), `
Ostinato against: built-in, default flags
                                                              built-in, default flags   Ostinato   times better             aim
  300 Jobs created at once: Complete per second                                   3.4       50.0          14.75   15.00 or more
  300 Jobs created at once: all Complete                                       88.5 s     6.00 s          14.75               -
  300 Jobs created at once: processor time of all processes                     5.0 s      5.0 s           1.00               -
`)
}

func TestCreatesOfCronJobsRunsCount(t *testing.T) {
	m := measured(columns[2], scenarioCronJobs, 6*time.Second)
	assert.Equal(t, 300.0, m.controllerWrites()["POST jobs"], "the controller created them, not the bench")
}

func TestADisturbedMeasurementSaysSo(t *testing.T) {
	m := measured(columns[2], scenarioJobs, 6*time.Second)
	m.usage[5].cpuSeconds = 60 * 1000
	assert.Contains(t, text(usageTable("300 Jobs", groups([]measurement{m}, m.scenario, m.size))), "Ostinato: other programs took")
}

func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	example := table{title: "T", header: []string{"", "a"}, rows: [][]string{{"x | y", "1"}}, notes: []string{"note"}}
	example.writeMarkdown(&out)
	assert.Equal(t, "\n### T\n\n|  | a |\n|---|---:|\n| x \\| y | 1 |\n\nnote.\n", out.String())
}

func TestDurationsKeepMeaningfulDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Microsecond: "2 ms", 999 * time.Millisecond: "999 ms", 1234 * time.Millisecond: "1.23 s", 88500 * time.Millisecond: "88.5 s",
	} {
		assert.Equal(t, want, seconds(d))
	}
}

func TestSchedulesAreDueOnceAYear(t *testing.T) {
	due := time.Date(2026, 11, 21, 9, 45, 0, 0, time.UTC)
	assert.Equal(t, "45 9 21 11 *", schedule(due))
	assert.Equal(t, newCronJob("node", schedule(due), 7).Spec.JobTemplate, newOstinatoCronJob("node", schedule(due), 7).Spec.JobTemplate)
	assert.Equal(t, "45,48 9 21 11 *", schedule(due, due.Add(3*time.Minute)))
	assert.Equal(t, "58,1 9,10 21 11 *", schedule(due.Add(13*time.Minute), due.Add(16*time.Minute)))
}
