package times_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/times"
)

func TestTimesBetween(t *testing.T) {
	for name, test := range map[string]struct {
		expression, from, to string
		limit                int
		want                 []string
		ok                   bool
	}{
		"both ends count":            {"0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", 3, []string{"10:00", "11:00", "12:00"}, true},
		"more than the limit":        {"0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", 2, []string{"10:00", "11:00"}, false},
		"none":                       {"0 * * * *", "2026-01-01T10:01:00Z", "2026-01-01T10:59:00Z", 3, nil, true},
		"an interval after its base": {"@every 1h", "2026-01-02T01:00:00Z", "2026-01-02T03:00:00Z", 9, []string{"01:30", "02:30"}, true},
		"an interval before it":      {"@every 1h", "2026-01-01T22:00:00Z", "2026-01-01T23:59:00Z", 9, []string{"22:30", "23:30"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			utc := "UTC"
			calculator, problem := times.Parse(test.expression, &utc)
			if problem != nil {
				t.Fatal(problem.Message)
			}
			found, ok := calculator.Line(at("2026-01-02T00:30:00Z"), true).Between(at(test.from), at(test.to), test.limit)
			if len(found) != len(test.want) || ok != test.ok {
				t.Fatalf("got %s (%t)", found, ok)
			}
			for i, want := range test.want {
				if got := found[i].Format("15:04"); got != want {
					t.Errorf("time %d is %s, want %s", i, got, want)
				}
			}
		})
	}
}

func TestWhatAScheduleMayPrescribe(t *testing.T) {
	for _, test := range []struct {
		expression, at string
		want           bool
	}{
		{"0 2 * * *", "2026-01-01T02:00:00Z", true},
		{"0 2 * * *", "2026-01-01T02:00:01Z", false},
		{"0 2 * * *", "2014-12-31T02:00:00Z", false},
		{"@every 90s", "2026-01-01T02:00:17Z", true},
	} {
		utc := "UTC"
		calculator, problem := times.Parse(test.expression, &utc)
		if problem != nil {
			t.Fatal(problem.Message)
		}
		if got := calculator.Prescribes(at(test.at)); got != test.want {
			t.Errorf("%q prescribes %s: %t", test.expression, test.at, got)
		}
	}
}

func TestTheLaterOfTwoTimesIsInUTC(t *testing.T) {
	early, late := at("2026-01-01T02:00:00Z"), at("2026-01-01T04:00:00Z").In(time.FixedZone("", 3600))
	if got := times.Format(times.Later(early, late)); got != "2026-01-01T04:00:00Z" {
		t.Error(got)
	}
}
