package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func largeJob(c column, complete time.Duration, h *histories) measurement {
	m := measured(c, scenarioIndexed, 0)
	m.size = 1000
	m.writes = counts{"POST pods": 1000, "POST jobs": 1, "APPLY jobs/status": 3}
	m.one = &oneJob{
		pods: 1000, maxThere: 500, maxRunning: 40, complete: complete, lastCreated: complete / 2,
		toRelease: []time.Duration{time.Second}, toComplete: 50 * time.Millisecond, longestIndexes: 12000, histories: h,
	}
	return m
}

func TestReportOfAJobOfManyPods(t *testing.T) {
	left := &histories{
		runs:   []history{{events: 900, bytes: 4e6, carried: 150000}, {events: 100, bytes: 1e6}},
		events: counts{"WORKFLOW_EXECUTION_SIGNALED": 600, "MARKER_RECORDED": 400},
		bytes:  counts{"WORKFLOW_EXECUTION_SIGNALED": 4e6, "MARKER_RECORDED": 1e6},
	}
	r := report{options: options{parallelism: 500, repeats: 1}, results: []measurement{
		largeJob(columns[1], 10*time.Second, nil), largeJob(columns[2], 8*time.Second, left),
	}}
	tables := r.tables()
	assert.Len(t, tables, 5, "figures, usage, writes, histories, events; no calls, no comparison")
	assert.Contains(t, text(tables[0]), `
one Indexed Job, completions 1000, parallelism 500
                                         built-in, limits removed   Ostinato
  Pods Complete per second                                  100.0      125.0
  Job Complete after                                       10.0 s     8.00 s
`)
	assert.Contains(t, text(tables[0]), "  longest status.completedIndexes                           12 kB      12 kB\n")
	assert.Contains(t, text(tables[2]), `
one Indexed Job, completions 1000, parallelism 500: Kubernetes writes for each Pod
  request             built-in, limits removed   Ostinato
  POST pods                               1.00       1.00
  APPLY jobs/status                   3 in all   3 in all
`)
	assert.NotContains(t, text(tables[2]), "POST jobs", "the bench made the Job")
	assert.Contains(t, text(tables[3]), `
                               Ostinato
  runs (continued as new)             2
  events                           1000
  events for each Pod              1.00
  size                           5.0 MB
  size for each Pod              5000 B
  largest history, events           900
  largest history, size          4.0 MB
  largest state carried over     150 kB
`)
	assert.Contains(t, text(tables[4]), "  WORKFLOW_EXECUTION_SIGNALED   600, 4.0 MB\n  MARKER_RECORDED               400, 1.0 MB\n")
}
