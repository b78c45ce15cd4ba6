package config

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

// InMemory is the data directory of a Temporal server that keeps nothing.
const InMemory = ":memory:"

// When SQLite puts writes on disk.
const (
	SynchronousOff    = "off"
	SynchronousNormal = "normal"
	SynchronousFull   = "full"
)

// Who may call a Temporal server.
const (
	AccessOpen       = "open"
	AccessKubernetes = "kubernetes"
)

// innerPorts are Temporal's own.
var innerPorts = []int{7234, 7235, 7239, 7236}

// TemporalServer holds the settings of cmd/temporal. Each field is the flag of that name, which says what it means.
type TemporalServer struct {
	// Address and UIAddress are host:port; without a UIAddress there is no Web UI.
	Address, UIAddress string
	// InnerPorts are those of history, matching, Temporal's own worker and the frontend of these.
	InnerPorts []int
	// Access is AccessOpen or AccessKubernetes. Administrators is a group, and means nothing with AccessOpen.
	Access, Administrators string
	Temporal
	// DataDir is a folder or InMemory. It means nothing with a DatabaseURL.
	DataDir, DatabaseURL string
	// Synchronous is SynchronousOff, SynchronousNormal or SynchronousFull.
	Synchronous   string
	HistoryShards int
	// BackupTo is a folder for a copy; with one the program makes it and ends.
	BackupTo  string
	Namespace string
	Retention time.Duration
	// HealthAddress and MetricsAddress are host:port; an empty one is not served.
	HealthAddress, MetricsAddress string
	PProfPort                     int
	Log
}

// TemporalServerCommand returns the command that runs a Temporal server with the settings that its flags and the environment give.
func TemporalServerCommand(lookup LookupEnv, run func(context.Context, TemporalServer) error) *cobra.Command {
	return program("temporal", "is a Temporal server with its Web UI in one process, for a cluster that has no Temporal.\n"+
		"It keeps its data in SQLite files, or in your PostgreSQL server.\n\n"+
		"Each flag has an environment variable, which it wins over.", lookup, run)
}

// AddFlags declares the Temporal server's flags.
func (s *TemporalServer) AddFlags(flags *command.Flags) {
	server := flags.Group(groupServer)
	server.StringVar(&s.Address, "address", "127.0.0.1:7233", "host:port of gRPC, for worker and bridge; the host is an IP address, or empty for all")
	server.StringVar(&s.UIAddress, "ui-address", "127.0.0.1:8233", "host:port of the Web UI; empty serves none")
	server.IntSliceVar(&s.InnerPorts, "inner-ports", innerPorts, "four ports on 127.0.0.1 at which the server's services talk to one another")
	data := flags.Group(groupData)
	data.StringVar(&s.DataDir, "data-dir", "/data", "directory of SQLite files, which must be on a local or block volume; "+InMemory+" keeps nothing")
	data.StringVar(&s.DatabaseURL, "database-url", "", "postgres://user:password@host:port/database of a PostgreSQL server, instead of files. A second database, with _visibility after the name, is used too; both are made where the user may")
	command.Choice(data, &s.Synchronous, "synchronous", SynchronousFull, []string{SynchronousOff, SynchronousNormal, SynchronousFull},
		"when writes to files reach the disk. With normal a crash of the machine can lose the last seconds, with off damage the files")
	data.IntVar(&s.HistoryShards, "history-shards", 4, "history shards of new databases, which can't be changed later")
	data.StringVar(&s.BackupTo, "backup-to", "", "new directory to copy the files of --data-dir to, also while a server uses them; the program then ends")
	access := flags.Group(groupAccess)
	command.Choice(access, &s.Access, "access", AccessOpen, []string{AccessOpen, AccessKubernetes},
		"who may call: with open everyone who reaches it, in everything. With kubernetes worker and bridge by certificates, which the server keeps in Secrets of its namespace, and people by what the API server lets them do")
	access.StringVar(&s.Administrators, "administrators", "", "group of the API server's whose members may do everything with --access=kubernetes")
	s.Temporal.addFlags(flags)
	temporal := flags.Group(groupTemporal)
	temporal.StringVar(&s.Namespace, "namespace", "default", "Temporal namespace, which is registered where it is missing")
	temporal.DurationVar(&s.Retention, "retention", 72*time.Hour, "how long workflows that have ended are kept; they take most of the database")
	observability := flags.Group(groupObservability)
	observability.StringVar(&s.HealthAddress, "health-address", ":8081", "host:port of /healthz and /readyz; empty serves none")
	observability.StringVar(&s.MetricsAddress, "metrics-address", "", "host:port of the Temporal server's /metrics; empty collects none, which spares processor time")
	observability.IntVar(&s.PProfPort, "pprof-port", 0, "port of /debug/pprof on localhost; 0 serves none")
	s.Log.addFlags(observability)
}

func (s *TemporalServer) validate() error {
	var p problems
	p.check(s.Address != "", "address", "is empty; use 127.0.0.1:7233, or :7233 for all addresses")
	p.address(s.Address, "address")
	p.address(s.UIAddress, "ui-address")
	p.check(len(s.InnerPorts) == len(innerPorts), "inner-ports", "are %d; give %d", len(s.InnerPorts), len(innerPorts))
	for _, port := range s.InnerPorts {
		p.check(port >= 0 && port <= 65535, "inner-ports", "%d is no port; use a number up to 65535", port)
	}
	p.check(s.DataDir != "", "data-dir", "is empty; name a folder, or %s to keep nothing", InMemory)
	p.check(s.DatabaseURL == "" || strings.HasPrefix(s.DatabaseURL, "postgres://") || strings.HasPrefix(s.DatabaseURL, "postgresql://"),
		"database-url", "does not begin with postgres://")
	p.check(s.HistoryShards >= 1 && s.HistoryShards <= 16384, "history-shards", "is %d; set it between 1 and 16384", s.HistoryShards)
	p.check(s.BackupTo == "" || s.DatabaseURL == "" && s.DataDir != InMemory, "backup-to", "copies files; back PostgreSQL up with its own tools")
	p.check(s.Administrators == "" || s.Access == AccessKubernetes, "administrators", "means nothing with --access=%s; set --access=%s", s.Access, AccessKubernetes)
	s.Temporal.validate(&p)
	p.check(s.Namespace != "", "namespace", "is empty; use default")
	p.check(s.Retention >= time.Hour, "retention", "is %v; Temporal takes 1h or more", s.Retention)
	p.address(s.HealthAddress, "health-address")
	p.address(s.MetricsAddress, "metrics-address")
	p.check(s.PProfPort >= 0 && s.PProfPort <= 65535, "pprof-port", "%d is no port; use a number up to 65535", s.PProfPort)
	return errors.Join(p...)
}
