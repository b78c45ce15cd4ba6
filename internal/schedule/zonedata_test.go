package schedule_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
)

// A new release of the zone database is taken in for times that were computed before,
// and the run is on time by the new rules: whether they make it later or earlier.
func TestKeptTimesFollowTheZoneDatabase(t *testing.T) {
	for name, test := range map[string]struct{ expression, created, updated, rules, want string }{
		"a year ahead, an hour later": {
			"0 9 1 7 *", "2025-08-01T00:00:00Z", "2026-03-01T00:00:00Z", "Africa/Lagos", "2026-07-01T08:00:00Z"},
		"a year ahead, an hour earlier": {
			"0 9 1 7 *", "2025-08-01T00:00:00Z", "2026-03-01T00:00:00Z", "Europe/Moscow", "2026-07-01T06:00:00Z"},
		"a year ahead, in a gap of the clocks until then": {
			"30 2 29 3 *", "2025-08-01T00:00:00Z", "2025-09-01T00:00:00Z", "Europe/Moscow", "2026-03-28T23:30:00Z"},
		"tomorrow, later: no summer time any more": {
			"0 9 * * *", "2026-03-01T00:00:00Z", "2026-03-28T12:00:00Z", "Africa/Lagos", "2026-03-29T08:00:00Z"},
		"tomorrow, earlier: summer time stays": {
			"0 9 * * *", "2026-10-01T00:00:00Z", "2026-10-24T12:00:00Z", "Africa/Maputo", "2026-10-25T07:00:00Z"},
		"three hours ahead, later": {
			"0 3,21 * * *", "2026-03-01T00:00:00Z", "2026-03-28T22:00:00Z", "Africa/Lagos", "2026-03-29T02:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec(test.expression, zone("Europe/Berlin")), at(test.created)).at(at(test.created))
			for c.wake.Before(at(test.updated)) {
				c.at(c.wake)
			}
			runs := len(c.starts)
			clocks.Update(t, "Europe/Berlin", test.rules)
			for len(c.starts) == runs {
				c.at(c.wake)
			}
			wantTime(t, "ran for", c.starts[runs].Scheduled, test.want)
			wantTime(t, "ran at", c.now, test.want)
		})
	}
}

// Workers of one release do not all know the same zones: a rollback, or a node with an older database, may not cost later runs.
func TestAZoneThatAWorkerDoesNotKnowIsLookedUpAgain(t *testing.T) {
	const unknown = "Mars/Olympus"
	for name, test := range map[string]struct {
		then func(c *cluster)
		want string
	}{
		"within an hour":           {func(c *cluster) { c.at(c.wake) }, "11:00"},
		"after any edit":           {func(c *cluster) { c.edit(at("07:40")) }, "11:00"},
		"after an outage":          {func(c *cluster) { c.at(at("09:45")) }, "11:00"},
		"when it is resumed":       {func(c *cluster) { c.edit(at("07:40"), suspended).edit(at("08:00"), resumed) }, "11:00"},
		"and what it missed, late": {func(c *cluster) { c.at(at("12:15")) }, "12:15"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 12 * * *", zone(unknown)), at("06:30")).at(at("06:30"))
			wantTime(t, "looks again", c.wake, "07:30")
			wantTime(t, "and again", c.at(c.wake).wake, "08:30")
			wantStrings(t, "events", c.reasons(), "UnknownTimeZone")
			clocks.Update(t, unknown, "Africa/Lagos")
			for test.then(c); len(c.starts) == 0 && !c.wake.IsZero() && c.wake.Before(at("20:00")); c.at(c.wake) {
			}
			if len(c.starts) != 1 {
				t.Fatalf("%d runs, wakes at %s", len(c.starts), c.wake)
			}
			wantTime(t, "ran for", c.starts[0].Scheduled, "11:00")
			wantTime(t, "ran at", c.now, test.want)
			if condition := c.condition(ostinatov1.ConditionScheduleValid); condition.Status != metav1.ConditionTrue {
				t.Errorf("condition %+v", condition)
			}
		})
	}
	t.Run("but not while it is suspended", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 12 * * *", zone(unknown), suspended), at("06:30")).at(at("06:30"))
		wantTime(t, "wake", c.wake, "")
	})
}

// Looking again costs a wake only where runs are far apart.
func TestLookingAgainCostsNothingForFrequentRuns(t *testing.T) {
	for expression, want := range map[string]struct{ wakes, evaluations int }{
		"* * * * *":   {1440, 144},
		"*/5 * * * *": {288, 28},
		"0 * * * *":   {24, 2},
		"0 */6 * * *": {4, 2},
		"0 9 * * *":   {2, 2},
	} {
		t.Run(expression, func(t *testing.T) {
			c := newCluster(t, cronSpec(expression), at("10:00:30")).at(at("10:00:30"))
			evaluations, wakes := c.evaluations, 0
			for end := c.now.Add(24 * time.Hour); !c.wake.After(end); c.at(c.wake) {
				wakes++
			}
			if wakes != want.wakes || c.evaluations-evaluations != want.evaluations {
				t.Errorf("%d wakes and %d evaluations a day, want %d and %d", wakes, c.evaluations-evaluations, want.wakes, want.evaluations)
			}
		})
	}
}

// While it is suspended a CronJob does not wake to look again.
func TestASuspendedCronJobDoesNotLookAgain(t *testing.T) {
	c := newCluster(t, cronSpec("0 9 * * *"), at("10:00")).at(at("10:00"))
	wantTime(t, "looks again", c.wake, "2016-05-20T07:00:00Z")
	c.edit(at("11:00"), suspended)
	wantTime(t, "wake", c.wake, "")
}
