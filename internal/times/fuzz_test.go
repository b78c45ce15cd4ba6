package times_test

import (
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/testing/fixture/clocks"
	"ostinato.dev/ostinato/internal/times"
)

// fuzzLimit is far below the second after which the SDK takes a workflow task for
// deadlocked; but the machine may be busy.
const fuzzLimit = 500 * time.Millisecond

// timed fails the test when an action takes longer than that, three times over.
func timed(t *testing.T, what string, action func()) {
	t.Helper()
	for range 3 {
		begin := time.Now()
		if action(); time.Since(begin) < fuzzLimit {
			return
		}
	}
	t.Fatalf("%s takes longer than %s", what, fuzzLimit)
}

// FuzzParse: no input panics; what is accepted is what the oracle accepts, and names the
// same times.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"* * * * *", "0 0 29 2 *", "0 0 31 2 *", "@every 1s", "@every 9999999h", "TZ=UTC", "TZ=", "CRON_TZ=Asia/Kolkata 1 2 3 4 5",
		"*/2 * */2 * 1", ",,, * * * *", "59 23 31 12 6", "@daily", "0 2 * * *", "*-x/3 ?/1 +5 JAN-3 sun,Mon", "TZ=Local 0 0 * * *",
		"*-00 000 01 JAN,1 0000000", "0-10/7 0,1 1/70 * sun", "0 22 7 1 0,0", "0 0 1 1 0-\xff", "0/10000000000000000000 * * * *",
		" 0 0 1 1 0 ", "0 0-- 0 0 0", "0 0// 0 0 0", "\xe1TZ", "TZ=\xda 0 0 * * *", "0 0 1 1 ϒ",
		"0 0 , * mon", "1-5/9223372036854775807 * * * *", "0/0 * * * *", "5-1 * * * *", "@every -1h", "TZ= * * * * *",
	} {
		f.Add(seed, "Europe/Paris", int64(86400*400))
		f.Add(seed, "", int64(-5))
	}
	f.Fuzz(func(t *testing.T, expression, zoneName string, distance int64) {
		calculator, problem := times.Parse(expression, &zoneName)
		if (problem == nil) == (calculator == nil) {
			t.Fatalf("%q: calculator %v and problem %v", expression, calculator, problem)
		}
		if problem != nil && strings.TrimSpace(problem.Message) == "" {
			t.Fatal("a problem without words")
		}
		if problem != nil && problem.Reason == times.UnknownTimeZone || strings.Contains(expression, "TZ") || strings.HasPrefix(expression, "@every ") {
			return
		}
		judge, err := clocks.NewOracle(expression)
		if err == nil != (problem == nil || problem.Reason == times.NeverFires) {
			t.Fatalf("%q: the oracle says %v, Parse %+v", expression, err, problem)
		}
		location, unknown := time.LoadLocation(zoneName)
		if err != nil || unknown != nil {
			return
		}
		from := clocks.From.Add(time.Duration(distance%(20*365*24*3600)) * time.Second)
		until := from.AddDate(1, 0, 0)
		if problem != nil {
			if found := judge.Next(location, from, until); !found.IsZero() {
				t.Fatalf("%q: %s, but the oracle finds %s", expression, problem.Message, found)
			}
			return
		}
		var got time.Time
		timed(t, expression, func() { got = calculator.Next(from) })
		if want := judge.Next(location, from, until); !got.Equal(want) && !(want.IsZero() && (got.IsZero() || got.After(until))) {
			t.Fatalf("%q in %q after %s: got %s, want %s", expression, zoneName, from, got, want)
		}
	})
}
