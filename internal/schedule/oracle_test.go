package schedule_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// oracle says by brute force when a schedule of five fields fires. It shares nothing
// with the package or its cron library: its rules are those of docs/parity.md 1.3, read
// anew, and it finds the next time by looking at the zone's clock at every minute.
type oracle struct {
	minute, hour, dayOfMonth, month, dayOfWeek oracleField
}

// oracleField is the set of values that a field names.
type oracleField struct {
	values map[int]bool
	// star says that "*" or "?" is among them, with no step above 1: then the field
	// restricts nothing, and does not make the either-or rule of the days apply.
	star bool
}

var oracleDescriptors = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// newOracle reads a schedule, without a zone of its own and not "@every".
func newOracle(expression string) (oracle, error) {
	if written, ok := oracleDescriptors[expression]; ok {
		expression = written
	} else if strings.HasPrefix(expression, "@") {
		return oracle{}, fmt.Errorf("no descriptor: %s", expression)
	}
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return oracle{}, fmt.Errorf("%d fields", len(fields))
	}
	var o oracle
	for index, field := range []struct {
		into           *oracleField
		least, most    int
		names          string
		firstNameValue int
	}{
		{&o.minute, 0, 59, "", 0},
		{&o.hour, 0, 23, "", 0},
		{&o.dayOfMonth, 1, 31, "", 0},
		{&o.month, 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec", 1},
		{&o.dayOfWeek, 0, 6, "sun mon tue wed thu fri sat", 0},
	} {
		names := map[string]int{}
		for position, name := range strings.Fields(field.names) {
			names[name] = field.firstNameValue + position
		}
		var err error
		if *field.into, err = newOracleField(fields[index], field.least, field.most, names); err != nil {
			return oracle{}, err
		}
	}
	return o, nil
}

// oracleItem is: a star or a first value, a last value, a step. Whatever stands behind
// "*-" is not looked at, upstream's quirk.
var oracleItem = regexp.MustCompile(`^(?:([*?])(-[^/]*)?|([^-/]+)(?:-([^-/]+))?)(?:/([^/]+))?$`)

func newOracleField(text string, least, most int, names map[string]int) (oracleField, error) {
	field := oracleField{values: map[int]bool{}}
	value := func(text string) (int, error) {
		if named, ok := names[strings.ToLower(text)]; ok {
			return named, nil
		}
		return oracleNumber(text)
	}
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		parts := oracleItem.FindStringSubmatch(item)
		if parts == nil {
			return field, fmt.Errorf("no item: %s", item)
		}
		star, first, last, step := parts[1] != "", parts[3], parts[4], parts[5]
		from, to, by := least, most, 1
		var err error
		if step != "" {
			if by, err = oracleNumber(step); err != nil || by == 0 {
				return field, fmt.Errorf("no step: %s", item)
			}
		}
		if !star {
			if from, err = value(first); err != nil {
				return field, err
			}
			switch {
			case last != "":
				if to, err = value(last); err != nil {
					return field, err
				}
			case step == "":
				to = from
			}
		}
		if from < least || to > most || from > to {
			return field, fmt.Errorf("out of range: %s", item)
		}
		for number := least; number <= most; number++ {
			if number >= from && number <= to && (number-from)%by == 0 {
				field.values[number] = true
			}
		}
		field.star = field.star || star && by == 1
	}
	return field, nil
}

func oracleNumber(text string) (int, error) {
	digits := strings.TrimPrefix(text, "+")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("no number: %s", text)
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return int(number), err
}

// shows reports whether the schedule names what a clock shows.
func (o oracle) shows(clock time.Time) bool {
	return clock.Second() == 0 && o.minute.values[clock.Minute()] && o.hour.values[clock.Hour()] && o.showsDay(clock)
}

func (o oracle) showsDay(clock time.Time) bool {
	if !o.month.values[int(clock.Month())] {
		return false
	}
	ofMonth, ofWeek := o.dayOfMonth.values[clock.Day()], o.dayOfWeek.values[int(clock.Weekday())]
	if o.dayOfMonth.star || o.dayOfWeek.star {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// next returns the first instant in (t, until] at which the zone's clock shows a time
// of the schedule; zero when there is none. It looks at each full minute of UTC: since
// 1972 no zone's clock differs from that by a part of a minute. Only an hour that begins
// and ends on the same day, which the schedule does not name, is passed over.
func (o oracle) next(zone *time.Location, t, until time.Time) time.Time {
	for at := t.Truncate(time.Minute).Add(time.Minute); !at.After(until); at = at.Add(time.Minute) {
		clock := at.In(zone)
		if o.shows(clock) {
			return at
		}
		if !o.showsDay(clock) && at.Add(time.Hour).In(zone).Day() == clock.Day() {
			at = at.Add(time.Hour - time.Minute)
		}
	}
	return time.Time{}
}
