package times_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/times"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The times of five schedules around changes of the clocks, one file for each zone. A
// line is a time that fires, by the zone's clock and by UTC. Of the dense schedules only
// the hours next to the change are shown.
func TestGoldenTimesAroundChanges(t *testing.T) {
	for _, test := range []struct {
		zone    string
		changes []string
	}{
		{"America/New_York", []string{"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"}},
		{"America/St_Johns", []string{"2026-03-08T05:30:00Z", "2026-11-01T04:30:00Z"}},
		{"America/Sao_Paulo", []string{"2018-11-04T03:00:00Z", "2019-02-17T02:00:00Z"}}, // the last changes: midnight was left out
		{"Europe/Berlin", []string{"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"}},
		{"Europe/Dublin", []string{"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"}},     // summer is its standard time
		{"Africa/Casablanca", []string{"2026-02-15T02:00:00Z", "2026-03-22T02:00:00Z"}}, // back for Ramadan
		{"Africa/Cairo", []string{"2026-04-23T22:00:00Z", "2026-10-29T21:00:00Z"}},      // at midnight
		{"Asia/Gaza", []string{"2026-03-28T00:00:00Z", "2026-10-23T23:00:00Z"}},
		{"Asia/Kathmandu", []string{"2026-03-29T01:00:00Z"}},                              // +05:45, never changes
		{"Asia/Pyongyang", []string{"2018-05-04T15:00:00Z"}},                              // half an hour, once
		{"Australia/Lord_Howe", []string{"2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z"}}, // half an hour
		{"Antarctica/Troll", []string{"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"}},    // two hours
		{"Pacific/Chatham", []string{"2026-04-04T14:00:00Z", "2026-09-26T14:00:00Z"}},     // +12:45
		{"Pacific/Apia", []string{"2011-12-30T10:00:00Z"}},                                // 30 December was left out
	} {
		t.Run(strings.ReplaceAll(test.zone, "/", "_"), func(t *testing.T) {
			var text strings.Builder
			for _, change := range test.changes {
				describeChange(t, &text, test.zone, at(change))
			}
			golden(t, strings.ReplaceAll(test.zone, "/", "_"), text.String())
		})
	}
}

// describeChange writes the times of the schedules around one change.
func describeChange(t *testing.T, text *strings.Builder, zoneName string, change time.Time) {
	t.Helper()
	location, err := time.LoadLocation(zoneName)
	if err != nil {
		t.Fatal(err)
	}
	before, after := change.Add(-time.Second).In(location), change.In(location)
	fmt.Fprintf(text, "# %s: the second after %s is %s\n", zoneName, before.Format(shown), after.Format(shown))
	for _, row := range []struct {
		expression string
		around     time.Duration
	}{
		{"0 * * * *", 4 * time.Hour},
		{"*/30 * * * *", 150 * time.Minute},
		{"30 2 * * *", 40 * time.Hour},
		{"30 1 * * *", 40 * time.Hour},
		{"0 0 * * *", 40 * time.Hour},
	} {
		calculator, problem := times.Parse(row.expression, &zoneName)
		if problem != nil {
			t.Fatal(problem.Message)
		}
		fmt.Fprintf(text, "\n%s\n", row.expression)
		for next := calculator.Next(change.Add(-row.around)); !next.After(change.Add(row.around)); next = calculator.Next(next) {
			fmt.Fprintf(text, "  %s   %s\n", next.In(location).Format(shown), next.Format("02T15:04Z"))
		}
	}
	text.WriteString("\n")
}

const shown = "Mon 2006-01-02 15:04:05 -07:00"

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "dst", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden file (run with -update to write it): %v", err)
	}
	if got != string(want) {
		t.Errorf("the times are not those of %s (-update writes it anew); got\n%s", path, got)
	}
}
