package host

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/primitives"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

const (
	executionStore, visibilityStore = "executions", "visibility"

	// clusterName is recorded in the databases and cannot change afterwards.
	clusterName = "active"

	// joinTimeout bounds how long a host looks for the others.
	joinTimeout = 30 * time.Second

	// Each process has a pool of connections for each database.
	executionConnections, visibilityConnections = 20, 8

	archivalDisabled = "disabled"
)

// services are Temporal's names of the roles.
var services = map[spec.Role]primitives.ServiceName{
	spec.Frontend: primitives.FrontendService,
	spec.History:  primitives.HistoryService,
	spec.Matching: primitives.MatchingService,
	spec.Internal: primitives.WorkerService,
}

// serverConfig is the static configuration of the host at an address. All hosts have the same but for the address.
func serverConfig(c spec.Cluster, ip string) *config.Config {
	frontend := c.Address(spec.Frontend, 0)
	s := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     executionStore,
			VisibilityStore:  visibilityStore,
			NumHistoryShards: int32(c.Shards),
			DataStores: map[string]config.DataStore{
				executionStore:  {SQL: sqlConfig(c.Database, c.Database.Executions, executionConnections)},
				visibilityStore: {SQL: sqlConfig(c.Database, c.Database.Visibility, visibilityConnections)},
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
		Services:            map[string]config.Service{},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
	}
	for role, name := range services {
		ports := c.Ports[role]
		s.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: ports.GRPC, MembershipPort: ports.Membership, BindOnIP: ip}}
	}
	s.Global.Membership.MaxJoinDuration = joinTimeout
	s.Global.Membership.BroadcastAddress = ip
	s.Global.TLS = tlsConfig(c.Certificates)
	s.Archival.History.State = archivalDisabled
	s.Archival.Visibility.State = archivalDisabled
	s.NamespaceDefaults.Archival.History.State = archivalDisabled
	s.NamespaceDefaults.Archival.Visibility.State = archivalDisabled
	return s
}

// tlsConfig makes every connection prove itself on both sides. Hosts trust an authority of their own, so that a client's
// certificate opens the frontend only.
func tlsConfig(certificates spec.Certificates) config.RootTLS {
	serves := func(name, authority string) config.ServerTLS {
		return config.ServerTLS{
			CertFile: certificates.Certificate(name), KeyFile: certificates.Key(name),
			ClientCAFiles: []string{certificates.Certificate(authority)}, RequireClientAuth: true,
		}
	}
	trusts := func(authority, name string) config.ClientTLS {
		return config.ClientTLS{ServerName: name, RootCAFiles: []string{certificates.Certificate(authority)}}
	}
	return config.RootTLS{
		Internode: config.GroupTLS{
			Server: serves(spec.InternodeHost, spec.InternodeAuthority),
			Client: trusts(spec.InternodeAuthority, spec.InternodeName),
		},
		Frontend: config.GroupTLS{
			Server: serves(spec.FrontendServer, spec.ClientAuthority),
			Client: trusts(spec.ClientAuthority, spec.FirstIP),
		},
		SystemWorker: config.WorkerTLS{
			CertFile: certificates.Certificate(spec.System), KeyFile: certificates.Key(spec.System),
			Client: trusts(spec.ClientAuthority, spec.FirstIP),
		},
	}
}

func sqlConfig(d spec.Database, name string, connections int) *config.SQL {
	return &config.SQL{
		PluginName: postgresql.PluginNamePGX, DatabaseName: name, ConnectAddr: d.Address, ConnectProtocol: "tcp",
		User: d.User, Password: d.Password, MaxConns: connections, MaxIdleConns: connections, MaxConnLifetime: time.Hour,
	}
}

// dynamicConfig leaves the server's defaults as they are, but for what they leave open: the hosts' gossip goes by TLS
// too, tasks that wait are dispatched fairly, and no host asks Temporal's servers for news of a new version. Overrides
// are by Temporal's own keys and win.
func dynamicConfig(overrides map[string]any) dynamicconfig.StaticClient {
	client := dynamicconfig.StaticClient{
		dynamicconfig.EnableRingpopTLS.Key():         true,
		dynamicconfig.MatchingEnableFairness.Key():   true,
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
	for key, value := range overrides {
		client[dynamicconfig.MakeKey(key)] = value
	}
	return client
}
