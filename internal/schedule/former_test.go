package schedule_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
)

func on(expression string) specOption {
	return func(s *schedule.Spec) { s.Schedule = expression }
}

// Nobody knows when the edit was that the workflow hears of after the time: a time that the schedule names before and after it is due.
func TestATimeThatBothSchedulesNameOutlivesTheEdit(t *testing.T) {
	for name, test := range map[string]struct {
		spec   schedule.Spec
		change specOption
		heard  string
		runs   []string
		ledger []string
	}{
		"heard when it is due": {
			cronSpec("0 2 * * *"), on("0 2,14 * * *"), "02:00:00.1",
			[]string{"2016-05-19T02:00:00Z"}, []string{"19T02:00:00 Started"}},
		"in other words": {
			cronSpec("0 2 * * *"), on("00 02 * * *"), "02:00",
			[]string{"2016-05-19T02:00:00Z"}, []string{"19T02:00:00 Started"}},
		"in another zone": {
			cronSpec("0 2 * * *"), combined(on("0 4 * * *"), zone("Europe/Berlin")), "02:00:05",
			[]string{"2016-05-19T02:00:00Z"}, []string{"19T02:00:00 Started"}},
		"heard after an outage": {
			cronSpec("0 2 * * *"), on("0 2,14 * * *"), "06:00",
			[]string{"2016-05-19T02:00:00Z"}, []string{"19T02:00:00 StartedLate Outage"}},
		"the last of those that both name": {
			cronSpec("*/30 * * * *"), on("0 * * * *"), "02:40",
			[]string{"2016-05-19T02:00:00Z"}, []string{
				"19T00:30:00 SkippedSuperseded ScheduleChanged", "19T01:00:00 SkippedSuperseded Outage",
				"19T01:30:00 SkippedSuperseded ScheduleChanged", "19T02:30:00 SkippedSuperseded ScheduleChanged",
				"19T02:00:00 StartedLate Outage"}},
		"all of them": {
			cronSpec("*/30 * * * *", catchUpAll), on("0 * * * *"), "02:40",
			[]string{"2016-05-19T01:00:00Z", "2016-05-19T02:00:00Z"}, []string{
				"19T00:30:00 SkippedSuperseded ScheduleChanged", "19T01:30:00 SkippedSuperseded ScheduleChanged",
				"19T02:30:00 SkippedSuperseded ScheduleChanged",
				"19T01:00:00 StartedLate Outage", "19T02:00:00 StartedLate Outage"}},
		"none of them": {
			cronSpec("0 * * * *", catchUpNone), on("0,30 * * * *"), "02:40", nil,
			[]string{"19T01:00:00..19T02:00:00 x2 SkippedDeadline NotCaughtUp"}},
		"none where nothing is named twice": {
			cronSpec("0 * * * *"), on("30 * * * *"), "02:40", nil,
			[]string{"19T01:00:00..19T02:00:00 x2 SkippedSuperseded ScheduleChanged"}},
		"an interval": {
			cronSpec("@every 20m"), on("@every 60m"), "01:15",
			[]string{"2016-05-19T01:10:00Z"}, []string{
				"19T00:30:00..19T00:50:00 x2 SkippedSuperseded ScheduleChanged", "19T01:10:00 StartedLate Outage"}},
		"none where the new one can't be read": {
			cronSpec("0 * * * *"), on("often"), "02:40", nil,
			[]string{"19T01:00:00..19T02:00:00 x2 SkippedSuperseded ScheduleChanged"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("00:10")).at(at("00:10")).edit(at(test.heard), test.change)
			wantStrings(t, "runs", c.started(), test.runs...)
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
		})
	}
}

func TestARunThatWaitsOutlivesTheEditThatNamesItsTime(t *testing.T) {
	t.Run("behind another", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("10:00")).at(at("11:00"))
		c.edit(at("11:10"), on("*/30 * * * *")).finish("Complete", at("11:20"))
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 StartedLate JobAlreadyActive")
	})
	t.Run("in a queue", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", queue), at("09:30")).at(at("10:00")).at(at("11:00")).at(at("12:00"))
		c.edit(at("12:10"), on("0 */2 * * *")).finish("Complete", at("12:20"))
		wantStrings(t, "ledger", c.ledger(),
			"19T10:00:00 Started", "19T11:00:00 SkippedSuperseded ScheduleChanged", "19T12:00:00 StartedLate JobAlreadyActive")
	})
	t.Run("for its next try", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 2 * * *"), at("00:00")).at(at("00:00"))
		c.refuse = func(schedule.Start) string { return "exceeded quota" }
		c.at(at("02:00"))
		c.refuse = nil
		c.edit(at("02:00:05"), on("0 2,14 * * *"))
		wantStrings(t, "ledger", c.ledger(), "19T02:00:00 Started")
	})
	t.Run("through a suspension", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/30 * * * *"), at("00:10")).at(at("00:10"))
		c.refuse = func(schedule.Start) string { return "exceeded quota" }
		c.edit(at("02:40"), on("0 * * * *")).edit(at("02:41"), suspended)
		c.refuse = nil
		c.edit(at("02:50"), resumed)
		wantStrings(t, "runs", c.started(), "2016-05-19T02:00:00Z")
	})
}

// accountedUntil says that each time before has its outcome, so it has to have one.
func TestTimesBeforeAnEditHaveTheirOutcome(t *testing.T) {
	t.Run("those of a suspension", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
		c.edit(at("10:30"), suspended).edit(at("14:15"), on("30 * * * *"))
		wantTime(t, "accounted until", c.status.AccountedUntil.Time, "10:00")
		c.edit(at("15:00"), resumed)
		wantStrings(t, "ledger", c.ledger(),
			"19T10:00:00 Started", "19T11:00:00..19T14:00:00 x4 SkippedSuspended Suspended", "19T14:30:00 StartedLate Suspended")
	})
	t.Run("those of each schedule of a suspension", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
		c.edit(at("10:30"), suspended).edit(at("11:15"), on("20 * * * *")).edit(at("12:25"), on("40 * * * *")).edit(at("13:30"), resumed)
		wantStrings(t, "ledger", c.ledger(),
			"19T10:00:00 Started", "19T11:00:00..19T12:20:00 x3 SkippedSuspended Suspended", "19T12:40:00 StartedLate Suspended")
	})
	t.Run("those of an outage", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *"), at("09:59:30")).at(at("10:00"))
		c.edit(at("12:00:30"), on("30 2 * * *"))
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:01:00..19T12:00:00 x120 SkippedSuperseded ScheduleChanged")
		wantTime(t, "accounted until", c.status.AccountedUntil.Time, "12:00:30")
	})
	t.Run("those of years", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/2 * * * *"), at("09:59:30")).at(at("10:00"))
		timed(t, "an edit of a minutely schedule after ten years", func() {
			again := *c
			again.edit(at("2026-05-19T10:00:30Z"), on("1-59/2 * * * *"))
			c.state = again.state
		})
		var count int64
		for _, entry := range c.state.Ledger.Entries {
			count += entry.Times()
		}
		if want := int64(10*365+2)*720 + 1; count != want {
			t.Errorf("%d outcomes, want %d: %q", count, want, c.ledger())
		}
	})
	t.Run("and none that only the new schedule names", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 2 * * *"), at("00:00")).at(at("02:00"))
		c.edit(at("10:00:30"), on("0 9,11 * * *")).at(at("11:00")).edit(at("11:30"), suspended).edit(at("11:40"), resumed)
		wantStrings(t, "ledger", c.ledger(), "19T02:00:00 Started", "19T11:00:00 Started")
	})
}

// Whatever is edited, the scheduled times that have passed are exactly those with an outcome and those that still wait. The times are
// those that the oracle finds, each by the schedule that the workflow went by when they passed.
func TestEveryScheduledTimeGetsOneOutcomeWhateverIsEdited(t *testing.T) {
	expressions := []string{"* * * * *", "*/3 * * * *", "*/5 * * * *", "0,7,45 * * * *", "2-59/6 * * * *", "nonsense"}
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt)
		spec.Schedule = rapid.SampledFrom(expressions[:4]).Draw(rt, "first schedule")
		c := newCluster(rt, spec, at("10:00:10")).at(at("10:00:10"))
		drawSteps(rt, c, expressions, func(step string) {
			estimated := slices.ContainsFunc(c.state.Ledger.Entries, func(entry ledger.Entry) bool { return entry.Estimated })
			if c.spec.Suspend || c.state.Ledger.Dropped > 0 || estimated {
				return
			}
			var recorded, passed int64
			for _, entry := range c.state.Ledger.Entries {
				if !entry.Manual {
					recorded += entry.Times()
				}
			}
			if !c.state.Calendar.Due.IsZero() {
				recorded += 1 + int64(len(c.state.Calendar.Waiting))
			}
			from := c.state.Created
			for _, former := range append(slices.Clone(c.former), schedule.FormerSchedule{Schedule: c.spec.Schedule, Until: c.now}) {
				if judge, err := clocks.NewOracle(former.Schedule); err == nil {
					for next := judge.Next(time.UTC, from, former.Until); !next.IsZero(); next = judge.Next(time.UTC, next, former.Until) {
						passed++
					}
				}
				from = former.Until
			}
			if recorded != passed {
				rt.Fatalf("%s at %s: %d outcomes for %d scheduled times, due %s: %q", step, c.now, recorded, passed, c.state.Calendar.Due, c.ledger())
			}
		})
	})
}
