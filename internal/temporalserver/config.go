package temporalserver

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"

	"ostinato.dev/ostinato/internal/temporalserver/store"
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

// serverConfig is the static configuration of a whole cluster in one process.
func serverConfig(o Options, e endpoints, d store.Databases) *config.Config {
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     executionStore,
			VisibilityStore:  visibilityStore,
			NumHistoryShards: int32(o.HistoryShards),
			DataStores: map[string]config.DataStore{
				executionStore:  {SQL: d.Executions},
				visibilityStore: {SQL: d.Visibility},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: e.inside().dialled()},
			},
		},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(e.frontend),
			string(primitives.HistoryService):  service(e.history),
			string(primitives.MatchingService): service(e.matching),
			string(primitives.WorkerService):   service(e.internal),
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
	}
	if e.own.port == 0 {
		c.PublicClient = config.PublicClient{HostPort: e.frontend.dialled()}
	} else {
		c.Services[string(primitives.InternalFrontendService)] = service(e.own)
	}
	c.Global.Membership.MaxJoinDuration = startTimeout
	c.Global.Membership.BroadcastAddress = loopback
	c.Global.PProf.Port = o.PProfPort
	if e.metrics.port != 0 {
		c.Global.Metrics = &metrics.Config{
			Prometheus: &metrics.PrometheusConfig{ListenAddress: e.metrics.String(), HandlerPath: "/metrics"},
		}
	}
	c.Archival.History.State = archivalDisabled
	c.Archival.Visibility.State = archivalDisabled
	c.NamespaceDefaults.Archival.History.State = archivalDisabled
	c.NamespaceDefaults.Archival.Visibility.State = archivalDisabled
	return c
}

// staticHosts tells every service where the others are, which spares the gossip between them.
func staticHosts(e endpoints) map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(e.frontend.dialled()),
		primitives.HistoryService:  static.SingleLocalHost(e.history.dialled()),
		primitives.MatchingService: static.SingleLocalHost(e.matching.dialled()),
		primitives.WorkerService:   static.SingleLocalHost(e.internal.dialled()),
	}
	if e.own.port != 0 {
		hosts[primitives.InternalFrontendService] = static.SingleLocalHost(e.own.dialled())
	}
	return hosts
}

func service(e endpoint) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: e.port, BindOnIP: e.ip}}
}
