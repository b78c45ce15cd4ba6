package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// The row of a run that a person has stopped says so, also where who it was is read off the Job later, and after the workflow is lost.
func TestTheRowOfAStoppedRunSaysByWhom(t *testing.T) {
	assert.Equal(t, event.Stopped, ledger.ResultReasonStopped)
	const by = "by ada (claimed): it hangs"
	for name, reads := range map[string][]string{"read at once": {by}, "read later": {"", by}, "read again": {by, ""}, "read as another": {by, "by bob"}} {
		c := newCluster(t, cronSpec("0 * * * *", limits(3, 3)), at("09:30")).at(at("09:30")).at(at("10:00"))
		run := c.state.Active[0]
		for _, stopped := range reads {
			c.state = schedule.Finish(c.state, c.spec, schedule.Finished{
				Run: run, Condition: batchv1.JobFailed, EndTime: at("10:05"), Reason: event.Stopped, Stopped: stopped, FailedPods: 1,
			})
		}
		c.at(at("10:06"))
		row := c.state.Ledger.Entries[0]
		assert.Equal(t, [3]string{"Failed", "Stopped", by}, [3]string{string(row.Result), row.ResultReason, row.Stopped}, name)
		kept := c.status.RecentRuns[0]
		assert.Equal(t, by, kept.Stopped, name)
		assert.Equal(t, "Job "+run.Name+" has failed: Stopped "+by, c.condition(ostinatov1.ConditionLastRunSucceeded).Message, name)
		again := restored(t, c.spec, at("09:30"), c.status, c.ended)
		assert.Equal(t, by, again.state.Ledger.Entries[0].Stopped, name)
	}
}

// Who has stopped a run says nothing of one that has ended in another way.
func TestWhoHasStoppedARunIsKeptOfStoppedOnesAlone(t *testing.T) {
	row := ledger.Entry{Outcome: ledger.Started, End: ledger.End{Result: ledger.Failed, ResultReason: "DeadlineExceeded"}}
	stopped := ledger.End{Result: ledger.Failed, ResultReason: ledger.ResultReasonStopped, Stopped: "by ada"}
	assert.Equal(t, row, row.WithEnd(stopped))
	row.End = ledger.End{Result: ledger.Deleted}
	assert.Equal(t, stopped, row.WithEnd(stopped).End, "one that is gone")
}

// A person who stops a run has seen it: it is none of the failures in a row, and does not end them.
func TestAStoppedRunIsNoFailureInARow(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", pauseAfter(2)), at("09:30")).at(at("09:30")).runs(batchv1.JobFailed)
	for _, hour := range []string{"11:00", "12:00", "13:00"} {
		c.at(at(hour))
		c.ends(c.state.Active[0], batchv1.JobFailed, hour[:3]+"05", 1, event.Stopped)
	}
	assert.Equal(t, int32(1), c.status.ConsecutiveFailures)
	assert.False(t, c.spec.Suspend)
	c.runs(batchv1.JobFailed)
	assert.True(t, c.spec.Suspend, "the second that failed by itself")
}
