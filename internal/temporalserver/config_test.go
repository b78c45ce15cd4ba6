package temporalserver

import (
	"testing"

	"go.temporal.io/server/common/dynamicconfig"

	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
)

func TestServerConfig(t *testing.T) {
	inner := endpoints{history: endpoint{loopback, 1}, matching: endpoint{loopback, 2}, internal: endpoint{loopback, 3}}
	databases, err := sqlite.InMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = databases.Close() })
	for _, test := range []struct {
		name              string
		frontend, metrics endpoint
		shards            int
		wantAddress       string
		wantMetrics       string
		wantShards        int32
	}{
		{name: "loopback", frontend: endpoint{loopback, 7233}, metrics: endpoint{loopback, 9090}, wantAddress: "127.0.0.1:7233", wantMetrics: "127.0.0.1:9090", wantShards: DefaultHistoryShards},
		{name: "IPv6", frontend: endpoint{"::1", 7233}, metrics: endpoint{"::1", 9090}, wantAddress: "[::1]:7233", wantMetrics: "[::1]:9090", wantShards: DefaultHistoryShards},
		{name: "every address is dialled by loopback", frontend: endpoint{"::", 7233}, wantAddress: "127.0.0.1:7233", wantShards: DefaultHistoryShards},
		{name: "shards", frontend: endpoint{loopback, 1}, shards: 16, wantAddress: "127.0.0.1:1", wantShards: 16},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := inner
			e.frontend, e.metrics = test.frontend, test.metrics
			c := serverConfig(Options{HistoryShards: test.shards}.withDefaults(), e, databases)
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
			for service, settings := range c.Services {
				if service != "frontend" && settings.RPC.BindOnIP != loopback {
					t.Errorf("%s listens on %s", service, settings.RPC.BindOnIP)
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
