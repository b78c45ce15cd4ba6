package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestColumnsTakeTurns(t *testing.T) {
	o, err := parseOptions([]string{"--repeats=2", "--columns=builtin-unlimited,ostinato", "--scenarios=jobs", "--sizes=20,30"})
	require.NoError(t, err)
	var order []string
	for _, one := range o.trials() {
		order = append(order, fmt.Sprintf("%d %s %d", one.size, one.column.name, one.repeat))
	}
	assert.Equal(t, []string{
		"20 builtin-unlimited 0", "20 ostinato 0", "20 builtin-unlimited 1", "20 ostinato 1",
		"30 builtin-unlimited 0", "30 ostinato 0", "30 builtin-unlimited 1", "30 ostinato 1",
	}, order)
}

func TestASlowColumnIsLeftOutOfLargeSizesOnly(t *testing.T) {
	o, err := parseOptions([]string{"--repeats=1", "--sizes=20,1000", "--scenarios=cronjobs"})
	require.NoError(t, err)
	assert.Len(t, o.trials(), 5)
	assert.Empty(t, o.leftOut())
	o.sizes = []int{1000}
	assert.Len(t, o.trials(), 2)
	assert.Equal(t, []string{"builtin"}, o.leftOut())
}

func TestNamespacesAreOfOneTrialEach(t *testing.T) {
	o, err := parseOptions([]string{"--full", "--scenarios=jobs,cronjobs,native,failover,idle,running,indexed,together", "--sizes=1,10"})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, one := range o.trials() {
		assert.False(t, seen[one.namespace()], one.namespace())
		seen[one.namespace()] = true
		assert.LessOrEqual(t, len(one.namespace()), 63)
	}
	assert.Len(t, seen, 8*2*3*3)
}

func TestTakeOverIsOfScenarioNativeAlone(t *testing.T) {
	for _, c := range columns {
		assert.Equal(t, !c.ostinato, c.in(scenarioCronJobs).native(), "%s has the CronJobs of its own API", c.name)
		assert.True(t, c.in(scenarioNative).native(), c.name)
		assert.Equal(t, c.ostinato, c.in(scenarioNative).takeOver, c.name)
	}
}

func TestARowShowsTheSpreadOverTheRepeats(t *testing.T) {
	first, second, third := measured(columns[1], scenarioJobs, 0), measured(columns[2], scenarioJobs, 0), measured(columns[1], scenarioJobs, 0)
	third.repeat = 1
	first.pods, second.pods, third.pods = 10, 20, 30
	both := groups([]measurement{first, second, third}, scenarioJobs, 300)
	require.Len(t, both, 2, "one column each")
	table := header("T", "", both)
	table.row("Pods", both, func(m measurement) float64 { return float64(m.pods) }, whole)
	table.row("not there", both, func(measurement) float64 { return absent }, whole)
	assert.Equal(t, [][]string{{"Pods", "20 (10..30)", "20"}, {"not there", "-", "-"}}, table.rows)
	assert.Empty(t, groups([]measurement{first}, scenarioJobs, 1000))
	assert.Len(t, with(both, func(m measurement) bool { return m.pods == 20 }), 1)
}
