package steering_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/steering"
)

func TestAnUnknownSignalIsAnsweredOnceForEachNameAndMinute(t *testing.T) {
	start := time.Date(2026, 1, 2, 10, 0, 30, 0, time.UTC)
	var unknown steering.Unknown
	for _, heard := range []struct {
		name  string
		after time.Duration
		want  string
	}{
		{"triger", 0, `Signal "triger" is not known, and nothing was done: a CronJob takes suspend, resume and trigger, and the update backfill`},
		{"triger", time.Second, ""},
		{"resum", time.Second, `Signal "resum" is not known, and nothing was done: a CronJob takes suspend, resume and trigger, and the update backfill`},
		{"triger", 29 * time.Second, ""},
		{"triger", 30 * time.Second, `Signal "triger" is not known, and nothing was done: a CronJob takes suspend, resume and trigger, and the update backfill`},
		{"triger", 31 * time.Second, ""},
	} {
		before := unknown
		var answer string
		unknown, answer = before.Hear(heard.name, steering.CronJobTakes, start.Add(heard.after))
		assert.Equal(t, heard.want, answer, "%s after %s", heard.name, heard.after)
		assert.NoError(t, unknown.Validate())
	}
}

func TestTheNameOfAnUnknownSignalIsCut(t *testing.T) {
	for name, signal := range map[string]string{
		"a long one": strings.Repeat("x", 1000), "one that would be cut within a character": strings.Repeat("é", 40) + "x", "no text": "\xff\x00\n",
	} {
		unknown, answer := steering.Unknown{}.Hear(signal, steering.JobTakes, time.Unix(0, 0))
		assert.NoError(t, unknown.Validate(), name)
		assert.True(t, utf8.ValidString(answer), name)
		assert.NotContains(t, answer, "\n", name)
		assert.Less(t, len(answer), 400, name)
		assert.Contains(t, answer, "a Job takes suspend, resume and stop", name)
	}
	_, answer := steering.Unknown{}.Hear(strings.Repeat("x", 65), steering.JobTakes, time.Unix(0, 0))
	assert.Contains(t, answer, `"`+strings.Repeat("x", 61)+`..."`)
}

func TestAFloodOfUnknownNamesIsAnsweredInPart(t *testing.T) {
	var unknown steering.Unknown
	answered := 0
	for n := range 1000 {
		var answer string
		if unknown, answer = unknown.Hear(fmt.Sprint(n), steering.JobTakes, time.Unix(0, 0)); answer != "" {
			answered++
		}
	}
	assert.Equal(t, 10, answered)
	assert.NoError(t, unknown.Validate())
	assert.Error(t, steering.Unknown{Names: make([]string, 11)}.Validate())
	assert.Error(t, steering.Unknown{Names: []string{strings.Repeat("x", 65)}}.Validate())
}

func TestHearingLeavesWhatItWasCalledOn(t *testing.T) {
	first, _ := steering.Unknown{}.Hear("a", steering.JobTakes, time.Unix(0, 0))
	second, _ := first.Hear("b", steering.JobTakes, time.Unix(0, 0))
	_, _ = first.Hear("c", steering.JobTakes, time.Unix(0, 0))
	assert.Equal(t, []string{"a", "b"}, second.Names)
}
