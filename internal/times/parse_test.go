package times_test

import (
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/times"
)

func TestParseAcceptsUpstreamsGrammar(t *testing.T) {
	for _, expression := range []string{
		"* * * * *", "*/5 * * * *", "0 0 1 1 *", "? ? ? ? ?", "0-30/10 6-16/4 1,15 jan-MAR Mon-fri", "5/15 * * * *",
		"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every 1h30m", "@every 1ms",
		"TZ=Europe/Paris 0 2 * * *", "CRON_TZ=UTC 0 2 * * *",
	} {
		if _, problem := times.Parse(expression, nil); problem != nil {
			t.Errorf("%q: %+v", expression, *problem)
		}
	}
}

func TestParseSaysWhatIsWrongInUpstreamsWords(t *testing.T) {
	for name, test := range map[string]struct {
		expression, zone string
		reason           times.ProblemReason
		message          string
	}{
		"not a schedule":          {"obvious error", "UTC", times.UnparseableSchedule, `unparseable schedule: "obvious error" : expected exactly 5 fields, found 2: [obvious error]`},
		"seconds field":           {"0 0 * * * *", "UTC", times.UnparseableSchedule, `unparseable schedule: "0 0 * * * *" : expected exactly 5 fields, found 6: [0 0 * * * *]`},
		"empty":                   {"", "UTC", times.UnparseableSchedule, `unparseable schedule: "" : empty spec string`},
		"Sunday as 7":             {"0 0 * * 7", "UTC", times.UnparseableSchedule, `unparseable schedule: "0 0 * * 7" : end of range (7) above maximum (6): 7`},
		"reboot":                  {"@reboot", "UTC", times.UnparseableSchedule, `unparseable schedule: "@reboot" : unrecognized descriptor: @reboot`},
		"parser panics":           {"TZ=UTC", "UTC", times.UnparseableSchedule, `unparseable schedule: "TZ=UTC" : invalid schedule format: runtime error: slice bounds out of range [:-1]`},
		"unknown zone":            {"* * * * *", "Mars/Olympus", times.UnknownTimeZone, `invalid timeZone: "Mars/Olympus": unknown time zone Mars/Olympus`},
		"zone is looked at first": {"nonsense", "Mars/Olympus", times.UnknownTimeZone, `invalid timeZone: "Mars/Olympus": unknown time zone Mars/Olympus`},
		"longer than a CronJob's": {strings.Repeat("0,", 512) + "0 * * * *", "UTC", times.UnparseableSchedule, `unparseable schedule: it has more than 1024 bytes`},
		"field without values":    {", * * * *", "UTC", times.NeverFires, `schedule ", * * * *" never fires: its field minute names nothing: write * or a number there`},
	} {
		t.Run(name, func(t *testing.T) {
			calculator, problem := times.Parse(test.expression, &test.zone)
			if problem == nil || calculator != nil {
				t.Fatalf("Parse(%q, %q) accepted it", test.expression, test.zone)
			}
			if problem.Reason != test.reason || problem.Message != test.message {
				t.Errorf("got  %s %s\nwant %s %s", problem.Reason, problem.Message, test.reason, test.message)
			}
		})
	}
}
