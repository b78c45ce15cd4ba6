package temporalserver

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
)

func TestOptionsAreValidated(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{name: "nothing set", options: Options{}},
		{name: "the least retention", options: Options{Retention: time.Hour, HistoryShards: 16}},
		{name: "retention below the server's minimum", options: Options{Retention: time.Minute}, want: []string{"retention 1m0s"}},
		{name: "a negative number of shards", options: Options{HistoryShards: -1}, want: []string{"history shards -1"}},
		{
			name:    "a search attribute without type",
			options: Options{SearchAttributes: map[string]enums.IndexedValueType{"JobName": enums.INDEXED_VALUE_TYPE_UNSPECIFIED}},
			want:    []string{`search attribute "JobName"`},
		},
		{name: "several mistakes", options: Options{Retention: 1, HistoryShards: -1}, want: []string{"retention 1ns", "history shards -1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.options.withDefaults().validate()
			if len(test.want) == 0 {
				if err != nil {
					t.Fatalf("validate() = %v, want nil", err)
				}
				return
			}
			if err == nil {
				t.Fatal("validate() = nil, want an error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("validate() = %q, want it to contain %q", err, want)
				}
			}
		})
	}
}
