package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The same curves are the same SVG, to the byte: a change of it is a change that somebody made.
func TestCurvesAreDrawn(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := run(bytes.NewReader(data), &got); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(input, ".json") + ".svg"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("not the SVG of %s; look at what `go test -update` changes", golden)
			}
		})
	}
}

func TestWhatCannotBeDrawnIsAnErrorAndNoFile(t *testing.T) {
	for input, want := range map[string]string{
		`{}`:             "no panels",
		`no JSON`:        "read the curves",
		`{"pannels":[]}`: "unknown field",
		`{"panels":[{"title":"T","curves":[{"name":"c","points":[[0,1e999]]}]}]}`: "read the curves",
	} {
		var out bytes.Buffer
		err := run(strings.NewReader(input), &out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: half of a file is written", input)
		}
	}
}
