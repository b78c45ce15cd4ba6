package temporal

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
)

func TestOptionsValidate(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{name: "nothing set", options: Options{}},
		{name: "everything set", options: Options{
			DataDir: "data", IP: "::1", FrontendPort: 7233, UIPort: 8233, MetricsPort: 9090, PProfPort: 6060, Namespace: "default",
			Retention: time.Hour, HistoryShards: 16, Synchronous: SynchronousFull, LogLevel: "debug",
			SearchAttributes: map[string]enums.IndexedValueType{"JobName": enums.INDEXED_VALUE_TYPE_KEYWORD},
		}},
		{name: "a host name for an IP", options: Options{IP: "localhost"}, want: []string{`IP "localhost"`}},
		{name: "a port out of range", options: Options{FrontendPort: 70000}, want: []string{"frontend port 70000"}},
		{name: "one port for two", options: Options{FrontendPort: 7233, UIPort: 7233}, want: []string{"frontend port and UI port are both 7233"}},
		{name: "retention below the server's minimum", options: Options{Retention: time.Minute}, want: []string{"retention 1m0s"}},
		{name: "a negative number of shards", options: Options{HistoryShards: -1}, want: []string{"history shards -1"}},
		{name: "an unknown synchronous mode", options: Options{Synchronous: "sometimes"}, want: []string{`synchronous "sometimes"`}},
		{name: "an unknown log level", options: Options{LogLevel: "loud"}, want: []string{`log level "loud"`}},
		{
			name:    "a search attribute without type",
			options: Options{SearchAttributes: map[string]enums.IndexedValueType{"JobName": enums.INDEXED_VALUE_TYPE_UNSPECIFIED}},
			want:    []string{`search attribute "JobName"`},
		},
		{name: "several mistakes", options: Options{IP: "x", LogLevel: "loud"}, want: []string{`IP "x"`, `log level "loud"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.options.Validate()
			if len(test.want) == 0 {
				if err != nil {
					t.Fatalf("Validate() = %v, want nil", err)
				}
				return
			}
			if err == nil {
				t.Fatal("Validate() = nil, want an error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate() = %q, want it to contain %q", err, want)
				}
			}
		})
	}
}
