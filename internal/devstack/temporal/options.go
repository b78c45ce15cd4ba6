package temporal

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.temporal.io/api/enums/v1"
)

// Synchronous says when SQLite asks the operating system to put writes on disk.
type Synchronous string

const (
	// SynchronousOff never waits for the disk. A killed process loses nothing; a crashed machine may lose or damage
	// the databases. For tests.
	SynchronousOff Synchronous = "off"
	// SynchronousNormal waits for the disk at checkpoints. A killed process loses nothing; a crashed machine may
	// lose the last transactions and never damages the databases.
	SynchronousNormal Synchronous = "normal"
	// SynchronousFull waits for the disk at every commit.
	SynchronousFull Synchronous = "full"
)

const (
	// DefaultIP is the address that the frontend and the Web UI listen on.
	DefaultIP = "127.0.0.1"
	// DefaultFrontendPort is Temporal's usual gRPC port.
	DefaultFrontendPort = 7233
	// DefaultNamespace is the namespace registered when none is named.
	DefaultNamespace = "default"
	// DefaultRetention is how long closed workflows are kept.
	DefaultRetention = 72 * time.Hour
	// MinimumRetention is the shortest retention the Temporal server takes for a local namespace.
	MinimumRetention = time.Hour
	// DefaultHistoryShards is the number of history shards of a new data directory.
	DefaultHistoryShards = 4
	// DefaultLogLevel is the least level of the server's log lines that are written.
	DefaultLogLevel = "error"
)

// Options configure a Server. The zero value is an in-memory server without Web UI on a free port.
type Options struct {
	// DataDir holds the databases and a lock file; it is created when missing. Empty means in memory: everything is
	// gone when the process ends or the Server is stopped.
	DataDir string
	// IP is the address to listen on, DefaultIP when empty.
	IP string
	// FrontendPort is the gRPC port. 0 takes a free one.
	FrontendPort int
	// UIPort is the port of the Web UI. 0 means no Web UI.
	UIPort int
	// MetricsPort serves the server's Prometheus metrics at /metrics. 0 means that none are collected.
	MetricsPort int
	// PProfPort serves net/http/pprof on localhost. 0 means none. Honoured once in a process.
	PProfPort int
	// Namespace is registered when it does not exist, DefaultNamespace when empty.
	Namespace string
	// Retention is how long the namespace keeps closed workflows, DefaultRetention when 0. A change applies to an
	// existing namespace and to workflows that close from then on.
	Retention time.Duration
	// SearchAttributes are the namespace's custom search attributes. Those it lacks are added at every start; none is
	// ever removed.
	SearchAttributes map[string]enums.IndexedValueType
	// HistoryShards applies to a new data directory only, DefaultHistoryShards when 0. An existing directory keeps the
	// number it was made with.
	HistoryShards int
	// Synchronous applies to DataDir, SynchronousNormal when empty.
	Synchronous Synchronous
	// LogLevel is debug, info, warn or error, DefaultLogLevel when empty. Lines go to stderr.
	LogLevel string
	// DynamicConfig overrides the server's dynamic configuration, by Temporal's own keys.
	DynamicConfig map[string]any
	// LoseTimersOf is the ID of a workflow whose timers are lost before the server starts, to see who notices. Empty means
	// none.
	LoseTimersOf string
}

// withDefaults returns o with every unset field that has a default filled in.
func (o Options) withDefaults() Options {
	if o.IP == "" {
		o.IP = DefaultIP
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	if o.HistoryShards == 0 {
		o.HistoryShards = DefaultHistoryShards
	}
	if o.Synchronous == "" {
		o.Synchronous = SynchronousNormal
	}
	if o.LogLevel == "" {
		o.LogLevel = DefaultLogLevel
	}
	return o
}

// Validate reports every field that cannot work, joined into one error. Unset fields are valid.
func (o Options) Validate() error {
	o = o.withDefaults()
	var problems []error
	if net.ParseIP(o.IP) == nil {
		problems = append(problems, fmt.Errorf("IP %q is not an IP address", o.IP))
	}
	ports := map[int]string{}
	for _, port := range []struct {
		name   string
		number int
	}{
		{"frontend", o.FrontendPort},
		{"UI", o.UIPort},
		{"metrics", o.MetricsPort},
		{"pprof", o.PProfPort},
	} {
		if port.number < 0 || port.number > 65535 {
			problems = append(problems, fmt.Errorf("%s port %d is not between 0 and 65535", port.name, port.number))
			continue
		}
		if port.number == 0 {
			continue
		}
		if other, taken := ports[port.number]; taken {
			problems = append(problems, fmt.Errorf("%s port and %s port are both %d", other, port.name, port.number))
		}
		ports[port.number] = port.name
	}
	if o.Retention < MinimumRetention {
		problems = append(problems, fmt.Errorf("retention %s is below the server's minimum of %s", o.Retention, MinimumRetention))
	}
	if o.HistoryShards < 1 || o.HistoryShards > 16384 {
		problems = append(problems, fmt.Errorf("history shards %d is not between 1 and 16384", o.HistoryShards))
	}
	switch o.Synchronous {
	case SynchronousOff, SynchronousNormal, SynchronousFull:
	default:
		problems = append(problems, fmt.Errorf("synchronous %q is not off, normal or full", o.Synchronous))
	}
	switch o.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		problems = append(problems, fmt.Errorf("log level %q is not debug, info, warn or error", o.LogLevel))
	}
	for name, kind := range o.SearchAttributes {
		if kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
			problems = append(problems, fmt.Errorf("search attribute %q has no type", name))
		}
	}
	return errors.Join(problems...)
}
