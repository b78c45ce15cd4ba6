package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// started lists the scheduled times of the scheduled runs.
func (c *cluster) started() []string {
	var times []string
	for _, start := range c.starts {
		if !start.Manual {
			times = append(times, start.Scheduled.Format(time.RFC3339))
		}
	}
	return times
}

// reasons lists the Events' reasons.
func (c *cluster) reasons() []string {
	var reasons []string
	for _, e := range c.events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// ledger renders the ledger, one line an entry.
func (c *cluster) ledger() []string {
	var lines []string
	for _, entry := range c.state.Rows() {
		line := entry.Scheduled.Format("02T15:04:05")
		if entry.Times() > 1 {
			line += fmt.Sprintf("..%s x%d", entry.Until.Format("02T15:04:05"), entry.Times())
		}
		line += " " + string(entry.Outcome)
		if entry.Reason != "" {
			line += " " + entry.Reason
		}
		if entry.Manual {
			line += " manual"
		}
		lines = append(lines, line)
	}
	return lines
}

func wantStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func wantTime(t *testing.T, what string, got time.Time, want string) {
	t.Helper()
	var expected time.Time
	if want != "" {
		expected = at(want)
	}
	if !got.Equal(expected) {
		t.Errorf("%s: got %s, want %s", what, got, expected)
	}
}
