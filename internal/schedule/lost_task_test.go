package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// overtake has the state begin anew from a status: as after the loss of the task that wrote it, or after a restore if it is of a
// later generation, by two writes.
func (c *cluster) overtake(generation int64, status ostinatov1.CronJobStatus) *cluster {
	status.Revision, status.ObservedGeneration = 1, generation
	if generation > c.spec.Generation {
		status.Revision = 2
	}
	read := schedule.NewState(c.state.Identity, status, c.state.Ledger, nil)
	c.state = schedule.BeginAnew(c.state, read, status, c.spec.Generation, nil, c.now).State
	return c
}

// The create of 10:00 is unclear, and the status is of an edit that the state has not heard of: 10:00 is no time of the new
// schedule, by which another run is due.
func TestAHeldTimeThatTheScheduleNoLongerNamesHasAnOutcome(t *testing.T) {
	c := unclearAt(t, false)
	accounted := metav1.NewTime(at("09:59:59"))
	c.overtake(c.spec.Generation+1, ostinatov1.CronJobStatus{AccountedUntil: &accounted})
	c.spec = cronSpec("1-59/10 * * * *")
	c.unclear = nil
	c.at(at("10:01"))
	for !c.wake.IsZero() && c.wake.Before(at("10:05")) {
		c.at(c.wake)
	}
	wantStrings(t, "runs", c.started(), "2016-05-19T10:01:00Z")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 SkippedSuperseded ScheduleChanged", "19T10:01:00 Started")
}

func TestAStateWhoseTaskIsLostKeeps(t *testing.T) {
	t.Run("the times of a former schedule that have no outcome", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", suspended), at("09:55")).at(at("09:55"))
		c.edit(at("10:15"), func(s *schedule.Spec) { s.Schedule = "30 * * * *" })
		c.overtake(c.spec.Generation, ostinatov1.CronJobStatus{})
		c.edit(at("10:16"), func(s *schedule.Spec) { s.Suspend = false })
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00..19T10:10:00 x2 SkippedSuspended Suspended")
	})
	t.Run("the runs that wait", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", queue), at("09:55")).at(at("10:00")).at(at("10:10")).at(at("10:20")).at(at("10:30"))
		status := schedule.StatusOf(c.state, c.spec)
		c.overtake(c.spec.Generation, status)
		c.at(at("10:35"))
		for _, minute := range []string{"10:36", "10:37", "10:38"} {
			c.finish(batchv1.JobComplete, at(minute))
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T10:10:00Z", "2016-05-19T10:20:00Z", "2016-05-19T10:30:00Z")
	})
	t.Run("the outcomes of times after one that may have started", func(t *testing.T) {
		c := unclearAt(t, false)
		c.silent = true
		c.at(at("10:25"))
		c.overtake(c.spec.Generation, schedule.StatusOf(c.state, c.spec))
		wantStrings(t, "ledger", c.ledger(), "19T10:10:00 SkippedSuperseded Outage")
	})
	t.Run("one outcome of a time of a CronJob of batch/v1, whose status has no rows", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", forbid), at("09:55")).at(at("10:00")).at(at("10:10")).at(at("10:20")).at(at("10:25"))
		written := schedule.StatusOf(c.state, c.spec)
		c.overtake(c.spec.Generation, ostinatov1.CronJobStatus{Active: written.Active, LastScheduleTime: written.LastScheduleTime})
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:10:00 SkippedOverlap JobAlreadyActive")
		c.overtake(c.spec.Generation+1, ostinatov1.CronJobStatus{Active: written.Active, LastScheduleTime: written.LastScheduleTime})
		c.at(at("10:26")).at(at("10:30"))
		wantStrings(t, "ledger after a restore", c.ledger(), "19T10:00:00 Started", "19T10:10:00..19T10:20:00 x2 SkippedOverlap JobAlreadyActive")
	})
	t.Run("the failures after which the CronJob is suspended", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", pauseAfter(1)), at("09:55")).at(at("10:00"))
		c.state = schedule.Finish(c.state, c.spec, schedule.Finished{Run: c.state.Active[0], Condition: batchv1.JobFailed})
		status := schedule.StatusOf(c.state, c.spec)
		c.overtake(c.spec.Generation, status)
		if plan := schedule.Decide(c.evaluated(c.state, at("10:01")), c.spec, at("10:01")); !plan.Pause && plan.Status == nil {
			t.Errorf("the failures are forgotten: %+v", plan)
		}
		c.at(at("10:01"))
		if !c.spec.Suspend {
			t.Errorf("the CronJob goes on after %d failures", c.state.ConsecutiveFailures)
		}
	})
	t.Run("the rows that the status has no room for", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55"))
		for range 20 {
			c.state = schedule.RefuseTrigger(c.state, schedule.TriggerRequest{}, "unreadable", at("09:57"))
		}
		for now := at("10:00"); now.Before(at("11:00")); now = now.Add(10 * time.Minute) {
			c.at(now)
		}
		before := c.state.Ledger.Entries
		status := schedule.StatusOf(c.state, c.spec)
		// The lost task has started one more run.
		written := *c
		written.at(at("11:00"))
		c.overtake(c.spec.Generation, schedule.StatusOf(written.state, c.spec))
		wantStrings(t, "ledger", c.ledger(), written.ledger()...)
		assert.Equal(t, before, c.state.Ledger.Entries[:len(before)])
		c.overtake(c.spec.Generation+1, status)
		wantStrings(t, "ledger after a restore of the object", c.ledger(), written.ledger()...)
	})
}

// etcd may have been restored, and a basis may be forged: the schema lets a revision rise by a million.
func TestTheNextRevision(t *testing.T) {
	for name, test := range map[string]struct{ basis, object, want int64 }{
		"the object's":                      {7, 7, 8},
		"the object's, which is later":      {7, 9, 10},
		"that of the basis, which is later": {7, 2, 8},
		"no more than a million later":      {schedule.MaxRevision, 2, 1_000_002},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (schedule.Basis{Revision: test.basis}).Next(ostinatov1.CronJobStatus{Revision: test.object}); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestABackfillKnowsItsRunsAfterALostTask: a task that is lost with its worker has written one status: the backfill stays, and its run that goes on is still its own.
func TestABackfillKnowsItsRunsAfterALostTask(t *testing.T) {
	for _, overlap := range []batchv1.ConcurrencyPolicy{"", batchv1.ReplaceConcurrent} {
		spec, now := cronSpec("0 * * * *"), at("10:05")
		identity := schedule.Identity{Namespace: namespace, Name: cronJobName, UID: cronJobUID, Created: at("10:01")}
		state := schedule.NewState(identity, ostinatov1.CronJobStatus{Revision: 7}, ledger.Ledger{}, nil)
		state = schedule.AddBackfill(state, spec, schedule.BackfillRequest{Overlap: overlap}, "", []time.Time{at("08:00"), at("09:00")}, now)
		state = schedule.Take(state, spec, schedule.Evaluate(spec, state, now))
		plan := schedule.Decide(state, spec, now)
		state = schedule.Apply(plan, schedule.Report{Started: &schedule.Run{Name: plan.Start.Name, UID: "b1", Started: now}, Revision: 8}, now)
		status := schedule.StatusOf(state, spec)
		status.Revision = 9
		anew := schedule.BeginAnew(state, schedule.NewState(identity, status, state.Ledger, nil), status, 1, nil, now)
		if anew.Dropped {
			t.Fatal("dropped")
		}
		if next := schedule.Decide(anew.State, spec, now.Add(time.Second)); next.Start != nil {
			t.Errorf("overlap %q: %s starts beside or in place of the backfill's own run, deletes %+v", overlap, next.Start.Name, next.Deletes)
		}
	}
}

// TestATriggerWhoseRunIsInTheStatusIsNotKept: the task that is lost has found the Job of a trigger, and its run was replaced since. A Job
// that a person has made under its name is not its run.
func TestATriggerWhoseRunIsInTheStatusIsNotKept(t *testing.T) {
	for through, want := range map[string][]time.Time{
		"": {at("10:01")}, ledger.ThroughSignal: {at("10:01")}, ledger.ThroughJob: {at("10:00"), at("10:01")},
	} {
		c := newCluster(t, cronSpec("0 2 * * *", replace), at("09:55")).at(at("09:55"))
		old := schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("10:00"))
		old = schedule.AddTrigger(old, schedule.TriggerRequest{}, at("10:01"))
		name := names.TriggeredJob(cronJobName, cronJobUID, old.Triggers[0].Sequence)
		run := schedule.Run{Name: name, UID: "first", Scheduled: at("10:00"), Manual: true, Asked: ledger.Asked{Through: through}}
		old = schedule.RecoverJobs(old, []schedule.RecoveredJob{{Run: run}})
		status := schedule.StatusOf(old, c.spec)
		status.Revision = 1
		status.RecentRuns = []ostinatov1.RecentRun{{
			ScheduledTime: metav1.NewTime(at("10:00")), Outcome: string(ledger.Started), JobName: name, Manual: true, Through: through,
		}}
		anew := schedule.BeginAnew(old, schedule.NewState(old.Identity, status, old.Ledger, nil), status, c.spec.Generation, nil, at("10:02"))
		var waiting []time.Time
		for _, trigger := range anew.State.Triggers {
			waiting = append(waiting, trigger.At)
		}
		if anew.Dropped || !slices.EqualFunc(waiting, want, time.Time.Equal) {
			t.Errorf("through %q: dropped %t, and triggers of %v wait", through, anew.Dropped, waiting)
		}
	}
}

// A reset may take back one write, as the loss of a task does.
func TestWhatAResetHasTemporalSendAgainIsDropped(t *testing.T) {
	for name, test := range map[string]struct {
		generation, ahead int64
		dropped           bool
	}{
		"one write later, after a reset":              {schedule.GenerationOfReset, 1, true},
		"one write later, after the loss of a task":   {1, 1, false},
		"before anything was written, after a reset":  {schedule.GenerationOfReset, 0, false},
		"many writes later, after the loss of a task": {1, 9, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *"), at("09:55")).at(at("10:00"))
			status := schedule.StatusOf(c.state, c.spec)
			status.Revision = c.state.Basis.Revision + test.ahead
			c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("10:01"))
			read := schedule.NewState(c.state.Identity, status, c.state.Ledger, nil)
			anew := schedule.BeginAnew(c.state, read, status, test.generation, nil, at("10:02"))
			assert.Equal(t, test.dropped, anew.Dropped)
			assert.Equal(t, test.dropped, len(anew.State.Triggers) == 0)
		})
	}
}

// The task that is lost has heard of one trigger, or of two within a second, and others have come since: Temporal begins the task anew, in
// which all of them come at a later time.
func TestTriggersComeDuringTheLossOfATaskThatHasSkippedOthers(t *testing.T) {
	trigger := schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughSignal}}
	row := ostinatov1.RecentRun{
		ScheduledTime: metav1.NewTime(at("10:01")), Outcome: string(ledger.SkippedOverlap), Reason: ledger.ReasonJobAlreadyActive,
		Manual: true, Through: ledger.ThroughSignal,
	}
	later, ofAda, refused := row, row, row
	later.ScheduledTime = metav1.NewTime(at("10:03"))
	ofAda.By, refused.Outcome = "ada", string(ledger.FailedToCreate)
	for name, test := range map[string]struct {
		rows  []ostinatov1.RecentRun
		ahead int64
		// dropped says that the triggers may have been carried out; left is how many are still to be done otherwise.
		dropped bool
		left    int
	}{
		"one":                                {rows: []ostinatov1.RecentRun{row}, ahead: 1, left: 2},
		"two":                                {rows: []ostinatov1.RecentRun{row, row}, ahead: 1, left: 1},
		"more than have come":                {rows: []ostinatov1.RecentRun{row, row, row, row}, ahead: 1, dropped: true},
		"one that has come later":            {rows: []ostinatov1.RecentRun{later}, ahead: 1, dropped: true},
		"one that another person has sent":   {rows: []ostinatov1.RecentRun{ofAda}, ahead: 1, dropped: true},
		"one that was refused":               {rows: []ostinatov1.RecentRun{refused}, ahead: 1, dropped: true},
		"one, and another status came since": {rows: []ostinatov1.RecentRun{row}, ahead: 2, dropped: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 10 * * *", forbid), at("09:55")).at(at("10:00"))
			c.state = schedule.AddTriggers(c.state, []schedule.TriggerRequest{trigger, trigger, trigger}, at("10:02"))
			asked := c.state.Triggers
			status := schedule.StatusOf(c.state, c.spec)
			status.Revision = c.state.Basis.Revision + test.ahead
			status.RecentRuns = append(test.rows, status.RecentRuns...)
			read := schedule.NewState(c.state.Identity, status, c.state.Ledger, nil)
			anew := schedule.BeginAnew(c.state, read, status, c.spec.Generation, nil, at("10:02"))
			if anew.Dropped != test.dropped || len(anew.State.Triggers) != test.left {
				t.Errorf("dropped %t, triggers %+v", anew.Dropped, anew.State.Triggers)
			}
			c.state = anew.State
			c.at(at("10:02"))
			for _, one := range asked {
				answer, known := schedule.Answer(c.state, one.Sequence)
				if !test.dropped && (!known || !strings.HasPrefix(answer.Reason, ledger.ReasonJobAlreadyActive+": Job hello-")) {
					t.Errorf("trigger %d: known %t, %+v", one.Sequence, known, answer)
				}
			}
			if rows := len(c.state.Ledger.Entries); !test.dropped && rows != 1+len(asked) {
				t.Errorf("%d rows: %+v", rows, c.state.Ledger.Entries)
			}
		})
	}
}
