package main

import (
	"fmt"
	"strings"
)

// The cron grammar of batch/v1 (parity 1.3), as far as regular expressions can say it.
// What they take, github.com/robfig/cron takes, and the other way round, but for the
// order in a range, which a rule of its own compares.
const (
	// space is what separates fields: all that Unicode calls white space.
	space = `[\s\v\x{85}\pZ]`
	// word is a field, whatever is in it.
	word = `[^\s\v\x{85}\pZ]+`
	// step is a positive number that fits 64 bits.
	step = `\+?0*[1-9][0-9]{0,17}`
	// every is "@every" with a duration of Go.
	every = `@every [-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)`
	// named are the other descriptors.
	named = `@(yearly|annually|monthly|weekly|daily|midnight|hourly)`
)

var (
	fiveFields = `^` + space + `*` + word + `(` + space + `+` + word + `){4}` + space + `*$`
	descriptor = `^(` + named + `|` + every + `)$`
)

// cronField is one of the five fields.
type cronField struct {
	// called is the field's name in messages, may what it may hold.
	called, may string
	// number matches its numbers; leading zeros and a sign are taken besides.
	number string
	// names are its names, in small letters, of the numbers from first on.
	names []string
	first int
}

var cronFields = []cronField{
	{called: "minute", may: "0 to 59", number: `[0-9]|[1-5][0-9]`},
	{called: "hour", may: "0 to 23", number: `[0-9]|1[0-9]|2[0-3]`},
	{called: "day of the month", may: "1 to 31", number: `[1-9]|[12][0-9]|3[01]`},
	{called: "month", may: "1 to 12 or jan to dec", number: `[1-9]|1[0-2]`, first: 1,
		names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{called: "day of the week", may: "0 to 6 or sun to sat (Sunday is 0, not 7)", number: `[0-6]`,
		names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// pattern matches a schedule of five fields whose field at index is right.
func (f cronField) pattern(index int) string {
	value := `\+?0*(` + f.number + `)`
	if len(f.names) > 0 {
		value = `(` + value + `|(?i:` + strings.Join(f.names, "|") + `))`
	}
	// What follows "*-" is not looked at, and a list may have empty places.
	item := `([*?](-[^\s\v\x{85}\pZ,/]*)?|` + value + `(-` + value + `)?)(/` + step + `)?`
	field := `(` + item + `)?(,(` + item + `)?)*`
	return fmt.Sprintf(`^%s*(%s%s+){%d}%s(%s+%s){%d}%s*$`, space, word, space, index, field, space, word, len(cronFields)-1-index, space)
}

// scheduleRules returns the rules of spec.schedule. Each leaves it to another to refuse a
// schedule that sets a zone, so that one mistake has one message.
func scheduleRules() []rule {
	const cron = `self.startsWith('@') || self.contains('TZ') || `
	five := celMatches(fiveFields)
	rules := []rule{
		{
			Rule:    `!self.startsWith('@') || self.contains('TZ') || ` + celMatches(descriptor),
			Message: "must be @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a duration such as 1h30m",
		},
		{
			Rule:    cron + five,
			Message: "must have five fields (minute, hour, day of the month, month, day of the week), or be a descriptor such as @daily",
		},
	}
	numbers := "self.lowerAscii()"
	for index, field := range cronFields {
		rules = append(rules, rule{
			Rule:    cron + `!` + five + ` || ` + celMatches(field.pattern(index)),
			Message: fmt.Sprintf("the %s (field %d) must be * or %s, with ranges (a-b), steps (/n) and lists (a,b)", field.called, index+1, field.may),
		})
		for offset, name := range field.names {
			numbers += fmt.Sprintf(".replace('%s','%d')", name, field.first+offset)
		}
	}
	return append(rules, rule{
		Rule:    cron + numbers + `.findAll('[0-9]{1,9}-[+]?[0-9]{1,9}').all(r, int(r.split('-')[0]) <= int(r.split('-')[1]))`,
		Message: "a range must not end before it begins: write 22-23,0-6 for 22-6, and 6,0 for sat-sun",
	})
}

// celMatches is a match of self with a regular expression, in CEL.
func celMatches(pattern string) string { return `self.matches(r'` + pattern + `')` }
