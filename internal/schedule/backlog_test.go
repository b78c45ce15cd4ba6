package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// backlogged is a CronJob with a run that is active, and behind it a trigger, and a backfill of three times, that wait.
func backlogged(t *testing.T, counts bool) *cluster {
	c := newCluster(t, cronSpec("0 * * * *", func(spec *schedule.Spec) { spec.ConcurrencyPolicy = ostinatov1.QueueConcurrent }), at("09:30"))
	c.state.CountsRequests = counts
	c.at(at("10:00")).trigger(at("10:10"))
	return c.backfill(schedule.BackfillRequest{From: at("06:00"), To: at("08:00"), Note: "a bug"}, at("10:20"))
}

// What people have asked for and waits is in the backlog of the status, and a row each of the ledger that is asked for.
func TestWhatWaitsIsShown(t *testing.T) {
	c := backlogged(t, true)
	assert.Equal(t, int32(4), c.status.Queued)
	page := schedule.PageOf(c.state, ledger.Question{Limit: 50})
	var waiting []ledger.Entry
	for _, row := range page.Rows {
		if row.Outcome == ledger.Queued {
			waiting = append(waiting, row.Entry)
		}
	}
	if assert.Len(t, waiting, 2) {
		assert.ElementsMatch(t, []int64{1, 3}, []int64{waiting[0].Times(), waiting[1].Times()})
		assert.Contains(t, waiting[0].Message+waiting[1].Message, "backfill: a bug, 3 of 3 times left")
	}
	// It is counted down as runs start, with the writes that they bring about.
	c.finish(batchv1.JobComplete, at("10:30"))
	assert.Equal(t, int32(3), c.status.Queued, "the trigger has started")
	c.finish(batchv1.JobComplete, at("10:31"))
	assert.Equal(t, int32(2), c.status.Queued, "the first time has")
	assert.Zero(t, backlogged(t, false).status.Queued, "a history that an earlier version has begun goes on without")
}

// What is taken back does not start, each has its row, and what runs goes on.
func TestWhatWaitsIsTakenBack(t *testing.T) {
	c := backlogged(t, true)
	var count int
	c.state, count = schedule.CancelTriggers(c.state)
	c.state = schedule.CancelBackfills(c.state)
	c.at(at("10:21"))
	assert.Equal(t, 1, count)
	assert.Zero(t, c.status.Queued)
	assert.Len(t, c.state.Active, 1)
	c.finish(batchv1.JobComplete, at("10:30")).at(at("10:40"))
	assert.Empty(t, c.state.Active)
	cancelled := int64(0)
	for _, row := range c.state.Ledger.Entries {
		if row.Outcome == ledger.SkippedSuperseded && row.Reason == ledger.ReasonCancelled {
			cancelled += row.Times()
		}
	}
	assert.Equal(t, int64(4), cancelled)
	c.trigger(at("10:50"))
	assert.Len(t, c.state.Active, 1, "what is asked for later starts")
}
