package schedule_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

// Everything is stopped for a while: which of the times that passed start afterwards, and
// what the others are told.
func TestWhatIsCaughtUp(t *testing.T) {
	const everyTen = "*/10 * * * *"
	for name, test := range map[string]struct {
		spec    schedule.Spec
		up      string
		started []string
		ledger  []string
	}{
		"the latest, by default": {
			cronSpec(everyTen), "10:35", []string{"10:30"},
			[]string{"19T10:10:00..19T10:20:00 x2 SkippedSuperseded Outage", "19T10:30:00 StartedLate Outage"},
		},
		"none": {
			cronSpec(everyTen, catchUpNone), "10:35", nil,
			[]string{"19T10:10:00..19T10:30:00 x3 SkippedDeadline NotCaughtUp"},
		},
		"none, and one that is a minute late": {
			cronSpec(everyTen, catchUpNone), "10:31", []string{"10:30"},
			[]string{"19T10:10:00..19T10:20:00 x2 SkippedDeadline NotCaughtUp", "19T10:30:00 Started"},
		},
		"all": {
			cronSpec(everyTen, catchUpAll), "10:35", []string{"10:10", "10:20", "10:30"},
			[]string{"19T10:10:00 StartedLate Outage", "19T10:20:00 StartedLate Outage", "19T10:30:00 StartedLate Outage"},
		},
		"all of the last quarter of an hour": {
			cronSpec(everyTen, catchUpAll, catchUpWindow(900)), "10:35", []string{"10:20", "10:30"},
			[]string{"19T10:10:00 SkippedDeadline NotCaughtUp", "19T10:20:00 StartedLate Outage", "19T10:30:00 StartedLate Outage"},
		},
		"the latest of the last minutes, which is older": {
			cronSpec(everyTen, catchUpWindow(240)), "10:35", nil,
			[]string{"19T10:10:00..19T10:30:00 x3 SkippedDeadline NotCaughtUp"},
		},
		"two": {
			cronSpec(everyTen, catchUpAll, catchUpLimit(2)), "10:35", []string{"10:20", "10:30"},
			[]string{"19T10:10:00 SkippedSuperseded CatchUpLimit", "19T10:20:00 StartedLate Outage", "19T10:30:00 StartedLate Outage"},
		},
		"all, none later than its deadline": {
			cronSpec(everyTen, catchUpAll, deadline(960)), "10:35", []string{"10:20", "10:30"},
			[]string{"19T10:10:00 SkippedDeadline StartingDeadlineExceeded", "19T10:20:00 StartedLate Outage", "19T10:30:00 StartedLate Outage"},
		},
		"all, one after the other": {
			cronSpec(everyTen, catchUpAll, forbid), "10:35", []string{"10:10"},
			[]string{"19T10:10:00 StartedLate Outage", "19T10:20:00..19T10:30:00 x2 Queued JobAlreadyActive"},
		},
		"all, two at a time": {
			cronSpec(everyTen, catchUpAll, atMost(2)), "10:35", []string{"10:10", "10:20"},
			[]string{"19T10:10:00 StartedLate Outage", "19T10:20:00 StartedLate Outage", "19T10:30:00 Queued JobAlreadyActive"},
		},
		"all under Replace, which is the latest": {
			cronSpec(everyTen, catchUpAll, replace), "10:35", []string{"10:30"},
			[]string{"19T10:10:00..19T10:20:00 x2 SkippedSuperseded Outage", "19T10:30:00 StartedLate Outage"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("10:00:30")).at(at("10:00:30")).at(at(test.up))
			wantStrings(t, "runs", c.started(), stamps(test.started...)...)
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
		})
	}
}

// stamps are times of the day as RFC 3339 has them.
func stamps(times ...string) []string {
	var all []string
	for _, text := range times {
		all = append(all, at(text).Format(time.RFC3339))
	}
	return all
}

// A suspension is caught up as an outage is, once it is over.
func TestASuspensionIsCaughtUp(t *testing.T) {
	for name, test := range map[string]struct {
		spec   schedule.Spec
		ledger []string
	}{
		"none": {cronSpec("0 * * * *", catchUpNone), []string{"19T11:00:00..19T13:00:00 x3 SkippedSuspended Suspended"}},
		"the latest": {
			cronSpec("0 * * * *"),
			[]string{"19T11:00:00..19T12:00:00 x2 SkippedSuspended Suspended", "19T13:00:00 StartedLate Suspended"},
		},
		"all": {
			cronSpec("0 * * * *", catchUpAll),
			[]string{"19T11:00:00 StartedLate Suspended", "19T12:00:00 StartedLate Suspended", "19T13:00:00 StartedLate Suspended"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("10:30")).edit(at("10:40"), suspended).at(at("12:30")).edit(at("13:30"), resumed)
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
		})
	}
}

// Runs that are caught up one after the other do not stop those that come: under Forbid one
// of these waits behind them, and the next takes its place.
func TestForbidWhileOthersAreCaughtUp(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid, catchUpAll), at("09:30")).at(at("09:30"))
	c.at(at("12:30")).at(at("13:00")).at(at("14:00"))
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 StartedLate Outage", "19T13:00:00 SkippedOverlap JobAlreadyActive",
		"19T11:00:00..19T14:00:00 x3 Queued JobAlreadyActive")
	for c.now = at("14:10"); len(c.state.Active) > 0; {
		c.finish(batchv1.JobComplete, c.now.Add(time.Minute))
	}
	wantStrings(t, "runs", c.started(), stamps("10:00", "11:00", "12:00", "14:00")...)
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 StartedLate Outage", "19T13:00:00 SkippedOverlap JobAlreadyActive",
		"19T11:00:00 StartedLate Outage", "19T12:00:00 StartedLate Outage", "19T14:00:00 StartedLate JobAlreadyActive")
}

// However long nobody was there, the times within the limit are found, and all others have
// an outcome.
func TestALongOutageIsCaughtUpToTheLimit(t *testing.T) {
	for name, expression := range map[string]string{"regular": "* * * * *", "irregular": "3,4,59 1-5 * * 1-5", "every": "@every 90s", "rare": "0 0 29 2 *"} {
		t.Run(name, func(t *testing.T) {
			spec := cronSpec(expression, catchUpAll, catchUpLimit(1000))
			created, now := at("10:00:30"), at("10:00:30").AddDate(6, 0, 0)
			var found schedule.Evaluation
			timed(t, expression, func() { found = schedule.Evaluate(spec, createdAt(created), now) })
			all := append(slices.Clone(found.Waiting), found.Due)
			plain := schedule.Evaluate(cronSpec(expression), settledUntil(createdAt(created), all[0].Add(-time.Second)), now)
			want := int64(1)
			for _, missed := range plain.Missed {
				want += missed.Count
			}
			if int64(len(all)) != want || !plain.Due.Equal(found.Due) || len(all) > 1000 || name != "rare" && len(all) < 1000 {
				t.Errorf("%d times are caught up, %d come from the first of them on; the last is %s, want %s", len(all), want, found.Due, plain.Due)
			}
			if len(found.Missed) > 0 && !found.Missed[len(found.Missed)-1].Last.Before(all[0]) {
				t.Errorf("missed until %s, caught up from %s", found.Missed[len(found.Missed)-1].Last, all[0])
			}
		})
	}
}

// Temporal's data is lost while runs wait: they are found again, as the CronJob catches up.
func TestRunsThatWaitOutliveTheWorkflow(t *testing.T) {
	for name, test := range map[string]struct {
		spec   schedule.Spec
		ledger []string
	}{
		"all": {cronSpec("0 * * * *", queue, catchUpAll), []string{
			"19T10:00:00 Started", "19T11:00:00..19T13:00:00 x3 Queued JobAlreadyActive",
		}},
		"the latest": {cronSpec("0 * * * *", queue), []string{
			"19T10:00:00 Started", "19T11:00:00..19T12:00:00 x2 SkippedSuperseded Outage", "19T13:00:00 Queued JobAlreadyActive",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:30")).at(at("10:00")).at(at("11:00")).at(at("12:00")).at(at("13:00"))
			again := restored(t, test.spec, at("09:30"), c.status, nil)
			again.running = c.running
			wantStrings(t, "ledger", again.at(at("13:30")).ledger(), test.ledger...)
		})
	}
}
