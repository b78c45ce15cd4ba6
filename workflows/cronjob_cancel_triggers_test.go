package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Triggers that wait are taken back by an update, where the object takes triggers at all.
func TestCronJobTriggersThatWaitAreTakenBack(t *testing.T) {
	for name, test := range map[string]struct {
		refused string
		runs    schedule.TriggerRuns
		count   int
		started int
	}{
		"taken":   {runs: schedule.RunsNone, count: 2, started: 1},
		"refused": {refused: "the object does not accept trigger", runs: schedule.RunsRefused, started: 3},
	} {
		k := newCronJobKube(t)
		k.noBackfill = test.refused
		k.runs = []time.Duration{10 * time.Minute, time.Second}
		spec := cron("0 0 1 1 *", ostinatov1.QueueConcurrent)
		for _, delay := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute} {
			k.updateOf(protocol.TriggerUpdate, delay, protocol.TriggerRequest{})
		}
		alone := k.updateOf(protocol.TriggerUpdate, 4*time.Minute, map[string]any{"cancel": true, "overlap": "Allow"})
		cancel := k.updateOf(protocol.TriggerUpdate, 5*time.Minute, protocol.TriggerRequest{Cancel: true})
		k.runUntil(20*time.Minute, spec)
		assert.Error(t, alone.rejected, name)
		assert.Equal(t, protocol.TriggerAnswer{Runs: test.runs, Cancelled: test.count, Reason: test.refused}, cancel.trigger, name)
		assert.Len(t, k.jobs, test.started, name)
	}
}
