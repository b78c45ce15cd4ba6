package temporal

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/server/common/dynamicconfig"
)

func TestServerConfig(t *testing.T) {
	everyPort := ports{frontend: 7233, ui: 8233, metrics: 9090, history: 1, matching: 2, internal: 3}
	for _, test := range []struct {
		name        string
		options     Options
		ports       ports
		wantAddress string
		wantMetrics string
		wantShards  int32
	}{
		{name: "defaults", ports: everyPort, wantAddress: "127.0.0.1:7233", wantMetrics: "127.0.0.1:9090", wantShards: DefaultHistoryShards},
		{name: "IPv6", options: Options{IP: "::1"}, ports: everyPort, wantAddress: "[::1]:7233", wantMetrics: "[::1]:9090", wantShards: DefaultHistoryShards},
		{name: "no metrics", ports: ports{frontend: 7233}, wantAddress: "127.0.0.1:7233", wantShards: DefaultHistoryShards},
		{name: "shards", options: Options{HistoryShards: 16}, ports: ports{frontend: 1}, wantAddress: "127.0.0.1:1", wantShards: 16},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.options.withDefaults()
			c := serverConfig(o, test.ports, databasesOf(o, "test"))
			if err := c.Validate(); err != nil {
				t.Fatalf("the server refuses the configuration: %v", err)
			}
			if got := c.PublicClient.HostPort; got != test.wantAddress {
				t.Errorf("frontend address = %s, want %s", got, test.wantAddress)
			}
			if got := c.Persistence.NumHistoryShards; got != test.wantShards {
				t.Errorf("history shards = %d, want %d", got, test.wantShards)
			}
			metrics := ""
			if c.Global.Metrics != nil {
				metrics = c.Global.Metrics.Prometheus.ListenAddress
			}
			if metrics != test.wantMetrics {
				t.Errorf("metrics address = %q, want %q", metrics, test.wantMetrics)
			}
			if c.Persistence.DefaultStore == c.Persistence.VisibilityStore {
				t.Error("executions and visibility share a store")
			}
		})
	}
}

func TestDatabaseDSN(t *testing.T) {
	for _, test := range []struct {
		name        string
		database    database
		wantPath    string
		wantMode    string
		wantPragmas []string
	}{
		{
			name: "a file", database: database{name: "/data/executions.db", synchronous: SynchronousNormal},
			wantPath: "/data/executions.db", wantMode: "rwc", wantPragmas: []string{"journal_mode(wal)", "synchronous(normal)"},
		},
		{
			name: "a file that may be lost with the machine", database: database{name: "/data/executions.db", synchronous: SynchronousOff},
			wantPath: "/data/executions.db", wantMode: "rwc", wantPragmas: []string{"synchronous(off)"},
		},
		{
			name: "a path with characters of a URI", database: database{name: "/da ta/50%?#/x.db", synchronous: SynchronousNormal},
			wantPath: "/da%20ta/50%25%3F%23/x.db", wantMode: "rwc",
		},
		{name: "in memory", database: database{name: "ostinato-1", inMemory: true}, wantPath: "ostinato-1", wantMode: "memory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, query, _ := strings.Cut(strings.TrimPrefix(test.database.dsn(), "file:"), "?")
			if path != test.wantPath {
				t.Errorf("path = %s, want %s", path, test.wantPath)
			}
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			if got := values.Get("mode"); got != test.wantMode {
				t.Errorf("mode = %s, want %s", got, test.wantMode)
			}
			for _, want := range test.wantPragmas {
				if !slices.Contains(values["_pragma"], want) {
					t.Errorf("pragmas = %v, want %s among them", values["_pragma"], want)
				}
			}
		})
	}
}

func TestDynamicConfigValuesAreTakenByTheServer(t *testing.T) {
	for _, a := range assignments {
		for _, setting := range a.settings {
			if err := setting.Validate(a.value); err != nil {
				t.Errorf("%s = %v: %v", setting.Key(), a.value, err)
			}
		}
	}
}

func TestDynamicConfigOverridesWin(t *testing.T) {
	client := dynamicConfig(map[string]any{"Frontend.RPS": 5})
	if got := client[dynamicconfig.FrontendRPS.Key()]; got != 5 {
		t.Errorf("frontend.rps = %v, want 5", got)
	}
	if got := client[dynamicconfig.HistoryRPS.Key()]; got != unlimited {
		t.Errorf("history.rps = %v, want %v", got, unlimited)
	}
}
