package commands

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTimesThatAPersonWrites(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Paris")
	assert.NoError(t, err)
	now := time.Date(2026, 3, 2, 9, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"02:00":                time.Date(2026, 3, 2, 2, 0, 0, 0, zone),
		"22:00":                time.Date(2026, 3, 1, 22, 0, 0, 0, zone),
		"02:00:30":             time.Date(2026, 3, 2, 2, 0, 30, 0, zone),
		"2026-01-02 02:00":     time.Date(2026, 1, 2, 2, 0, 0, 0, zone),
		"2026-01-02T02:00":     time.Date(2026, 1, 2, 2, 0, 0, 0, zone),
		"2026-01-02T02:00:00Z": time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC),
	} {
		at, err := parseTime(text, now, zone)
		assert.NoError(t, err, text)
		assert.True(t, want.Equal(at), "%s is %s", text, at)
	}
	_, err = parseTime("yesterday", now, zone)
	assert.ErrorContains(t, err, "write 02:00")
}

func TestSpansThatAPersonWrites(t *testing.T) {
	for text, want := range map[string]time.Duration{"12h": 12 * time.Hour, "3d": 72 * time.Hour, "90m": 90 * time.Minute} {
		span, err := parseSpan(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, span)
	}
	for _, text := range []string{"", "0h", "-1h", "0d", "a week"} {
		_, err := parseSpan(text)
		assert.ErrorContains(t, err, "write 12h", text)
	}
}

// The words of a failed update are a workflow's, and anybody who may write to Temporal can run one.
func TestErrorsMoveNoCursor(t *testing.T) {
	assert.EqualError(t, printable(errors.New("refused:\x1b[2J no\u202e\nand\x07 no")), "refused:[2J no\nand no")
	assert.NoError(t, printable(nil))
}
