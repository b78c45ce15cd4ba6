package steering_test

import (
	"testing"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/steering"
)

// An annotation is a user's: whatever it says, it only narrows what the worker accepts.
func FuzzAccepts(f *testing.F) {
	for _, seed := range []string{"", "none", "all", "suspend,resume", "trigger, backfill", "ALL", ",,", "none,trigger", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		annotations := map[string]string{names.AcceptSignalsAnnotation: text}
		_ = steering.Mistake(annotations)
		for _, signal := range []string{"suspend", "resume", "trigger", "backfill"} {
			if ok, _ := steering.Accepts(steering.Signals{}, annotations, signal); ok {
				t.Errorf("%q makes a worker that accepts nothing accept %s", text, signal)
			}
		}
	})
}
