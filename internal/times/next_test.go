package times_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
	"ostinato.dev/ostinato/internal/times"
)

// For any schedule, zone and instant the next time is later, and is the one that a look
// at every minute finds.
func TestNextEqualsTheOracle(t *testing.T) {
	zones := clocks.Zones(t)
	rapid.Check(t, func(t *rapid.T) {
		expression := clocks.DrawExpression(t)
		judge, err := clocks.NewOracle(expression)
		if err != nil {
			t.Fatalf("the oracle refuses %q: %v", expression, err)
		}
		// Schedules of few days are followed for long.
		horizon := 8 * 24 * time.Hour
		if rapid.IntRange(0, 4).Draw(t, "long") == 0 {
			horizon *= 150
		}
		for range 5 {
			zone := zones[rapid.IntRange(0, len(zones)-1).Draw(t, "zone")]
			from := clocks.DrawInstant(t, zone)
			calculator, problem := times.Parse(expression, &zone.Name)
			if problem != nil {
				if problem.Reason != times.NeverFires || !judge.Next(time.UTC, from, from.Add(4*366*24*time.Hour)).IsZero() {
					t.Fatalf("%q: %+v", expression, problem)
				}
				return
			}
			until := from.Add(horizon)
			got, want := calculator.Next(from), judge.Next(zone.Location, from, until)
			if want.IsZero() && (got.IsZero() || got.After(until)) {
				continue
			}
			if !got.Equal(want) || !got.After(from) {
				t.Fatalf("%q in %s after %s: got %s, want %s", expression, zone.Name, from.In(zone.Location), got.In(zone.Location), want.In(zone.Location))
			}
		}
	})
}

// Found by the properties above.
func TestNext(t *testing.T) {
	for name, test := range map[string]struct{ expression, zone, after, want string }{
		"over the end of a leap year":                {"0 0 1 4 *", "America/Boise", "2016-11-06T12:00:00Z", "2017-04-01T06:00:00Z"},
		"a Friday that begins at one":                {"0 9 * * fri", "Africa/Cairo", "2026-04-20T00:00:00Z", "2026-04-24T06:00:00Z"},
		"eight years ahead":                          {"0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		"a day of the week, but no day of the month": {"0 0 , * mon", "UTC", "2026-04-20T00:00:00Z", "2026-04-27T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			calculator, problem := times.Parse(test.expression, &test.zone)
			if problem != nil {
				t.Fatal(problem.Message)
			}
			if got := calculator.Next(at(test.after)); !got.Equal(at(test.want)) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// In every zone of the world, around changes of its clocks, the times are those that a
// look at every minute finds.
func TestNextAroundChangesInAllZones(t *testing.T) {
	judges := make([]clocks.Oracle, len(clocks.Expressions))
	for index, expression := range clocks.Expressions {
		var err error
		if judges[index], err = clocks.NewOracle(expression); err != nil {
			t.Fatal(err)
		}
	}
	const around = 26 * time.Hour
	for number, zone := range clocks.Zones(t) {
		// Two changes next to one another, from another year in each zone.
		for index := range min(2, len(zone.Changes)) {
			change := zone.Changes[(number*2+index)%len(zone.Changes)]
			sweep(t, zone, judges, change.Add(-around), change.Add(around))
		}
	}
}

func sweep(t *testing.T, zone clocks.Zone, judges []clocks.Oracle, from, until time.Time) {
	t.Helper()
	next := make([]time.Time, len(judges))
	calculators := make([]*times.Calculator, len(judges))
	for index, expression := range clocks.Expressions {
		calculator, problem := times.Parse(expression, &zone.Name)
		if problem != nil {
			t.Fatalf("%q in %s: %s", expression, zone.Name, problem.Message)
		}
		calculators[index], next[index] = calculator, calculator.Next(from)
	}
	for minute := from.Truncate(time.Minute).Add(time.Minute); !minute.After(until); minute = minute.Add(time.Minute) {
		clock := minute.In(zone.Location)
		for index, judge := range judges {
			if judge.Shows(clock) != next[index].Equal(minute) {
				t.Fatalf("%q at %s: next is %s", clocks.Expressions[index], clock, next[index].In(zone.Location))
			}
			if next[index].Equal(minute) {
				next[index] = calculators[index].Next(minute)
			}
		}
	}
}

// The grid of "@every" is that of base + n x delay, whatever the distance.
func TestNextOfEveryIsOnItsGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := rapid.Int64Range(1, 400*24*3600).Draw(t, "delay")
		calculator, problem := times.Parse(fmt.Sprintf("@every %ds", delay), nil)
		if problem != nil {
			t.Fatal(problem.Message)
		}
		from := clocks.From.Add(time.Duration(rapid.Int64Range(0, 20*365*24*3600).Draw(t, "from")) * time.Second)
		got := calculator.Next(from)
		if !got.After(from) || got.Sub(from) > max(time.Duration(delay)*time.Second, time.Minute) || got.Sub(from)%(time.Duration(delay)*time.Second) != 0 {
			t.Fatalf("every %d s from %s: got %s", delay, from, got)
		}
	})
}

// Where clocks are set by an hour, at a whole hour, and not at midnight, the library keeps its rule, and so upstream starts
// the same runs. In the Chatham Islands, where they are set back at 3:45, it returns times that have passed.
func TestNextEqualsTheLibraryWhereItKeepsItsRule(t *testing.T) {
	zones := slices.DeleteFunc(slices.Clone(clocks.Zones(t)), func(zone clocks.Zone) bool {
		return slices.ContainsFunc(zone.Changes, func(change time.Time) bool {
			_, before := change.Add(-time.Minute).In(zone.Location).Zone()
			_, after := change.In(zone.Location).Zone()
			clock := change.In(zone.Location)
			midnight := clock.Hour() == 1 && after > before
			return midnight || clock.Minute() != 0 || after-before != 3600 && before-after != 3600
		})
	})
	if len(zones) < 400 {
		t.Fatalf("only %d zones", len(zones))
	}
	rapid.Check(t, func(t *rapid.T) {
		expression := clocks.DrawExpression(t)
		zone := zones[rapid.IntRange(0, len(zones)-1).Draw(t, "zone")]
		calculator, problem := times.Parse(expression, &zone.Name)
		if problem != nil {
			return
		}
		library, err := cron.ParseStandard("TZ=" + zone.Name + " " + expression)
		if err != nil {
			t.Fatal(err)
		}
		at := clocks.DrawInstant(t, zone)
		for range 30 {
			got, want := calculator.Next(at), library.Next(at)
			if !got.Equal(want) {
				t.Fatalf("%q in %s after %s: got %s, the library has %s",
					expression, zone.Name, at.In(zone.Location), got.In(zone.Location), want.In(zone.Location))
			}
			at = got
		}
	})
}
