package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// backfill asks for the times from one to another, as the workflow does.
func (c *cluster) backfill(request schedule.BackfillRequest, now time.Time) *cluster {
	c.t.Helper()
	found := schedule.TimesBetween(c.spec, c.state, request.From, request.To)
	if mistake := request.Mistake(c.spec, now); mistake != "" || found.Mistake != "" {
		c.t.Fatalf("refused: %s%s", mistake, found.Mistake)
	}
	c.state = schedule.AddBackfill(c.state, c.spec, request, "", found.Times, now)
	return c.at(now)
}

// between asks for the times between two of the day, parallelism 1.
func between(from, to string) schedule.BackfillRequest {
	return schedule.BackfillRequest{From: at(from), To: at(to)}
}

// manual lists the nominal times of the manual runs that were started.
func (c *cluster) manual() []string {
	var times []string
	for _, start := range c.starts {
		if start.Manual {
			times = append(times, start.Scheduled.Format("15:04"))
		}
	}
	return times
}

func TestABackfillRunsOneTimeAfterTheOther(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
	request := between("05:00", "07:59:59")
	request.Note, request.By = "lost", "ada"
	c.backfill(request, at("09:40"))
	wantStrings(t, "runs", c.manual(), "05:00")
	c.finish(batchv1.JobComplete, at("09:41")).finish(batchv1.JobFailed, at("09:42")).finish(batchv1.JobComplete, at("09:43"))
	wantStrings(t, "runs", c.manual(), "05:00", "06:00", "07:00")
	wantStrings(t, "ledger", c.ledger(), "19T05:00:00 Started manual", "19T06:00:00 Started manual", "19T07:00:00 Started manual")
	wantStrings(t, "events", c.reasons(), "SawCompletedJob", "SawCompletedJob", "SawCompletedJob")
	if row := c.state.Ledger.Entries[1]; row.Message != "backfill: lost" || row.Asked != (ledger.Asked{By: "ada", Through: "update"}) || row.Result != ledger.Failed {
		t.Errorf("row %+v", row)
	}
	if len(c.state.Backfills) != 0 || c.status.LastScheduleTime != nil {
		t.Errorf("backfills %+v, lastScheduleTime %v", c.state.Backfills, c.status.LastScheduleTime)
	}
	start := c.starts[1]
	if want := names.BackfilledJob(cronJobName, cronJobUID, start.Backfill, at("06:00")); start.Name != want {
		t.Errorf("Job %s, want %s", start.Name, want)
	}
}

func TestABackfillOfATimeThatHasRunRunsItAgain(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	c.finish(batchv1.JobComplete, at("10:01"))
	c.backfill(between("10:00", "10:00"), at("10:02")).finish(batchv1.JobComplete, at("10:03"))
	c.backfill(between("10:00", "10:00"), at("10:04"))
	wantStrings(t, "runs", c.manual(), "10:00", "10:00")
	if c.starts[1].Name == c.starts[2].Name {
		t.Errorf("both runs have the Job %s", c.starts[1].Name)
	}
}

// The run of 10:00 is active, and ends at 10:30; the backfill of 05:00 to 07:00 comes at
// 10:10.
func TestABackfillUnderEachConcurrencyPolicy(t *testing.T) {
	const waits, beside, replaces = "waits", "beside", "replaces"
	for _, test := range []struct {
		policy  specOption
		overlap batchv1.ConcurrencyPolicy
		want    string
		most    int
	}{
		{allow, "", beside, 2}, {forbid, "", waits, 1}, {replace, "", waits, 1},
		{forbid, "Allow", beside, 2}, {replace, "Allow", beside, 2},
		{allow, "Forbid", waits, 1}, {allow, "Queue", waits, 1}, {replace, "Queue", waits, 1},
		{allow, "Replace", replaces, 1}, {forbid, "Replace", replaces, 1},
	} {
		spec := cronSpec("0 * * * *", test.policy)
		t.Run(fmt.Sprintf("%s, asks for %q", spec.ConcurrencyPolicy, test.overlap), func(t *testing.T) {
			c := newCluster(t, spec, at("09:30")).at(at("10:00"))
			request := between("05:00", "07:00")
			request.Overlap = test.overlap
			if test.most > 1 {
				request.Parallelism = test.most
			}
			c.backfill(request, at("10:10"))
			got := waits
			switch {
			case len(c.deletes) > 0:
				got = replaces
			case len(c.manual()) > 0:
				got = beside
			}
			if got != test.want {
				t.Errorf("%s, want %s: %+v", got, test.want, c.starts)
			}
			most := 0
			for minute := 30; len(c.state.Active) > 0; minute++ {
				active := 0
				for _, run := range c.state.Active {
					if run.Backfill != 0 {
						active++
					}
				}
				most = max(most, active)
				c.finish(batchv1.JobComplete, at("10:00").Add(time.Duration(minute)*time.Minute))
			}
			wantStrings(t, "runs", c.manual(), "05:00", "06:00", "07:00")
			if most != test.most {
				t.Errorf("%d runs at once, want %d", most, test.most)
			}
			if deletes := len(c.deletes); deletes > 0 != (test.want == replaces) && c.deletes[0].Replaced {
				t.Errorf("deletes %+v", c.deletes)
			}
		})
	}
}

func TestWhatIsDueGoesBeforeWhatIsBackfilled(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("09:30"))
	c.backfill(between("05:00", "07:00"), at("09:55"))
	c.at(at("10:00"))
	wantStrings(t, "events", c.reasons(), "JobAlreadyActive")
	c.finish(batchv1.JobComplete, at("10:05"))
	wantStrings(t, "ledger", c.ledger(), "19T05:00:00 Started manual", "19T10:00:00 StartedLate JobAlreadyActive")
	c.finish(batchv1.JobComplete, at("10:10"))
	wantStrings(t, "runs", c.manual(), "05:00", "06:00")
}

// A run that may not overlap would never start beside a backfill that always keeps runs
// active.
func TestABackfillThatMayOverlapLetsTheOthersIn(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("09:30"))
	request := between("00:00", "09:00")
	request.Overlap, request.Parallelism = "Allow", 2
	c.backfill(request, at("09:59"))
	c.at(at("10:00")).finish(batchv1.JobComplete, at("10:01"))
	wantStrings(t, "backfilled while 10:00 waits", c.manual(), "00:00", "01:00")
	c.finish(batchv1.JobComplete, at("10:02"))
	wantStrings(t, "scheduled", c.started(), "2016-05-19T10:00:00Z")
	wantStrings(t, "backfilled beside it", c.manual(), "00:00", "01:00", "02:00", "03:00")
}

func TestABackfillGoesOnWhileSuspended(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", suspended), at("09:30")).at(at("09:30"))
	c.backfill(between("05:00", "06:00"), at("09:55")).finish(batchv1.JobComplete, at("11:00"))
	wantStrings(t, "runs", c.manual(), "05:00", "06:00")
}

func TestWhatEndsABackfill(t *testing.T) {
	for name, test := range map[string]struct {
		end    func(*cluster)
		ledger string
	}{
		"it is cancelled": {func(c *cluster) {
			c.state = schedule.CancelBackfills(c.state)
			c.at(at("09:50"))
		}, "19T06:00:00..19T08:00:00 x3 SkippedSuperseded Cancelled manual"},
		"the CronJob is deleted": {func(c *cluster) { c.edit(at("09:50"), deleting) }, "19T06:00:00..19T08:00:00 x3 SkippedSuperseded Deleting manual"},
		"the schedule is edited": {func(c *cluster) {
			c.edit(at("09:50"), func(s *schedule.Spec) { s.Schedule = "30 * * * *" })
		}, "19T06:00:00..19T08:00:00 x3 SkippedSuperseded ScheduleChanged manual"},
		"the time zone is edited": {func(c *cluster) { c.edit(at("09:50"), zone("Asia/Tokyo")) }, "19T06:00:00..19T08:00:00 x3 SkippedSuperseded ScheduleChanged manual"},
		"the object takes none": {func(c *cluster) {
			c.refuse, c.refusal = func(schedule.Start) string { return "not accepted" }, ledger.SignalRefused
			c.finish(batchv1.JobComplete, at("09:50"))
		}, "19T06:00:00..19T08:00:00 x3 FailedToCreate SignalRefused manual"},
		"nothing: another edit": {func(c *cluster) {
			c.edit(at("09:50"), limits(1, 1))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30")).backfill(between("05:00", "08:00"), at("09:40"))
			test.end(c)
			want := []string{"19T05:00:00 Started manual"}
			if test.ledger != "" {
				want = append(want, test.ledger)
			}
			wantStrings(t, "ledger", c.ledger(), want...)
			if waits := len(c.state.Backfills) > 0; waits != (test.ledger == "") {
				t.Errorf("backfills %+v", c.state.Backfills)
			}
		})
	}
}

func TestATimeWhoseJobIsRefusedIsTriedEightTimes(t *testing.T) {
	c := newCluster(t, cronSpec("@yearly"), at("2013-05-19T10:00:00Z")).at(at("2016-05-19T09:30:00Z"))
	c.finish(batchv1.JobComplete, at("09:31"))
	tries := 0
	c.refuse = func(start schedule.Start) string {
		if start.Scheduled.Year() == 2016 {
			return ""
		}
		tries++
		return "exceeded quota"
	}
	c.backfill(schedule.BackfillRequest{From: at("2015-01-01T00:00:00Z"), To: at("2016-01-01T00:00:00Z")}, at("09:40"))
	for range 8 {
		if len(c.state.Backfills) > 0 {
			c.at(c.wake)
		}
	}
	if tries != 8 {
		t.Errorf("%d tries", tries)
	}
	wantStrings(t, "ledger, without the run of the year", c.ledger()[1:], "01T00:00:00 FailedToCreate Forbidden manual", "01T00:00:00 Started manual")
}

func TestBackfillsAreServedInTheirOrderAndTheirNumberIsBounded(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
	for range 10 {
		if mistake := schedule.NoRoom(c.state, 0); mistake != "" {
			t.Fatal(mistake)
		}
		c.backfill(between("05:00", "06:00"), at("09:40"))
	}
	if full := schedule.NoRoom(c.state, 0); len(c.state.Backfills) != 10 || !strings.Contains(full, `{"cancel": true}`) {
		t.Errorf("%d backfills, %q", len(c.state.Backfills), full)
	}
	if err := c.state.Validate(); err != nil {
		t.Error(err)
	}
	for len(c.state.Active) > 0 {
		c.finish(batchv1.JobComplete, c.now.Add(time.Second))
	}
	if times := c.manual(); len(times) != 20 || times[18] != "05:00" || times[19] != "06:00" {
		t.Errorf("runs %v", times)
	}
}

// maxConcurrent bounds all runs, backfilled or not, unless somebody asks for Allow.
func TestABackfillAndMaxConcurrent(t *testing.T) {
	for overlap, most := range map[batchv1.ConcurrencyPolicy]int{"": 2, "Allow": 4} {
		t.Run(fmt.Sprintf("asks for %q", overlap), func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *", func(s *schedule.Spec) { s.MaxConcurrent = 2 }), at("09:30")).at(at("10:00"))
			request := between("01:00", "08:00")
			request.Overlap, request.Parallelism = overlap, most-1
			c.backfill(request, at("10:10"))
			if len(c.state.Active) != most {
				t.Errorf("%d runs are active, want %d", len(c.state.Active), most)
			}
			request.Parallelism = 3
			if mistake := request.Mistake(c.spec, c.now); (mistake == "") != (overlap == "Allow") {
				t.Errorf("three at once: %q", mistake)
			}
		})
	}
}

// Under Queue a time that is due waits for the end of a suspension; what people ask for
// does not.
func TestABackfillGoesOnBesideAQueueThatIsSuspended(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", queue), at("09:30")).at(at("10:00")).at(at("11:00"))
	c.edit(at("11:10"), suspended).backfill(between("05:00", "05:00"), at("11:20"))
	c.finish(batchv1.JobComplete, at("11:30"))
	wantStrings(t, "backfilled", c.manual(), "05:00")
	c.finish(batchv1.JobComplete, at("11:40"))
	wantStrings(t, "scheduled", c.started(), "2016-05-19T10:00:00Z")
	c.edit(at("11:50"), func(s *schedule.Spec) { s.Suspend = false })
	wantStrings(t, "scheduled, resumed", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
}
