package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/names"
)

func TestLevelOfAnObject(t *testing.T) {
	for _, test := range []struct {
		name        string
		annotations map[string]string
		want        evidence.Level
		mistake     string
	}{
		{"no annotations", nil, evidence.Full, ""},
		{"other annotations", map[string]string{"note": "reason"}, evidence.Full, ""},
		{"full", saying("full"), evidence.Full, ""},
		{"reason", saying("reason"), evidence.Reason, ""},
		{"an empty word", saying(""), evidence.Reason, `is ""`},
		{"another word keeps as little as possible", saying("none"), evidence.Reason, `ostinato.dev/evidence is "none": want full or reason`},
		{"words are as they are written", saying("Full"), evidence.Reason, `is "Full"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, evidence.Of(test.annotations))
			assert.Contains(t, evidence.Mistake(test.annotations), test.mistake)
			assert.Equal(t, test.mistake == "", evidence.Mistake(test.annotations) == "")
		})
	}
}

func saying(value string) map[string]string {
	return map[string]string{names.EvidenceAnnotation: value}
}

// What is written to a Pod's annotation reads back.
func TestLevelsAreTheirOwnAnnotations(t *testing.T) {
	for _, level := range []evidence.Level{evidence.Full, evidence.Reason} {
		assert.Equal(t, level, evidence.Of(saying(level.String())))
		assert.Empty(t, evidence.Mistake(saying(level.String())))
	}
}
