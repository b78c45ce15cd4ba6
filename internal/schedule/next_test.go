package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	const horizon = 8 * 24 * time.Hour
	rapid.Check(t, func(t *rapid.T) {
		expression := drawExpression(t)
		judge, err := newOracle(expression)
		if err != nil {
			t.Fatalf("the oracle refuses %q: %v", expression, err)
		}
		for range 10 {
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
