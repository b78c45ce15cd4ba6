package main

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"
)

// CEL's regular expressions are Go's, and batch/v1's parser is robfig's.
var (
	wantsDescriptor = regexp.MustCompile(descriptor)
	wantsFields     = []*regexp.Regexp{regexp.MustCompile(fiveFields)}
)

func init() {
	for index, field := range cronFields {
		wantsFields = append(wantsFields, regexp.MustCompile(field.pattern(index)))
	}
}

// judge tells whether the patterns take a schedule.
func judge(schedule string) bool {
	if strings.HasPrefix(schedule, "@") {
		return wantsDescriptor.MatchString(schedule)
	}
	return !slices.ContainsFunc(wantsFields, func(pattern *regexp.Regexp) bool { return !pattern.MatchString(schedule) })
}

// compare leaves out what batch/v1 refuses for the order in a range, which a rule of its
// own compares: test/stack/deploy/admission.
func compare(t *testing.T, schedule string) {
	t.Helper()
	_, err := cron.ParseStandard(schedule)
	if err != nil && strings.Contains(err.Error(), "beyond end of range") {
		return
	}
	if got := judge(schedule); got != (err == nil) {
		t.Errorf("%q: the patterns take it: %t; batch/v1: %v", schedule, got, err)
	}
}

func TestEveryNumberAndNameOfEveryField(t *testing.T) {
	stars := []string{"*", "*", "*", "*", "*"}
	for index := range cronFields {
		for number := range 70 {
			for _, sign := range []string{"", "+", "-", "0", "00"} {
				fields := slices.Clone(stars)
				fields[index] = sign + strconv.Itoa(number)
				compare(t, strings.Join(fields, " "))
			}
		}
		for _, field := range cronFields {
			for _, name := range field.names {
				for _, written := range []string{name, strings.ToUpper(name), name + "x", name + "-" + name, name + "/2"} {
					fields := slices.Clone(stars)
					fields[index] = written
					compare(t, strings.Join(fields, " "))
				}
			}
		}
	}
}

// Schedules of random tokens; most are nearly right.
func TestThePatternsTakeWhatBatchV1Takes(t *testing.T) {
	tokens := []string{"*", "?", "/", "-", ",", "+", "0", "1", "2", "5", "7", "12", "31", "59", "60", "jan", "Dec", "sun", "SAT", "L", "#", "é", ".", "\u00a0", "\t", "\v", "\n"}
	spaces := []string{" ", " ", " ", "  ", "\t", "\v", "\u00a0", "\u0085", "\u3000", "\u200b"}
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var text strings.Builder
		fields := 5
		if random.IntN(10) == 0 {
			fields = random.IntN(8)
		}
		for index := range fields {
			if index > 0 || random.IntN(20) == 0 {
				text.WriteString(spaces[random.IntN(len(spaces))])
			}
			if random.IntN(2) == 0 {
				text.WriteByte('*')
				continue
			}
			for range 1 + random.IntN(4) {
				text.WriteString(tokens[random.IntN(len(tokens))])
			}
		}
		compare(t, text.String())
	}
	durations := []string{"0", "1", "90", ".", "5", "-", "+", "s", "m", "h", "ms", "us", "µs", "μs", "ns", "d", " "}
	for seed := range uint64(5_000) {
		random := rand.New(rand.NewPCG(seed, 1))
		text := "@every "
		for range random.IntN(6) {
			text += durations[random.IntN(len(durations))]
		}
		compare(t, text)
	}
	for _, text := range []string{"", " ", "@", "@daily", " @daily", "@daily ", "@Daily", "@yearly", "@every", "@reboot", "@every  1h"} {
		compare(t, text)
	}
}
