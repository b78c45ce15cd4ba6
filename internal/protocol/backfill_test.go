package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/protocol"
)

// An answer lists the first times, and says how many more there are.
func TestABackfillsAnswerSaysWhatItLeavesOut(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for count, left := range map[int]int{0: 0, 1: 0, 100: 0, 101: 1, 301: 201} {
		var times []time.Time
		for n := range count {
			times = append(times, first.Add(time.Duration(n)*time.Minute))
		}
		answer := protocol.BackfillAnswerOf(times, true)
		assert.Equal(t, count, answer.Runs)
		assert.Equal(t, left, answer.TimesLeftOut)
		assert.Len(t, answer.Times, count-left)
	}
}
