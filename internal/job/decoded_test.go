package job_test

import (
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/job"
)

// A short text can stand for many intervals: somebody who may write to Temporal has made it up.
func TestSetsOfMoreIndexesThanAnyJobHasAreRefused(t *testing.T) {
	alternating := "bits:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x55", 4<<20)))
	for name, test := range map[string]struct {
		value any
		text  string
		fails bool
	}{
		"every second of 16 million, as bits": {&job.Indexes{}, alternating, true},
		"a million, as text":                  {&job.Indexes{}, strings.Repeat("1,", 1<<20), true},
		"every second of 500,000, as bits":    {&job.Indexes{}, alternating[:len("bits:")+4*(500_000/8/3)], false},
		"a quarter of a million, as text":     {&job.Indexes{}, strings.Repeat("1,", 1<<18-1) + "1", false},
		"failures of a million indexes":       {&job.IndexRecords{}, strings.Repeat("0:0:0:0:0 ", 1<<20) + "0:0:0:0:0", true},
		"failures of a million, by lines":     {&job.IndexRecords{}, strings.Repeat("0:0:0:0:0\n", 1<<20) + "0:0:0:0:0", true},
		"failures of a million, by tabs":      {&job.IndexRecords{}, strings.Repeat("0:0:0:0:0\t", 1<<20) + "0:0:0:0:0", true},
		"failures of a hundred thousand":      {&job.IndexRecords{}, strings.Repeat("0:0:0:0:0 ", 99_999) + "0:0:0:0:0", false},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = json.Unmarshal(data, test.value)
			runtime.ReadMemStats(&after)
			if (err != nil) != test.fails {
				t.Errorf("error %v", err)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 128 {
				t.Errorf("took %d MiB", took)
			}
		})
	}
}
