package temporalserver

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"

	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
	"ostinato.dev/ostinato/internal/temporalserver/store"
)

const (
	// DefaultNamespace is the namespace registered when none is named.
	DefaultNamespace = "default"
	// DefaultRetention is how long closed workflows are kept.
	DefaultRetention = 72 * time.Hour
	// MinimumRetention is the shortest retention the Temporal server takes for a local namespace.
	MinimumRetention = time.Hour
	// DefaultHistoryShards is the number of history shards of new databases.
	DefaultHistoryShards = 4

	defaultAddress  = "127.0.0.1:0"
	defaultLogLevel = "error"
)

// InnerPorts are the loopback ports at which the services of one server talk to one another.
type InnerPorts struct {
	History, Matching, Internal int
	// Frontend is the port of the frontend for the server's own services, which a server with a Door has.
	Frontend int
}

// Options configure a Server. The zero value is a server in memory without Web UI on a free port.
type Options struct {
	// Open opens the databases, sqlite.InMemory when nil.
	Open store.Open
	// Address is host:port of the gRPC frontend, a free loopback port when empty. The host is an IP address, localhost, or empty
	// for every address of the machine; so are those of the addresses below. Port 0 takes a free one.
	Address string
	// UIAddress is host:port of the Web UI. Empty means no Web UI.
	UIAddress string
	// MetricsAddress serves the server's Prometheus metrics at /metrics. Empty means that none are collected.
	MetricsAddress string
	// PProfPort serves net/http/pprof on localhost. 0 means none. Honoured once in a process.
	PProfPort int
	// InnerPorts are free ones where they are 0. Another program can take a free one before the server does.
	InnerPorts InnerPorts
	// Namespace is registered when it does not exist, DefaultNamespace when empty.
	Namespace string
	// Retention is how long the namespace keeps closed workflows, DefaultRetention when 0. A change applies to an
	// existing namespace and to workflows that close from then on.
	Retention time.Duration
	// SearchAttributes are the namespace's custom search attributes, OstinatosAttributes when nil. Those it lacks are added at
	// every start; none is ever removed.
	SearchAttributes map[string]enums.IndexedValueType
	// HistoryShards applies to new databases only, DefaultHistoryShards when 0. Existing ones keep the number they were
	// made with.
	HistoryShards int
	// LogLevel is debug, info, warn or error, the least level of the server's own lines, which go to stderr; error when empty.
	LogLevel string
	// LogJSON makes JSON of the server's own lines.
	LogJSON bool
	// Door says who may call the frontend. Without one everyone may do everything.
	Door *Door
	// DynamicConfig overrides the server's dynamic configuration, by Temporal's own keys.
	DynamicConfig map[string]any
}

// OstinatosAttributes returns the search attributes that Ostinato's workflows set.
func OstinatosAttributes() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		"KubernetesNamespace": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"CronJobName":         enums.INDEXED_VALUE_TYPE_KEYWORD,
		"JobName":             enums.INDEXED_VALUE_TYPE_KEYWORD,
		"ScheduledTime":       enums.INDEXED_VALUE_TYPE_DATETIME,
		"CronJobSuspended":    enums.INDEXED_VALUE_TYPE_BOOL,
		"CronJobLastResult":   enums.INDEXED_VALUE_TYPE_KEYWORD,
		"CronJobNextRun":      enums.INDEXED_VALUE_TYPE_DATETIME,
	}
}

// withDefaults returns o with every unset field that has a default filled in.
func (o Options) withDefaults() Options {
	if o.Open == nil {
		o.Open = sqlite.InMemory
	}
	if o.Address == "" {
		o.Address = defaultAddress
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	if o.SearchAttributes == nil {
		o.SearchAttributes = OstinatosAttributes()
	}
	if o.HistoryShards == 0 {
		o.HistoryShards = DefaultHistoryShards
	}
	if o.LogLevel == "" {
		o.LogLevel = defaultLogLevel
	}
	return o
}

// validate reports what the server would end the process for, or take without a word. Unset fields are valid.
func (o Options) validate() error {
	var problems []error
	if o.Retention < MinimumRetention {
		problems = append(problems, fmt.Errorf("retention %s is below the server's minimum of %s", o.Retention, MinimumRetention))
	}
	if o.HistoryShards < 1 || o.HistoryShards > 16384 {
		problems = append(problems, fmt.Errorf("history shards %d is not between 1 and 16384", o.HistoryShards))
	}
	for name, kind := range o.SearchAttributes {
		if kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
			problems = append(problems, fmt.Errorf("search attribute %q has no type", name))
		}
	}
	return errors.Join(problems...)
}
