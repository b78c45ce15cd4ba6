package schedule_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

func ran(scheduled string, edits ...func(*ledger.Entry)) ledger.Entry {
	row := ledger.Entry{Scheduled: at(scheduled), Recorded: at(scheduled), Outcome: ledger.Started, Job: names.ScheduledJob(cronJobName, at(scheduled))}
	row.End = ledger.End{Result: ledger.Complete, Ended: at(scheduled)}
	for _, edit := range edits {
		edit(&row)
	}
	return row
}

func byHand(sequence int64) func(*ledger.Entry) {
	return func(row *ledger.Entry) { row.Manual, row.Sequence = true, sequence }
}

func skippedUntil(until string) func(*ledger.Entry) {
	return func(row *ledger.Entry) {
		row.Outcome, row.Reason, row.Job, row.End = ledger.SkippedSuperseded, ledger.ReasonOutage, "", ledger.End{}
		row.Until, row.Count = at(until), 2
	}
}

// queueing is an hourly CronJob at 13:20: the run of 10:00 ended, that of 11:00 is active, those of 12:00 and 13:00 wait, and so do a
// trigger and a backfill.
func queueing(t *testing.T) *cluster {
	c := newCluster(t, cronSpec("0 * * * *", queue), at("09:30"))
	c.at(at("10:00")).finish(batchv1.JobComplete, at("10:10"))
	c.at(at("11:00")).at(at("12:00")).at(at("13:00")).trigger(at("13:10"))
	c.backfill(schedule.BackfillRequest{From: at("09:00"), To: at("09:59")}, at("13:20"))
	return c
}

// A row of an export is of what is over. It may be forged.
func TestWhichRowsOfAnExportAreTaken(t *testing.T) {
	c := queueing(t)
	waits := c.state.Triggers[0].Sequence
	for name, test := range map[string]struct {
		row  ledger.Entry
		want string
	}{
		"a run before the ledger":                    {ran("08:00"), ""},
		"times that were skipped":                    {ran("07:00", skippedUntil("08:00")), ""},
		"a manual run":                               {ran("13:05", byHand(7), func(row *ledger.Entry) { row.Job = "other" }), ""},
		"a run that runs":                            {ran("08:00", func(row *ledger.Entry) { row.Job = names.ScheduledJob(cronJobName, at("11:00")) }), "known"},
		"the same, under the time of another":        {ran("11:30", byHand(7), func(row *ledger.Entry) { row.Job = c.state.Active[0].Name }), "known"},
		"a time that waits":                          {ran("12:00"), "12:00:00Z is not settled"},
		"a time that waits, skipped":                 {ran("08:00", skippedUntil("12:00")), "known"},
		"a time to come":                             {ran("14:00"), "14:00:00Z is not settled"},
		"a manual run to come":                       {ran("14:00", byHand(7)), "in the future"},
		"a trigger that waits":                       {ran("13:10", byHand(waits)), "waits or runs"},
		"a backfill that waits":                      {ran("09:00", byHand(c.state.Backfills[0].Sequence)), "waits or runs"},
		"a trigger to come":                          {ran("13:10", byHand(at("13:21").UnixMilli())), "none that was given before"},
		"a negative number":                          {ran("13:10", byHand(-1)), "none that was given before"},
		"an end to come":                             {ran("08:00", func(row *ledger.Entry) { row.Ended = at("13:22") }), "in the future"},
		"recorded before there was a CronJob":        {ran("08:00", func(row *ledger.Entry) { row.Recorded = at("2014-12-31T00:00:00Z") }), "too long ago"},
		"no time":                                    {ran("08:00", func(row *ledger.Entry) { row.Scheduled = time.Time{} }), "too long ago"},
		"a year that JSON can't hold":                {ran("08:00", func(row *ledger.Entry) { row.Recorded = row.Recorded.AddDate(9000, 0, 0) }), "in the future"},
		"a stretch that ends before it begins":       {ran("08:00", skippedUntil("07:00")), "ends before it begins"},
		"a stretch of runs":                          {ran("07:00", func(row *ledger.Entry) { row.Until = at("08:00") }), "or that has a Job"},
		"an outcome that there is not":               {ran("08:00", func(row *ledger.Entry) { row.Outcome = "Ran" }), `outcome "Ran" is none`},
		"what waited":                                {ran("08:00", func(row *ledger.Entry) { row.Outcome, row.Job, row.End = ledger.Queued, "", ledger.End{} }), `outcome "Queued" is none`},
		"a run without a Job":                        {ran("08:00", func(row *ledger.Entry) { row.Job = "" }), "does not go with"},
		"a Job of a time that was skipped":           {ran("08:00", skippedUntil("09:00"), func(row *ledger.Entry) { row.Job = "other" }), "does not go with"},
		"a result that there is not":                 {ran("08:00", func(row *ledger.Entry) { row.Result = "Fine" }), "does not go with"},
		"an end of what did not run":                 {ran("08:00", skippedUntil("09:00"), func(row *ledger.Entry) { row.Result = ledger.Failed }), "does not go with"},
		"what the ledger has":                        {ran("10:00"), "known"},
		"a time of the ledger, with a forged result": {ran("10:00", func(row *ledger.Entry) { row.Result, row.Job = ledger.Failed, "other" }), "known"},
	} {
		t.Run(name, func(t *testing.T) {
			state, answer := schedule.Import(c.state, []ledger.Entry{test.row}, at("13:21"))
			if test.want != "" {
				assert.Empty(t, state.Ledger.Imported)
				assert.Contains(t, map[bool]string{true: "known", false: answer.Why}[answer.Known == 1], test.want)
				return
			}
			assert.Equal(t, schedule.ImportAnswer{Imported: 1}, answer)
			assert.Len(t, state.Ledger.Imported, 1)
		})
	}
	assert.Len(t, c.state.Ledger.Imported, 0, "a state is a value")
}

// What was missed is still to be settled.
func TestAMissedTimeIsNotTaken(t *testing.T) {
	state := settledUntil(createdAt(at("09:30")), at("10:00"))
	state.Calendar.Missed = []schedule.MissedRuns{{Reason: ledger.ReasonOutage}}
	state.Calendar.Missed[0].First, state.Calendar.Missed[0].Last, state.Calendar.Missed[0].Count = at("09:40"), at("09:50"), 11
	for _, row := range []ledger.Entry{ran("09:45"), ran("09:35", skippedUntil("09:40")), ran("09:50")} {
		_, answer := schedule.Import(state, []ledger.Entry{row}, at("11:00"))
		assert.Contains(t, answer.Why, "was missed")
	}
	_, answer := schedule.Import(state, []ledger.Entry{ran("09:39"), ran("09:51")}, at("11:00"))
	assert.Equal(t, 2, answer.Imported)
}

// A run that was active when it was exported has ended since.
func TestAnImportedRunHasAnEnd(t *testing.T) {
	c := queueing(t)
	c.state.Ledger = ledger.Ledger{}
	open := func(row *ledger.Entry) { row.End = ledger.End{} }
	state, answer := schedule.Import(c.state, []ledger.Entry{ran("10:00", open), ran("09:00", open)}, at("13:20"))
	assert.Equal(t, 2, answer.Imported)
	assert.Equal(t, ledger.Deleted, state.Ledger.Imported[0].Result, "its Job is gone")
	assert.Equal(t, ledger.Complete, state.Ledger.Imported[1].Result, "its Job is there")
	assert.Equal(t, at("10:10"), state.Ledger.Imported[1].Ended)
}

// Whatever rows a ledger has imported, even such as none takes: every decision is as without them.
func TestImportedRowsDecideNothing(t *testing.T) {
	without := func(state schedule.State) schedule.State {
		state.Ledger.Imported, state.Ledger.Dropped = nil, 0
		return state
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(rt, drawSpec(rt), at("10:00:10")).at(at("10:00:10"))
		drawSteps(rt, c, []string{"* * * * *", "@every 90s"}, func(step string) {
			forged := c.state
			forged.Ledger.Imported = forgeries(c)
			for _, now := range []time.Time{c.now, c.now.Add(time.Minute), c.wake} {
				plan, other := schedule.Decide(c.state, c.spec, now), schedule.Decide(forged, c.spec, now)
				plan.Next, other.Next = without(plan.Next), without(other.Next)
				if !reflect.DeepEqual(plan, other) {
					rt.Fatalf("%s at %s:\n%+v\nwith imported rows\n%+v", step, now, plan, other)
				}
				if status, other := schedule.StatusOf(c.state, c.spec), schedule.StatusOf(forged, c.spec); !reflect.DeepEqual(status, other) {
					rt.Fatalf("status\n%+v\nwith imported rows\n%+v", status, other)
				}
				status := c.status
				status.Revision = c.state.Basis.Revision + int64(rapid.IntRange(1, 10).Draw(rt, "ahead"))
				again := func(state schedule.State) schedule.State {
					read := schedule.NewState(state.Identity, status, state.Ledger, c.ended)
					return without(schedule.BeginAnew(state, read, status, c.spec.Generation, nil, now).State)
				}
				if anew, other := again(c.state), again(forged); !reflect.DeepEqual(anew, other) {
					rt.Fatalf("begun anew\n%+v\nwith imported rows\n%+v", anew, other)
				}
			}
			checkImport(rt, c)
		})
	})
}

// forgeries are rows of everything that the state has, or will have, to do.
func forgeries(c *cluster) (rows []ledger.Entry) {
	row := func(scheduled time.Time, sequence int64, job string) {
		made := ledger.Entry{Scheduled: scheduled, Recorded: c.now, Outcome: ledger.Started, Job: job, Sequence: sequence, Manual: sequence != 0}
		skipped := made
		skipped.Outcome, skipped.Reason, skipped.Job = ledger.SkippedSuperseded, ledger.ReasonOutage, ""
		made.End = ledger.End{Result: ledger.Failed, Ended: c.now}
		rows = append(rows, made, skipped)
	}
	for _, times := range [][]time.Time{{c.state.Calendar.Due}, c.state.Calendar.Waiting, c.state.Calendar.Upcoming, {c.now.Truncate(time.Minute)}} {
		for _, scheduled := range times {
			row(scheduled, 0, names.ScheduledJob(cronJobName, scheduled))
		}
	}
	for _, missed := range c.state.Calendar.Missed {
		row(missed.First, 0, names.ScheduledJob(cronJobName, missed.First))
	}
	for _, trigger := range c.state.Triggers {
		row(trigger.At, trigger.Sequence, names.TriggeredJob(cronJobName, cronJobUID, trigger.Sequence))
	}
	for _, backfill := range c.state.Backfills {
		row(backfill.Times[0], backfill.Sequence, names.BackfilledJob(cronJobName, cronJobUID, backfill.Sequence, backfill.Times[0]))
	}
	for _, run := range c.state.Active {
		row(run.Scheduled, 0, run.Name)
	}
	for _, run := range c.running {
		row(run.Scheduled, 1, run.Name)
	}
	return rows
}

// checkImport: of what is open none is taken, and what is taken has one row.
func checkImport(t *rapid.T, c *cluster) {
	state, _ := schedule.Import(c.state, forgeries(c), c.now)
	for _, row := range state.Ledger.Imported {
		for _, run := range c.state.Active {
			if row.Job == run.Name {
				t.Fatalf("took the active run %s: %+v", run.Name, row)
			}
		}
		for _, waiting := range append([]time.Time{c.state.Calendar.Due}, c.state.Calendar.Waiting...) {
			if !row.Manual && row.Covers(waiting) {
				t.Fatalf("took %s, which waits: %+v", waiting, row)
			}
		}
		if row.Last().After(c.now) || strings.Contains(string(row.Outcome), "Queued") {
			t.Fatalf("took %+v at %s", row, c.now)
		}
	}
}
