package packed_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

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

// Whoever may write to Temporal sends bombs: values that are small as they come and take
// gigabytes once they are decoded.
func TestBombsAreErrorsThatTakeLittleMemory(t *testing.T) {
	type pod struct{ Room [64]int64 }
	type state struct {
		Pods []pod    `json:"pods"`
		UIDs []string `json:"uids"`
	}
	compress := func(chunk string, times int) string {
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		for range times {
			if _, err := writer.Write([]byte(chunk)); err != nil {
				t.Fatal(err)
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(map[string][]byte{"gzip": compressed.Bytes()})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, data := range map[string]string{
		"zeros":         compress(strings.Repeat(" ", 1<<20), 1000),
		"objects":       compress(strings.Repeat("{},", 1<<18), 20),
		"a packed one":  `{"gzip":` + strings.Repeat(" ", 1000) + `"` + strings.Repeat("A", 2<<20) + `"}`,
		"plain objects": `{"pods":[` + strings.Repeat("{},", 600_000) + `{}]}`,
		"plain strings": `{"uids":[` + strings.Repeat(`"",`, 5_000_000) + `""]}`,
		"nested":        strings.Repeat("[", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var value state
			err := packed.Unmarshal([]byte(data), &value)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("is read without an error")
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
				t.Errorf("took %d MiB", took)
			}
		})
	}
}

// whole is a long value with a long part.
type whole struct {
	Part part `json:"part"`
}

type part struct{ text string }

func (p *part) UnmarshalJSON(data []byte) error {
	return packed.UnmarshalPart(data, &p.text, 1<<20)
}

// TestManyLargeValuesWithLargePartsAreReadAtATime: they wait for each other, and none for ever.
func TestManyLargeValuesWithLargePartsAreReadAtATime(t *testing.T) {
	data := []byte(`{"part":"` + strings.Repeat("x", 200_000) + `"}`)
	ended := make(chan error, 50)
	for range cap(ended) {
		go func() {
			var read whole
			err := packed.Unmarshal(data, &read)
			if err == nil && len(read.Part.text) != 200_000 {
				err = fmt.Errorf("a part of %d bytes", len(read.Part.text))
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("values wait for each other for ever")
		}
	}
}
