package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/schedule"
)

// drawItem draws an item of a field: a star, a value, a range, with a step or without.
func drawItem(t *rapid.T, least, most int, names string) string {
	value := func(number int) string {
		if names != "" && rapid.Bool().Draw(t, "by name") {
			name := strings.Fields(names)[number-least]
			return rapid.SampledFrom([]string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]}).Draw(t, "case")
		}
		return fmt.Sprint(number)
	}
	item := ""
	switch rapid.SampledFrom([]string{"star", "value", "value", "range"}).Draw(t, "item") {
	case "star":
		item = rapid.SampledFrom([]string{"*", "?"}).Draw(t, "star")
	case "value":
		item = value(rapid.IntRange(least, most).Draw(t, "value"))
	case "range":
		from := rapid.IntRange(least, most).Draw(t, "from")
		item = value(from) + "-" + value(rapid.IntRange(from, most).Draw(t, "to"))
	}
	if rapid.IntRange(0, 2).Draw(t, "stepped") == 0 {
		item += fmt.Sprintf("/%d", rapid.IntRange(1, most+2).Draw(t, "step"))
	}
	return item
}

func drawField(t *rapid.T, least, most int, names string, stars int) string {
	if rapid.IntRange(0, 9).Draw(t, "how") < stars {
		return "*"
	}
	items := make([]string, rapid.IntRange(1, 3).Draw(t, "items"))
	for index := range items {
		items[index] = drawItem(t, least, most, names)
	}
	return strings.Join(items, ",")
}

// drawExpression draws a schedule of the whole grammar, apart from "@every".
func drawExpression(t *rapid.T) string {
	if rapid.IntRange(0, 19).Draw(t, "grammar") == 0 {
		return rapid.SampledFrom([]string{
			"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
		}).Draw(t, "descriptor")
	}
	return strings.Join([]string{
		drawField(t, 0, 59, "", 2),
		drawField(t, 0, 23, "", 4),
		drawField(t, 1, 31, "", 6),
		drawField(t, 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec", 7),
		drawField(t, 0, 6, "sun mon tue wed thu fri sat", 6),
	}, " ")
}

// drawInstant draws an instant of the twenty years, where the zone has changes of its
// clocks one within a day and a half of such a change.
func drawInstant(t *rapid.T, zone tzZone) time.Time {
	if len(zone.changes) == 0 {
		seconds := int64(yearsTo.Sub(yearsFrom) / time.Second)
		return yearsFrom.Add(time.Duration(rapid.Int64Range(0, seconds).Draw(t, "instant")) * time.Second)
	}
	change := rapid.SampledFrom(zone.changes).Draw(t, "change")
	const around = 36 * 3600
	return change.Add(time.Duration(rapid.IntRange(-around, around).Draw(t, "seconds from the change")) * time.Second)
}

// For any schedule, zone and instant the next time is later, and is the one that a look
// at every minute finds.
func TestNextEqualsTheOracle(t *testing.T) {
	zones := mustZones(t)
	rapid.Check(t, func(t *rapid.T) {
		expression := drawExpression(t)
		judge, err := newOracle(expression)
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
			from := drawInstant(t, zone)
			calculator, problem := schedule.Parse(expression, &zone.name)
			if problem != nil {
				if problem.Reason != schedule.NeverFires || !judge.next(time.UTC, from, from.Add(4*366*24*time.Hour)).IsZero() {
					t.Fatalf("%q: %+v", expression, problem)
				}
				return
			}
			until := from.Add(horizon)
			got, want := calculator.Next(from), judge.next(zone.location, from, until)
			if want.IsZero() && (got.IsZero() || got.After(until)) {
				continue
			}
			if !got.Equal(want) || !got.After(from) {
				t.Fatalf("%q in %s after %s: got %s, want %s", expression, zone.name, from.In(zone.location), got.In(zone.location), want.In(zone.location))
			}
		}
	})
}

// RecoverJobs by the properties above.
func TestNext(t *testing.T) {
	for name, test := range map[string]struct{ expression, zone, after, want string }{
		"over the end of a leap year":                {"0 0 1 4 *", "America/Boise", "2016-11-06T12:00:00Z", "2017-04-01T06:00:00Z"},
		"a Friday that begins at one":                {"0 9 * * fri", "Africa/Cairo", "2026-04-20T00:00:00Z", "2026-04-24T06:00:00Z"},
		"eight years ahead":                          {"0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		"a day of the week, but no day of the month": {"0 0 , * mon", "UTC", "2026-04-20T00:00:00Z", "2026-04-27T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			calculator, problem := schedule.Parse(test.expression, &test.zone)
			if problem != nil {
				t.Fatal(problem.Message)
			}
			wantTime(t, "next", calculator.Next(at(test.after)), test.want)
		})
	}
}

// sweepExpressions meet every way in which a change of the clocks can be met.
var sweepExpressions = []string{
	"* * * * *", "0 * * * *", "30 1 * * *", "30 2 * * *", "0 0 * * *", "*/30 * * * *", "45 0-3 * * *", "15 3,23 * * *",
	"59 23 * * 1-5", "0 12 */2 * 6", "7-53/9 */5 1,15 * sun",
}

// In every zone of the world, around changes of its clocks, the times are those that a
// look at every minute finds.
func TestNextAroundChangesInAllZones(t *testing.T) {
	judges := make([]oracle, len(sweepExpressions))
	for index, expression := range sweepExpressions {
		var err error
		if judges[index], err = newOracle(expression); err != nil {
			t.Fatal(err)
		}
	}
	const around = 26 * time.Hour
	for number, zone := range mustZones(t) {
		// Two changes next to one another, from another year in each zone.
		for index := range min(2, len(zone.changes)) {
			change := zone.changes[(number*2+index)%len(zone.changes)]
			sweep(t, zone, judges, change.Add(-around), change.Add(around))
		}
	}
}

func sweep(t *testing.T, zone tzZone, judges []oracle, from, until time.Time) {
	t.Helper()
	next := make([]time.Time, len(judges))
	calculators := make([]*schedule.Calculator, len(judges))
	for index, expression := range sweepExpressions {
		calculator, problem := schedule.Parse(expression, &zone.name)
		if problem != nil {
			t.Fatalf("%q in %s: %s", expression, zone.name, problem.Message)
		}
		calculators[index], next[index] = calculator, calculator.Next(from)
	}
	for minute := from.Truncate(time.Minute).Add(time.Minute); !minute.After(until); minute = minute.Add(time.Minute) {
		clock := minute.In(zone.location)
		for index, judge := range judges {
			if judge.shows(clock) != next[index].Equal(minute) {
				t.Fatalf("%q at %s: next is %s", sweepExpressions[index], clock, next[index].In(zone.location))
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
		calculator, problem := schedule.Parse(fmt.Sprintf("@every %ds", delay), nil)
		if problem != nil {
			t.Fatal(problem.Message)
		}
		from := yearsFrom.Add(time.Duration(rapid.Int64Range(0, 20*365*24*3600).Draw(t, "from")) * time.Second)
		got := calculator.Next(from)
		if !got.After(from) || got.Sub(from) > max(time.Duration(delay)*time.Second, time.Minute) || got.Sub(from)%(time.Duration(delay)*time.Second) != 0 {
			t.Fatalf("every %d s from %s: got %s", delay, from, got)
		}
	})
}

// Where clocks are set by an hour, at a whole hour, and not at midnight, the library keeps its rule, and so upstream starts
// the same runs. In the Chatham Islands, where they are set back at 3:45, it returns times that have passed.
func TestNextEqualsTheLibraryWhereItKeepsItsRule(t *testing.T) {
	zones := slices.DeleteFunc(slices.Clone(mustZones(t)), func(zone tzZone) bool {
		return slices.ContainsFunc(zone.changes, func(change time.Time) bool {
			_, before := change.Add(-time.Minute).In(zone.location).Zone()
			_, after := change.In(zone.location).Zone()
			clock := change.In(zone.location)
			midnight := clock.Hour() == 1 && after > before
			return midnight || clock.Minute() != 0 || after-before != 3600 && before-after != 3600
		})
	})
	if len(zones) < 400 {
		t.Fatalf("only %d zones", len(zones))
	}
	rapid.Check(t, func(t *rapid.T) {
		expression := drawExpression(t)
		zone := zones[rapid.IntRange(0, len(zones)-1).Draw(t, "zone")]
		calculator, problem := schedule.Parse(expression, &zone.name)
		if problem != nil {
			return
		}
		library, err := cron.ParseStandard("TZ=" + zone.name + " " + expression)
		if err != nil {
			t.Fatal(err)
		}
		at := drawInstant(t, zone)
		for range 30 {
			got, want := calculator.Next(at), library.Next(at)
			if !got.Equal(want) {
				t.Fatalf("%q in %s after %s: got %s, the library has %s",
					expression, zone.name, at.In(zone.location), got.In(zone.location), want.In(zone.location))
			}
			at = got
		}
	})
}
