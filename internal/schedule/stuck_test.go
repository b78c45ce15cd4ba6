package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/schedule"
)

func TestWhatTheConditionSaysOfARunThatIsStuckCanBeRead(t *testing.T) {
	run := schedule.StuckRun{Job: "report-1", Since: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Words: `ErrImagePull: not found: "x"`}
	parsed, ok := schedule.ParseStuckRun(run.Message())
	assert.True(t, ok)
	assert.Equal(t, run, parsed)
	run.More = 2
	parsed, ok = schedule.ParseStuckRun(run.Message())
	assert.True(t, ok)
	assert.Equal(t, `ErrImagePull: not found: "x" (and 2 more)`, parsed.Words)
	for _, text := range []string{"", "No run waits for its containers to start", "Job a: b", "Job a, since yesterday: b", "Job a, since 2026-01-02T03:04:00Z"} {
		_, ok := schedule.ParseStuckRun(text)
		assert.False(t, ok, text)
	}
}
