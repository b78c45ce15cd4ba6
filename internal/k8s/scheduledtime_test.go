package k8s_test

import (
	"encoding/json"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

func TestTheScheduledTimeOfAJobCanBeSent(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-02T12:00:00+02:00": time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC),
		"":                          {},
		"at noon":                   {},
		"9999-12-31T23:59:59-12:00": {},
		"0000-01-01T00:00:00+12:00": {},
		"0001-01-01T00:00:00+12:00": {},
	} {
		var job batchv1.Job
		job.Annotations = map[string]string{names.ScheduledTimestampAnnotation: text}
		got := k8s.ScheduledTime(&job)
		if _, err := json.Marshal(got); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}
