package temporal

import (
	"path/filepath"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
)

const (
	executionStore  = "executions"
	visibilityStore = "visibility"

	// clusterName is recorded in the databases and cannot change afterwards.
	clusterName = "active"

	// startTimeout bounds the start of each of the server's services.
	startTimeout = 30 * time.Second

	archivalDisabled = "disabled"
)

// databases are those of one server.
type databases struct{ executions, visibility database }

// databasesOf returns the databases in the data directory of o, or two in memory called after name when it has none.
func databasesOf(o Options, name string) databases {
	if o.DataDir == "" {
		return databases{
			executions: database{name: name + "-executions", inMemory: true},
			visibility: database{name: name + "-visibility", inMemory: true},
		}
	}
	return databases{
		executions: database{name: filepath.Join(o.DataDir, "executions.db"), synchronous: o.Synchronous},
		visibility: database{name: filepath.Join(o.DataDir, "visibility.db"), synchronous: o.Synchronous},
	}
}

// serverConfig is the static configuration of a whole cluster in one process.
func serverConfig(o Options, p ports, d databases) *config.Config {
	frontend := address(o.IP, p.frontend)
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     executionStore,
			VisibilityStore:  visibilityStore,
			NumHistoryShards: int32(o.HistoryShards),
			DataStores: map[string]config.DataStore{
				executionStore:  {SQL: sqlConfig(d.executions)},
				visibilityStore: {SQL: sqlConfig(d.visibility)},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(o.IP, p.frontend),
			string(primitives.HistoryService):  service(o.IP, p.history),
			string(primitives.MatchingService): service(o.IP, p.matching),
			string(primitives.WorkerService):   service(o.IP, p.internal),
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
	}
	c.Global.Membership.MaxJoinDuration = startTimeout
	c.Global.Membership.BroadcastAddress = o.IP
	c.Global.PProf.Port = o.PProfPort
	if p.metrics != 0 {
		c.Global.Metrics = &metrics.Config{
			Prometheus: &metrics.PrometheusConfig{ListenAddress: address(o.IP, p.metrics), HandlerPath: "/metrics"},
		}
	}
	c.Archival.History.State = archivalDisabled
	c.Archival.Visibility.State = archivalDisabled
	c.NamespaceDefaults.Archival.History.State = archivalDisabled
	c.NamespaceDefaults.Archival.Visibility.State = archivalDisabled
	return c
}

// staticHosts tells every service where the others are, which spares the gossip between them.
func staticHosts(o Options, p ports) map[primitives.ServiceName]static.Hosts {
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(address(o.IP, p.frontend)),
		primitives.HistoryService:  static.SingleLocalHost(address(o.IP, p.history)),
		primitives.MatchingService: static.SingleLocalHost(address(o.IP, p.matching)),
		primitives.WorkerService:   static.SingleLocalHost(address(o.IP, p.internal)),
	}
}

func service(ip string, port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: ip}}
}

// sqlConfig refers to an open database. The server insists on the address and protocol, which mean nothing here.
func sqlConfig(d database) *config.SQL {
	return &config.SQL{PluginName: pluginName, DatabaseName: d.name, ConnectAddr: "local", ConnectProtocol: "file"}
}
