package schedule_test

import (
	"reflect"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// ends tells the planner how a run has ended.
func (c *cluster) ends(run schedule.Run, condition batchv1.JobConditionType, when string, attempts int32, reason string) {
	finished := schedule.Finished{Run: run, Condition: condition, EndTime: at(when), FailedPods: attempts, Reason: reason}
	c.remove(run.Name, run.UID)
	c.ended = append(c.ended, finished)
	c.state = schedule.Finish(c.state, c.spec, finished)
	c.at(at(when))
}

func TestTheRowOfARunSaysHowItEnded(t *testing.T) {
	for name, test := range map[string]struct {
		do       func(*cluster, schedule.Run)
		result   ledger.Result
		reason   string
		took     string
		attempts int32
	}{
		"it runs":  {func(*cluster, schedule.Run) {}, "", "", "", 0},
		"complete": {func(c *cluster, r schedule.Run) { c.ends(r, batchv1.JobComplete, "10:05", 2, "CompletionsReached") }, ledger.Complete, "", "5m0s", 2},
		"failed": {func(c *cluster, r schedule.Run) { c.ends(r, batchv1.JobFailed, "10:05", 7, "BackoffLimitExceeded") },
			ledger.Failed, "BackoffLimitExceeded", "5m0s", 7},
		"deleted": {func(c *cluster, r schedule.Run) {
			c.state = schedule.Missing(c.state, r, at("10:03"))
			c.at(at("10:03"))
		}, ledger.Deleted, "", "3m0s", 0},
		"replaced": {func(c *cluster, _ schedule.Run) { c.edit(at("10:30"), replace).at(at("11:00")) }, ledger.Deleted, "Replaced", "1h0m0s", 0},
		"complete, and then deleted": {func(c *cluster, r schedule.Run) {
			c.ends(r, batchv1.JobComplete, "10:05", 0, "")
			c.state = schedule.Missing(c.state, r, at("10:30"))
		}, ledger.Complete, "", "5m0s", 0},
		"failed, told twice": {func(c *cluster, r schedule.Run) {
			c.ends(r, batchv1.JobFailed, "10:05", 1, "DeadlineExceeded")
			c.ends(r, batchv1.JobFailed, "10:06", 1, "DeadlineExceeded")
		}, ledger.Failed, "DeadlineExceeded", "5m0s", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30")).at(at("10:00"))
			test.do(c, c.state.Active[0])
			row := c.state.Ledger.Entries[0]
			if row.Result != test.result || row.ResultReason != test.reason || row.Took() != test.took || row.FailedAttempts != test.attempts {
				t.Errorf("%s, %s after %s, %d failed attempts", row.Result, row.ResultReason, row.Took(), row.FailedAttempts)
			}
			last := c.status.RecentRuns[len(c.status.RecentRuns)-1]
			if last.Result != string(test.result) || last.ResultReason != test.reason || last.FailedAttempts != test.attempts {
				t.Errorf("status says %+v", last)
			}
		})
	}
}

func TestARunThatTheWorkflowBeforeHasStartedHasItsResult(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", limits(3, 3)), at("09:30"))
	run := schedule.Run{Name: names.ScheduledJob(cronJobName, at("10:00")), UID: "unlisted", Scheduled: at("10:00"), Started: at("10:00")}
	c.ended = append(c.ended, schedule.Finished{Run: run, Condition: batchv1.JobFailed, EndTime: at("10:05"), FailedPods: 3})
	c.at(at("11:00"))
	if row := c.state.Ledger.Entries[0]; row.Outcome != ledger.Started || row.Result != ledger.Failed || row.FailedAttempts != 3 {
		t.Errorf("got %+v", row)
	}
	if c.status.ConsecutiveFailures != 1 {
		t.Errorf("%d failures", c.status.ConsecutiveFailures)
	}
}

func TestFailuresInARow(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	c.ends(c.state.Active[0], batchv1.JobFailed, "10:05", 1, "")
	c.at(at("11:00")).ends(c.state.Active[0], batchv1.JobFailed, "11:05", 1, "")
	c.at(at("12:00"))
	c.state = schedule.Missing(c.state, c.state.Active[0], at("12:01"))
	c.at(at("12:01"))
	if c.status.ConsecutiveFailures != 2 {
		t.Errorf("%d failures: a run that was deleted has neither failed nor not", c.status.ConsecutiveFailures)
	}
	wantTime(t, "last failure", c.status.LastFailureTime.Time, "11:05")
	c.at(at("13:00")).ends(c.state.Active[0], batchv1.JobComplete, "13:05", 1, "")
	if c.status.ConsecutiveFailures != 0 || c.status.LastFailureTime == nil || c.status.LastOutcome != "Started" {
		t.Errorf("got %+v", c.status)
	}
}

// A run costs two writes of status, and its row and its result are in these.
func TestTheLedgerInStatusCostsNoWrite(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
	c.calls = 0
	c.at(at("10:00"))
	// The start, and then the status.
	if row := c.status.RecentRuns[0]; c.calls != 2 || row.Outcome != "Started" || row.Result != "" || !row.StartTime.Time.Equal(at("10:00")) {
		t.Errorf("%d calls, row %+v", c.calls, row)
	}
	c.finish(batchv1.JobFailed, at("10:01"))
	if row := c.status.RecentRuns[0]; c.calls != 3 || row.Result != "Failed" || !row.EndTime.Time.Equal(at("10:01")) {
		t.Errorf("%d calls, row %+v", c.calls, row)
	}
}

func TestStatusRecorded(t *testing.T) {
	start := schedule.Start{Name: "hello-1", Scheduled: at("10:00"), WhyLate: ledger.ReasonOutage}
	run := schedule.Run{Name: "hello-1", UID: "u1", Started: at("10:05")}
	before := ostinatov1.CronJobStatus{RecentRuns: make([]ostinatov1.RecentRun, 10), LastOutcome: "SkippedOverlap"}
	once := schedule.StatusRecorded(before, start, run)
	if row := once.RecentRuns[0]; len(once.RecentRuns) != 10 || row.Outcome != "StartedLate" || row.Reason != "Outage" || once.LastOutcome != "StartedLate" {
		t.Errorf("got %+v", once)
	}
	if twice := schedule.StatusRecorded(once, start, run); !reflect.DeepEqual(twice, once) {
		t.Errorf("not idempotent: %+v", twice)
	}
	if before.LastOutcome != "SkippedOverlap" || before.RecentRuns[0].Outcome != "" {
		t.Error("its argument was changed")
	}
}

// Temporal has lost its data: what the object says goes on.
func TestTheLedgerIsRestoredFromTheObject(t *testing.T) {
	old := newCluster(t, cronSpec("0 * * * *", forbid), at("08:30")).at(at("09:00"))
	old.ends(old.state.Active[0], batchv1.JobFailed, "09:10", 7, "BackoffLimitExceeded")
	old.at(at("10:00")).at(at("11:00")).at(at("12:00")).trigger(at("12:30"))
	c := restored(t, old.spec, at("08:30"), old.status, nil)
	again := schedule.StatusOf(c.state, c.spec)
	if !reflect.DeepEqual(again.RecentRuns, old.status.RecentRuns) || again.ConsecutiveFailures != 1 ||
		again.LastOutcome != old.status.LastOutcome || !again.LastFailureTime.Equal(old.status.LastFailureTime) {
		t.Errorf("got  %+v\nwant %+v", again, old.status)
	}
	c.at(at("13:00"))
	wantStrings(t, "ledger", c.ledger(), "19T09:00:00 Started", "19T10:00:00 Started", "19T11:00:00 SkippedOverlap JobAlreadyActive",
		"19T12:00:00 SkippedSuperseded Outage")
	if row := c.state.Ledger.Entries[0]; row.Result != ledger.Failed || row.Took() == "" || row.Took() == "0s" {
		t.Errorf("got %+v", row)
	}
}
