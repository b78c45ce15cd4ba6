package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
)

// TestATemporalTellsThatItIsBusy: over ten minutes, so a herd is none; and until it is well below again.
func TestATemporalTellsThatItIsBusy(t *testing.T) {
	var told []bool
	s := &shortage{load: load{cores: 2}, logger: slog.New(slog.DiscardHandler), told: "unknown", tell: func(_ context.Context, words string) error {
		told = append(told, words != "")
		return nil
	}}
	now, used := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC), time.Duration(0)
	run := func(minutes int, share float64) {
		for range minutes {
			now, used = now.Add(time.Minute), used+time.Duration(share*2*float64(time.Minute))
			s.look(t.Context(), now, used)
		}
	}
	for _, step := range []struct {
		name    string
		minutes int
		share   float64
		want    []bool
	}{
		{"the first minutes say nothing", 9, 1, []bool{false}},
		{"then it is busy", 3, 1, []bool{false, true}},
		{"and is while it is a little calmer", 20, 0.65, []bool{false, true}},
		{"it is calm", 20, 0.3, []bool{false, true, false}},
		{"a herd", 1, 1, []bool{false, true, false}},
		{"is over", 20, 0.3, []bool{false, true, false}},
		{"just below", 30, 0.69, []bool{false, true, false}},
		{"just above", 30, 0.71, []bool{false, true, false, true}},
	} {
		run(step.minutes, step.share)
		if !slices.Equal(told, step.want) {
			t.Errorf("%s: told %v, want %v", step.name, told, step.want)
		}
	}
}

func TestATemporalTellsThatItsVolumeIsNearlyFull(t *testing.T) {
	var told []string
	space, failure := sqlite.Space{Free: 1, Total: 1 << 30}, error(nil)
	s := &shortage{load: load{cores: 1}, logger: slog.New(slog.DiscardHandler), told: "unknown", space: func() (sqlite.Space, error) { return space, nil },
		tell: func(_ context.Context, words string) error {
			if failure == nil {
				told = append(told, words)
			}
			return failure
		},
	}
	now := time.Now()
	look := func() { s.look(t.Context(), now, 0) }
	failure = errors.New("the frontend does not answer")
	look()
	failure = nil
	look()
	look()
	space.Free = space.Total / 2
	look()
	if len(told) != 2 || !strings.Contains(told[0], "nearly full") || told[1] != "" {
		t.Errorf("told %q, want the shortage once, when it can be told, and that it is over", told)
	}
}
