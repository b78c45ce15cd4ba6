package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATimeWithoutAnythingToDoIsShownByTheMinute(t *testing.T) {
	m := measured(columns[2], scenarioRunning, 0)
	m.running = 3 * time.Second
	m.steady = steady{
		elapsed:  2 * time.Minute,
		own:      counts{"bridge PUT": 48, "worker GET": 4},
		calls:    counts{"worker PollWorkflowTaskQueue": 20},
		requests: counts{"PUT leases": 60, "GET jobs": 4},
		usage:    []processUsage{{name: "worker", cpuSeconds: 0.5, peakBytes: 90e6}},
	}
	own := groups([]measurement{m}, m.scenario, m.size)
	all := steadyTables("Jobs", own)
	require.Len(t, all, 2)
	assert.Equal(t, `
Jobs, over 2m0s without anything to do: requests a minute
                                             Ostinato
  worker and bridge to the API server, all       26.0
    bridge PUT                                   24.0
    worker GET                                    2.0
  worker and bridge to Temporal, all             10.0
    Temporal: worker PollWorkflowTaskQueue       10.0
  the API server, from everybody                 32.0
    API server: PUT leases                       30.0
    API server: GET jobs                          2.0
  (everybody: also the node, leases, the other built-in controllers and the API server itself)
`, text(all[0]))
	assert.Contains(t, text(all[1]), "  worker                           0.5 s, 90 MB\n")
	assert.Contains(t, text(figureTable("Jobs", own)), "  all Pods Running after")
	m.steady = steady{}
	assert.Empty(t, steadyTables("Jobs", groups([]measurement{m}, m.scenario, m.size)))
}
