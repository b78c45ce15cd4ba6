package schedule_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

const week = "2016-05-26T10:00:00Z"

// The behaviours of upstream's TestControllerV2SyncCronJob, with its times: the
// schedule is hourly, a previous run was at 09:01.
func TestPlanStartsAsUpstreamDoes(t *testing.T) {
	type result struct {
		starts  int
		deletes int
		active  int
		events  []string
	}
	const hourly, noTime, past, onTime = "0 * * * ?", "09:59", "10:11:01", "10:01"
	never, done, active := "never ran", "ran and done", "still active"
	for name, test := range map[string]struct {
		spec schedule.Spec
		prev string
		now  string
		want result
	}{
		"bad schedule, Allow":    {cronSpec("obvious error schedule"), never, noTime, result{0, 0, 0, []string{"UnparseableSchedule"}}},
		"bad schedule, Forbid":   {cronSpec("obvious error schedule", forbid), never, noTime, result{0, 0, 0, []string{"UnparseableSchedule"}}},
		"unknown zone":           {cronSpec(hourly, zone("bad/zone")), never, onTime, result{0, 0, 0, []string{"UnknownTimeZone"}}},
		"impossible date":        {cronSpec("0 0 31 2 *"), never, onTime, result{0, 0, 0, []string{"NeverFires"}}},
		"zone in schedule":       {cronSpec("TZ=UTC " + hourly), never, onTime, result{1, 0, 1, []string{"UnsupportedSchedule"}}},
		"never, not time":        {cronSpec(hourly), never, noTime, result{}},
		"never, time, Allow":     {cronSpec(hourly), never, onTime, result{1, 0, 1, nil}},
		"never, time, Forbid":    {cronSpec(hourly, forbid), never, onTime, result{1, 0, 1, nil}},
		"never, time, Replace":   {cronSpec(hourly, replace), never, onTime, result{1, 0, 1, nil}},
		"never, time, suspended": {cronSpec(hourly, suspended), never, onTime, result{}},
		"never, time, deleting":  {cronSpec(hourly, deleting), never, onTime, result{}},
		"never, past deadline":   {cronSpec(hourly, deadline(10)), never, past, result{0, 0, 0, []string{"MissSchedule"}}},
		"never, in deadline":     {cronSpec(hourly, deadline(1000000)), never, onTime, result{1, 0, 1, nil}},

		"done, not time":           {cronSpec(hourly), done, noTime, result{}},
		"done, time, Allow":        {cronSpec(hourly), done, onTime, result{1, 0, 1, nil}},
		"done, time, Forbid":       {cronSpec(hourly, forbid), done, onTime, result{1, 0, 1, nil}},
		"done, time, Replace":      {cronSpec(hourly, replace), done, onTime, result{1, 0, 1, nil}},
		"done, time, suspended":    {cronSpec(hourly, suspended), done, onTime, result{}},
		"done, past deadline":      {cronSpec(hourly, deadline(10)), done, onTime, result{0, 0, 0, []string{"MissSchedule"}}},
		"done, on time, deadline0": {cronSpec(hourly, deadline(0)), done, "10:00", result{1, 0, 1, nil}},
		"done, late, deadline0":    {cronSpec(hourly, deadline(0)), done, "10:00:01", result{0, 0, 0, []string{"MissSchedule"}}},

		"active, not time":                {cronSpec(hourly), active, noTime, result{0, 0, 1, nil}},
		"active, time, Allow":             {cronSpec(hourly), active, onTime, result{1, 0, 2, nil}},
		"active, time, Forbid":            {cronSpec(hourly, forbid), active, onTime, result{0, 0, 1, []string{"JobAlreadyActive"}}},
		"active, time, Replace":           {cronSpec(hourly, replace), active, onTime, result{1, 1, 1, nil}},
		"active, time, suspended":         {cronSpec(hourly, suspended), active, onTime, result{0, 0, 1, nil}},
		"active, past deadline":           {cronSpec(hourly, deadline(10)), active, onTime, result{0, 0, 1, []string{"MissSchedule"}}},
		"active, past deadline, Forbid":   {cronSpec(hourly, deadline(10), forbid), active, onTime, result{0, 0, 1, []string{"MissSchedule"}}},
		"active, in deadline, Allow":      {cronSpec(hourly, deadline(1000000)), active, onTime, result{1, 0, 2, nil}},
		"overdue, no deadline":            {cronSpec(hourly), done, week, result{1, 0, 1, []string{"TooManyMissedTimes"}}},
		"overdue, no deadline, Forbid":    {cronSpec(hourly, forbid), done, week, result{1, 0, 1, []string{"TooManyMissedTimes"}}},
		"overdue, long deadline, Replace": {cronSpec(hourly, deadline(1000000), replace), done, week, result{1, 0, 1, []string{"TooManyMissedTimes"}}},
		"overdue, medium deadline":        {cronSpec(hourly, deadline(7200)), done, week, result{1, 0, 1, nil}},
		"overdue, short deadline":         {cronSpec(hourly, deadline(10)), done, week, result{1, 0, 1, nil}},
		"time drifted back":               {cronSpec(hourly), done, "08:30", result{}},
	} {
		t.Run(name, func(t *testing.T) {
			created, status := at("09:59"), ostinatov1.CronJobStatus{}
			if test.prev != never {
				created = at("08:59")
				status.LastScheduleTime = &metav1.Time{Time: at("09:01")}
			}
			if test.prev == active {
				run := schedule.Run{Name: "hello-24394141", UID: "1234", Scheduled: at("09:01")}
				status = schedule.StatusStarted(status, run, namespace)
			}
			c := restored(t, test.spec, created, status, nil).at(at(test.now))
			if len(c.starts) != test.want.starts || len(c.deletes) != test.want.deletes || len(c.state.Active) != test.want.active {
				t.Errorf("got %d starts, %d deletes, %d active, want %+v", len(c.starts), len(c.deletes), len(c.state.Active), test.want)
			}
			wantStrings(t, "events", c.reasons(), test.want.events...)
			if len(c.status.Active) != test.want.active {
				t.Errorf("status has %d active, want %d", len(c.status.Active), test.want.active)
			}
			c.calls = 0
			if c.at(c.now); c.calls != 0 {
				t.Errorf("planning again acted %d times", c.calls)
			}
		})
	}
}

func TestSteadyStateCostsThreeCallsARunAndOneEvaluationInTen(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10"))
	c.calls, c.evaluations = 0, 0
	for range 100 {
		c.at(c.wake).finish(batchv1.JobComplete, c.wake.Add(-50*time.Second))
	}
	if c.calls != 300 || c.evaluations != 10 || len(c.starts) != 100 {
		t.Errorf("got %d calls, %d evaluations, %d starts", c.calls, c.evaluations, len(c.starts))
	}
	wantTime(t, "last schedule", c.status.LastScheduleTime.Time, "11:40")
	wantTime(t, "next schedule", c.status.NextScheduleTime.Time, "11:41")
	wantTime(t, "last successful", c.status.LastSuccessfulTime.Time, "11:40:10")
	if len(c.state.Finished) != 3 || len(c.deletes) != 97 {
		t.Errorf("history: %d kept, %d deleted", len(c.state.Finished), len(c.deletes))
	}
}

func TestForbidStartsTheBlockedRunLateWhenTheActiveOneEnds(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("10:00")).at(at("11:00"))
	wantTime(t, "wake while blocked", c.wake, "12:00")
	wantTime(t, "lastScheduleTime is not advanced", c.status.LastScheduleTime.Time, "10:00")
	c.finish(batchv1.JobComplete, at("11:20"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	wantStrings(t, "events", c.reasons(), "JobAlreadyActive", "SawCompletedJob")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 StartedLate JobAlreadyActive")
}

func TestForbidRunsOnlyTheMostRecentBlockedRun(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("10:00"))
	c.at(at("11:00")).at(at("12:00")).at(at("13:00")).finish(batchv1.JobFailed, at("13:20"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T13:00:00Z")
	wantStrings(t, "ledger", c.ledger(),
		"19T10:00:00 Started", "19T11:00:00..19T12:00:00 x2 SkippedOverlap JobAlreadyActive",
		"19T13:00:00 StartedLate JobAlreadyActive")
	wantStrings(t, "events", c.reasons(), "JobAlreadyActive", "JobAlreadyActive", "JobAlreadyActive", "SawCompletedJob")
}

func TestForbidAndTheStartingDeadline(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid, deadline(600)), at("09:30")).at(at("10:00")).at(at("11:00"))
	c.finish(batchv1.JobComplete, at("11:20"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
	wantStrings(t, "events", c.reasons(), "JobAlreadyActive", "SawCompletedJob", "MissSchedule")
	if got, want := c.events[2].Message, "Missed scheduled time to start a job: Thu, 19 May 2016 11:00:00 +0000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReplaceDeletesEveryActiveRunBeforeTheNext(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", allow), at("09:30")).at(at("10:00")).at(at("11:00"))
	c.edit(at("11:30"), replace).at(at("12:00"))
	if len(c.deletes) != 2 || !c.deletes[0].Replaced || !c.deletes[1].Replaced {
		t.Errorf("deletes: %+v", c.deletes)
	}
	if len(c.state.Active) != 1 || len(c.status.Active) != 1 || c.status.Active[0].UID != "job-3" {
		t.Errorf("active: %+v", c.status.Active)
	}
}

func TestResumeRunsTheMostRecentMissedRun(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	c.edit(at("10:30"), suspended)
	wantTime(t, "no wake while suspended", c.wake, "")
	if c.status.NextScheduleTime != nil {
		t.Error("nextScheduleTime is set while suspended")
	}
	c.at(at("12:30")).edit(at("14:30"), func(s *schedule.Spec) { s.Suspend = false })
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T14:00:00Z")
	wantStrings(t, "ledger", c.ledger(),
		"19T10:00:00 Started", "19T11:00:00..19T13:00:00 x3 SkippedSuspended Suspended", "19T14:00:00 StartedLate Suspended")
	wantStrings(t, "events", c.reasons())
}

func TestResumeBeyondTheDeadlineRunsNothing(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", deadline(60)), at("09:30")).at(at("10:00"))
	c.edit(at("10:30"), suspended).edit(at("14:30"), func(s *schedule.Spec) { s.Suspend = false })
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00..19T14:00:00 x4 SkippedSuspended Suspended")
	wantTime(t, "wake", c.wake, "15:00")
}

func TestDowntimeRunsTheMostRecentMissedRun(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("10:00")).at(at("13:05"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T13:00:00Z")
	wantStrings(t, "ledger", c.ledger(),
		"19T10:00:00 Started", "19T10:10:00..19T12:50:00 x17 SkippedSuperseded Outage", "19T13:00:00 StartedLate Outage")
}

func TestAnEditedScheduleCountsFromTheEdit(t *testing.T) {
	c := newCluster(t, cronSpec("0 2 * * *"), at("00:00")).at(at("02:00"))
	c.edit(at("10:00:30"), func(s *schedule.Spec) { s.Schedule = "0 9,11 * * *" })
	wantStrings(t, "runs", c.started(), "2016-05-19T02:00:00Z")
	wantTime(t, "wake", c.wake, "11:00")
}

func TestAnEditSettlesTheRunThatWaited(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("10:00")).at(at("11:00"))
	c.edit(at("11:10"), zone("Asia/Kolkata")).finish(batchv1.JobComplete, at("11:20"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 SkippedSuperseded ScheduleChanged")
}

func TestABadScheduleRecoversByAnEdit(t *testing.T) {
	c := newCluster(t, cronSpec("nonsense"), at("09:30")).at(at("09:30")).at(at("12:30"))
	wantStrings(t, "one event", c.reasons(), "UnparseableSchedule")
	wantTime(t, "no wake", c.wake, "")
	c.edit(at("12:31"), func(s *schedule.Spec) { s.Schedule = "0 0 31 2 *" })
	c.edit(at("12:40"), func(s *schedule.Spec) { s.Schedule = "0 * * * *" }).at(at("13:00"))
	wantStrings(t, "events", c.reasons(), "UnparseableSchedule", "NeverFires")
	wantStrings(t, "runs", c.started(), "2016-05-19T13:00:00Z")
}

func TestARefusedCreateIsRetriedWhileTheRunIsDue(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	attempts := 0
	c.refuse = func(schedule.Start) string { attempts++; return "exceeded quota" }
	c.at(at("10:00"))
	wantTime(t, "first retry", c.wake, "10:00:10")
	c.at(c.wake)
	wantTime(t, "second retry", c.wake, "10:00:30")
	for c.wake.Before(at("11:00")) {
		c.at(c.wake)
	}
	if attempts > 20 {
		t.Errorf("%d attempts in an hour", attempts)
	}
	c.refuse = nil
	c.at(c.wake)
	wantStrings(t, "runs", c.started(), "2016-05-19T11:00:00Z")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate Forbidden", "19T11:00:00 Started")
}

func TestARefusedCreateSucceedsLate(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	c.refuse = func(schedule.Start) string { return "exceeded quota" }
	c.at(at("10:00"))
	c.refuse = nil
	c.at(at("10:00:05"))
	if len(c.starts) != 0 {
		t.Fatal("started before the back-off ended")
	}
	c.edit(at("10:00:06"))
	wantStrings(t, "an edit ends the back-off", c.started(), "2016-05-19T10:00:00Z")
	wantTime(t, "lastScheduleTime", c.status.LastScheduleTime.Time, "10:00")
}

func TestARefusedCreateStopsAtTheDeadline(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", deadline(15)), at("09:30"))
	c.refuse = func(schedule.Start) string { return "exceeded quota" }
	c.at(at("10:00")).at(at("10:00:10")).at(at("10:00:30"))
	wantStrings(t, "events", c.reasons(), "MissSchedule")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate Forbidden")
	wantTime(t, "wake", c.wake, "11:00")
}

// Somebody has made room by hand, and asks for a run in the meantime, beside which the run that was refused may not start.
func TestARefusedRunThatWasBlockedIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		options []specOption
		started string
	}{
		"Forbid":                   {[]specOption{forbid}, "2016-05-19T02:00:00Z"},
		"Queue":                    {[]specOption{queue}, "2016-05-19T02:00:00Z"},
		"Allow, one at once":       {[]specOption{atMost(1)}, "2016-05-19T02:00:00Z"},
		"Allow, all are caught up": {[]specOption{atMost(1), catchUpAll}, "2016-05-19T02:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 2 * * *", test.options...), at("00:00")).at(at("00:00"))
			c.refuse = func(schedule.Start) string { return "exceeded quota" }
			for c.at(at("02:00")); c.wake.Sub(c.now) < 2*time.Minute; c.at(c.wake) {
			}
			retry := c.wake
			c.refuse = nil
			c.trigger(c.now.Add(time.Second)).finish(batchv1.JobComplete, c.now.Add(20*time.Second))
			if !c.wake.Equal(retry) {
				t.Fatalf("wakes at %s, want %s", c.wake, retry)
			}
			c.at(c.wake)
			wantStrings(t, "runs", c.started(), test.started)
		})
	}
}

func TestReplaceThatIsRefusedReportsTheDeletedRuns(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", replace), at("09:30")).at(at("10:00"))
	c.refuse = func(schedule.Start) string { return "exceeded quota" }
	c.at(at("11:00"))
	if len(c.status.Active) != 0 || len(c.deletes) != 1 {
		t.Errorf("active %+v, deletes %+v", c.status.Active, c.deletes)
	}
}

func TestTriggers(t *testing.T) {
	t.Run("start a run that does not advance lastScheduleTime", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00")).trigger(at("10:20:30"))
		if len(c.starts) != 2 || !c.starts[1].Manual || c.starts[1].Note != "by hand" {
			t.Fatalf("starts: %+v", c.starts)
		}
		wantTime(t, "lastScheduleTime", c.status.LastScheduleTime.Time, "10:00")
		wantTime(t, "wake", c.wake, "11:00")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:20:30 Started manual")
	})
	t.Run("start while suspended and with a bad schedule", func(t *testing.T) {
		if c := newCluster(t, cronSpec("nonsense", suspended), at("09:30")).trigger(at("09:40")); len(c.starts) != 1 {
			t.Errorf("starts: %+v", c.starts)
		}
	})
	t.Run("are skipped under Forbid while a run is active", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("10:00")).trigger(at("10:20"))
		c.finish(batchv1.JobComplete, at("10:30"))
		wantStrings(t, "events", c.reasons(), "JobAlreadyActive", "SawCompletedJob")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:20:00 SkippedOverlap JobAlreadyActive manual")
	})
	t.Run("replace under Replace", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", replace), at("09:30")).at(at("10:00")).trigger(at("10:20"))
		if len(c.deletes) != 1 || len(c.state.Active) != 1 {
			t.Errorf("deletes %+v, active %+v", c.deletes, c.state.Active)
		}
	})
	t.Run("that come together each get a run of their own name", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
		for range 3 {
			c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("09:40"))
		}
		c.at(at("09:40"))
		if len(c.starts) != 3 || c.starts[0].Name == c.starts[1].Name || c.starts[1].Name == c.starts[2].Name {
			t.Errorf("starts: %+v", c.starts)
		}
	})
	t.Run("are bounded", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
		for range 150 {
			c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("09:40"))
		}
		if c.at(at("09:40")); len(c.starts) != 100 {
			t.Errorf("%d starts", len(c.starts))
		}
	})
	t.Run("that are refused are given up in the end", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 0 1 1 *"), at("09:30"))
		c.refuse = func(schedule.Start) string { return "invalid" }
		c.trigger(at("09:40"))
		for n := 0; n < 20 && len(c.state.Triggers) > 0; n++ {
			c.at(c.wake)
		}
		if len(c.state.Triggers) != 0 {
			t.Error("still waiting")
		}
		wantStrings(t, "ledger", c.ledger(), "19T09:40:00 FailedToCreate Forbidden manual")
		if rows := c.status.RecentRuns; len(rows) != 1 || rows[0].Outcome != "FailedToCreate" {
			t.Errorf("the status has the rows %+v, months before its next run", rows)
		}
	})
	t.Run("are dropped when the CronJob is being deleted", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", deleting), at("09:30")).trigger(at("09:40"))
		wantStrings(t, "ledger", c.ledger(), "19T09:40:00 SkippedSuperseded Deleting manual")
	})
}

func TestALongBlockageIsOneLedgerEntry(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *", forbid), at("09:59:30")).at(at("10:00"))
	for range 500 {
		c.at(c.wake)
	}
	if len(c.state.Ledger.Entries) != 2 || c.state.Ledger.Entries[1].Times() != 499 {
		t.Errorf("ledger: %q", c.ledger())
	}
}

// Runs that an edit from Allow finds active are replaced as others are, however many there are.
func TestReplaceStartsBesideNoneOfManyRuns(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *", allow), at("00:00:30"))
	for minute := range 600 {
		c.at(at("00:01").Add(time.Duration(minute) * time.Minute))
	}
	c.edit(at("10:00:30"), replace).at(at("10:01"))
	if len(c.running) != 1 || len(c.deletes) != 600 {
		t.Errorf("%d runs, %d deleted", len(c.running), len(c.deletes))
	}
}
