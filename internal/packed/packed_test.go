package packed_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/packed"
)

type value struct {
	Words []string `json:"words"`
}

func TestSmallValuesStayReadable(t *testing.T) {
	data, err := packed.Marshal(value{[]string{"one"}})
	if err != nil || string(data) != `{"words":["one"]}` {
		t.Errorf("got %s, error %v", data, err)
	}
}

func TestLargeValuesShrink(t *testing.T) {
	plain := strings.Repeat("the same again ", 100_000)
	data, err := packed.Marshal(value{[]string{plain}})
	if err != nil || len(data) > len(plain)/50 || !json.Valid(data) {
		t.Errorf("%d bytes became %d, error %v", len(plain), len(data), err)
	}
}

func TestUnmarshalReadsWhatMarshalWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := value{rapid.SliceOf(rapid.String()).Draw(t, "words")}
		for range rapid.SampledFrom([]int{0, 5000}).Draw(t, "more") {
			want.Words = append(want.Words, "some more words")
		}
		data, err := packed.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got value
		if err := packed.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got.Words, "|") != strings.Join(want.Words, "|") {
			t.Fatalf("got %d words, want %d", len(got.Words), len(want.Words))
		}
	})
}

func TestDamagedValuesAreErrors(t *testing.T) {
	for _, data := range []string{``, `{`, `{"gzip":1}`, `{"gzip":"AAAA"}`, `{"gzip":"H4sIAAAAAAAA"}`} {
		if err := packed.Unmarshal([]byte(data), &value{}); err == nil {
			t.Errorf("%q is read without an error", data)
		}
	}
}
