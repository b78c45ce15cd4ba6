package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// TestAnAttemptWhoseAnswerIsLostHasStartedItsRun: the one that repeats it finds the Job.
func TestAnAttemptWhoseAnswerIsLostHasStartedItsRun(t *testing.T) {
	for name, spec := range map[string]schedule.Spec{
		"under Forbid":                 cronSpec("0 * * * *", forbid),
		"under Replace":                cronSpec("0 * * * *", replace),
		"after its starting deadline":  cronSpec("0 * * * *", deadline(1)),
		"where runs start in an order": cronSpec("0 * * * *", queue),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, spec, at("09:30")).at(at("09:30"))
			c.forget = true
			c.at(at("10:00"))
			wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
			if len(c.starts) != 1 || len(c.state.Active) != 1 || len(c.status.Active) != 1 {
				t.Errorf("%d starts, active %v, in status %v", len(c.starts), c.state.Active, c.status.Active)
			}
		})
	}
}

func TestAJobThatNobodyStartedIsTakenIn(t *testing.T) {
	made := schedule.Run{Name: "hello-by-hand", UID: "by-hand", Scheduled: at("09:40"), Manual: true, Started: at("09:40")}
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("09:30"))
	c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: made}})
	c.at(at("09:41"))
	wantStrings(t, "events", c.reasons(), "UnexpectedJob")
	wantStrings(t, "ledger", c.ledger(), "19T09:40:00 Started manual")
	c.at(at("10:00"))
	wantStrings(t, "runs, which Forbid holds back", c.started())
	c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: made}})
	c.at(at("10:00:01"))
	wantStrings(t, "events, when it is found again", c.reasons(), "UnexpectedJob", "JobAlreadyActive")
}

// TestAJobThatHadEndedWhenItWasFoundIsInTheStatus: its row is a write's worth, even where nothing else of the status changes.
func TestAJobThatHadEndedWhenItWasFoundIsInTheStatus(t *testing.T) {
	c := newCluster(t, cronSpec("0 0 1 1 *"), at("09:30")).at(at("09:30")).trigger(at("09:40"))
	c.finish(jobComplete, at("09:41"))
	made := schedule.Run{Name: "hello-by-hand", UID: "by-hand", Scheduled: at("09:40"), Manual: true, Started: at("09:40")}
	for _, condition := range []batchv1.JobConditionType{jobComplete, jobFailed} {
		made.Name, made.UID = made.Name+"-again", made.UID+"-again"
		ended := schedule.Finished{Run: made, Condition: condition, EndTime: at("09:41"), StartTime: at("09:40")}
		if condition == jobComplete {
			ended.CompletionTime = at("09:41")
		}
		c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: made, Finished: &ended}})
		c.at(at("09:50"))
		if row := c.status.RecentRuns[0]; row.JobName != made.Name || row.Result != string(condition) || c.status.LastResult != string(condition) {
			t.Errorf("the newest row of the status is %+v and lastResult %s, want %s, %s", row, c.status.LastResult, made.Name, condition)
		}
		writes := c.writes
		if c.at(at("09:51")); c.writes != writes {
			t.Error("it is written again")
		}
	}
}

func TestAStatusThatCantBeWrittenStopsNoRun(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	c.refuseStatus = true
	c.at(at("09:30"))
	wantTime(t, "wake for the status", c.wake, "09:30:10")
	c.at(at("10:00")).at(at("11:00"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	calls := c.calls
	if c.at(at("11:00:01")); c.calls != calls {
		t.Error("the status is tried again at once")
	}
	c.refuseStatus = false
	c.at(c.wake)
	if c.status.LastScheduleTime == nil || !c.status.LastScheduleTime.Time.Equal(at("11:00")) || len(c.status.Active) != 2 {
		t.Errorf("status %+v", c.status)
	}
}

func TestAnotherPlanDoesNotEndTheBackoffOfHistoryDeletes(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", limits(0, 0)), at("09:30")).at(at("10:00"))
	c.stuck = []string{c.starts[0].Name}
	c.finish("Complete", at("10:05"))
	wantTime(t, "wake", c.wake, "10:05:10")
	before := c.state.Prune
	c.trigger(at("10:05:05"))
	if c.state.Prune != before {
		t.Errorf("the back-off is %+v, was %+v", c.state.Prune, before)
	}
}

// An edited schedule counts from its edit, also for a workflow that starts over from the
// object.
func TestTheTimesBeforeAnEditStaySettledWhenTheWorkflowStartsOver(t *testing.T) {
	c := newCluster(t, cronSpec("0 6 * * *"), at("2016-05-18T09:30:00Z")).at(at("2016-05-19T06:00:00Z"))
	c.edit(at("12:10"), func(s *schedule.Spec) { s.Schedule = "0 * * * *" })
	anew := restored(t, c.spec, at("2016-05-18T09:30:00Z"), c.status, nil).at(at("12:20"))
	wantStrings(t, "runs", anew.started())
	anew.at(at("13:00"))
	wantStrings(t, "runs", anew.started(), "2016-05-19T13:00:00Z")
}

// TestAJobOfABackfillThatIsFoundHasTheRowOfOneThatWasStarted: the answer to its create was not clear.
func TestAJobOfABackfillThatIsFoundHasTheRowOfOneThatWasStarted(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
	request := between("05:00", "05:00")
	request.Note, request.By = "lost", "ada"
	c.state = schedule.AddBackfill(c.state, c.spec, request, "", []time.Time{at("05:00")}, at("09:40"))
	made := schedule.Run{
		Name: names.BackfilledJob(cronJobName, cronJobUID, c.state.TriggerSequence, at("05:00")), UID: "late", Scheduled: at("05:00"), Manual: true, Started: at("09:40:30"),
	}
	c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: made}})
	c.at(at("09:41"))
	wantStrings(t, "ledger", c.ledger(), "19T05:00:00 Started manual")
	if row := c.state.Ledger.Entries[0]; row.Message != "backfill: lost" || row.By != "ada" {
		t.Errorf("the row is %+v, want the note and the sender of the backfill", row)
	}
}

// TestAJobThatAPersonHasMadeIsNoRunOfAnothers, whatever its name is: the run that was asked for waits, and the row is the person's.
func TestAJobThatAPersonHasMadeIsNoRunOfAnothers(t *testing.T) {
	for name, ask := range map[string]func(*cluster) (job string, scheduled time.Time){
		"a trigger": func(c *cluster) (string, time.Time) {
			c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{Asked: ledger.Asked{User: "ada", Through: ledger.ThroughSignal}}, at("09:40"))
			return names.TriggeredJob(cronJobName, cronJobUID, c.state.TriggerSequence), at("09:40")
		},
		"a backfill": func(c *cluster) (string, time.Time) {
			c.state = schedule.AddBackfill(c.state, c.spec, between("05:00", "05:00"), "ada", []time.Time{at("05:00")}, at("09:40"))
			return names.BackfilledJob(cronJobName, cronJobUID, c.state.TriggerSequence, at("05:00")), at("05:00")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
			made := schedule.Run{
				UID: "by-hand", Started: at("09:40:10"), Manual: true, Asked: ledger.Asked{User: "mallory", Through: ledger.ThroughJob},
			}
			made.Name, made.Scheduled = ask(c)
			c.refusal, c.refuse = ledger.ForeignObject, func(schedule.Start) string { return "mallory has made it" }
			c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: made}})
			c.at(at("09:41"))
			if row := c.state.Ledger.Entries[0]; row.Job != made.Name || row.User != "mallory" || row.Through != ledger.ThroughJob {
				t.Errorf("the row of the Job is %+v", row)
			}
			if len(c.state.Triggers)+len(c.state.Backfills) != 1 {
				t.Errorf("what was asked for waits no longer: %+v", c.state.Ledger.Entries)
			}
		})
	}
}

// A create may have had no answer, and the Job be found by a look.
func TestTheJobOfATriggerThatIsFoundNamesItsCaller(t *testing.T) {
	for name, test := range map[string]struct {
		sent, believes bool
		user           string
	}{
		"a caller who is believed":      {true, true, "ada"},
		"one who is not":                {true, false, ""},
		"a trigger that was never sent": {false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *"), at("09:15")).at(at("09:30"))
			request := schedule.TriggerRequest{Asked: ledger.Asked{By: "oncall", Through: ledger.ThroughSignal}, Caller: "ada"}
			plan := schedule.Decide(schedule.AddTrigger(c.state, request, at("09:40")), c.spec, at("09:40"))
			state := plan.Next
			if test.sent {
				state = schedule.Apply(plan, schedule.Report{Unclear: true}, at("09:40"))
			}
			if test.believes {
				state = schedule.BelieveCallers(state)
			}
			found := schedule.Run{Name: plan.Start.Name, UID: "uid", Scheduled: at("09:40"), Started: at("09:40"), Manual: true}
			rows := schedule.Decide(schedule.RecoverJobs(state, []schedule.RecoveredJob{{Run: found}}), c.spec, at("09:41")).Next.Rows()
			assert.Equal(t, ledger.Asked{By: "oncall", User: test.user, Through: ledger.ThroughSignal}, rows[len(rows)-1].Asked)
		})
	}
}
