package packed_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/packed"
)

// TestWhatFitsIsRead: who writes a value can know whether it will be read.
func TestWhatFitsIsRead(t *testing.T) {
	const size = 6 << 20
	for name, test := range map[string]struct {
		json  string
		taken bool
	}{
		"as long as may be":   {`"` + strings.Repeat("x", size-2) + `"`, true},
		"one byte more":       {`"` + strings.Repeat("x", size-1) + `"`, false},
		"60,000 elements":     {"[" + strings.Repeat("{},", 59_998) + "{}]", true},
		"one more":            {"[" + strings.Repeat("{},", 59_999) + "{}]", false},
		"a million members":   {"[" + strings.Repeat("0,", 1_000_000) + "0]", true},
		"one more than these": {"[" + strings.Repeat("0,", 1_000_001) + "0]", false},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			fits, read := packed.Fits(json.RawMessage(test.json), 1<<20, size), packed.UnmarshalWithin([]byte(test.json), &value, size)
			if (fits == nil) != test.taken || (read == nil) != test.taken {
				t.Errorf("fits: %v, read: %v", fits, read)
			}
		})
	}
	t.Run("longer than it may be packed", func(t *testing.T) {
		if packed.Fits(strings.Repeat("x", 100_000), 100, size) == nil {
			t.Error("fits")
		}
	})
}
