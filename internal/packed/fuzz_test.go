package packed_test

import (
	"testing"

	"ostinato.dev/ostinato/internal/packed"
)

// FuzzUnmarshal reads anything as a value of ours: it is an error or a value that is written and read again.
func FuzzUnmarshal(f *testing.F) {
	long, err := packed.Marshal(make([]string, 40_000))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{}`, `null`, `7`, `{"gzip":""}`, `{"gzip":null}`, `{"gzip":"H4sIAAAAAAAA/6uuBQBDv6ajAgAAAA=="}`, `{"gzip":{"gzip":"x"}}`,
		`{"gzip":"x","gzip":"y"}`, `{"a":[[[[[[[[[[]]]]]]]]]]}`, string(long),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value struct {
			Name  string
			List  []string
			Inner map[string][]int
		}
		if packed.Unmarshal(data, &value) != nil {
			return
		}
		again, err := packed.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := packed.Unmarshal(again, &value); err != nil {
			t.Errorf("what was written can't be read: %v", err)
		}
	})
}
