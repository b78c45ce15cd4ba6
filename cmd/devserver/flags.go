package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/devstack/temporal"
)

// defaultSearchAttributes are those that Ostinato's workflows set.
var defaultSearchAttributes = map[string]enums.IndexedValueType{
	"KubernetesNamespace": enums.INDEXED_VALUE_TYPE_KEYWORD,
	"CronJobName":         enums.INDEXED_VALUE_TYPE_KEYWORD,
	"JobName":             enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ScheduledTime":       enums.INDEXED_VALUE_TYPE_DATETIME,
	"CronJobSuspended":    enums.INDEXED_VALUE_TYPE_BOOL,
	"CronJobLastResult":   enums.INDEXED_VALUE_TYPE_KEYWORD,
	"CronJobNextRun":      enums.INDEXED_VALUE_TYPE_DATETIME,
}

// newCommand returns the command that calls run with the options that its flags and the environment give.
func newCommand(lookup func(string) (string, bool), run func(context.Context, temporal.Options, io.Writer) error) *cobra.Command {
	o := temporal.Options{SearchAttributes: maps.Clone(defaultSearchAttributes), DynamicConfig: map[string]any{}}
	return command.New(&cobra.Command{
		Use: "devserver",
		Long: "devserver runs a Temporal cluster with its Web UI in one process, on SQLite files, for development and tests.\n\n" +
			"Each flag has an environment variable, which it wins over.",
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o, cmd.OutOrStdout()) },
	}, command.Settings{
		AddFlags:    func(flags *command.Flags) { addFlags(flags, &o) },
		Validate:    func() error { return o.Validate() },
		Environment: command.Environment{Prefix: "OSTINATO_DEVSERVER_", Lookup: lookup},
	})
}

func addFlags(flags *command.Flags, o *temporal.Options) {
	ports := flags.Group("Address")
	ports.StringVar(&o.IP, "ip", temporal.DefaultIP, "address to listen on")
	ports.IntVar(&o.FrontendPort, "frontend-port", temporal.DefaultFrontendPort, "gRPC port; 0 takes a free one")
	ports.IntVar(&o.UIPort, "ui-port", 0, "port of the Web UI; 0 means no Web UI")

	data := flags.Group("Data")
	data.StringVar(&o.DataDir, "data-dir", "", "directory of the databases; empty keeps everything in memory")
	command.Choice(data, &o.Synchronous, "synchronous", temporal.SynchronousNormal,
		[]temporal.Synchronous{temporal.SynchronousOff, temporal.SynchronousNormal, temporal.SynchronousFull}, "when writes reach the disk")
	data.IntVar(&o.HistoryShards, "history-shards", temporal.DefaultHistoryShards, "history shards of a new data directory")
	data.StringVar(&o.LoseTimersOf, "lose-timers-of", "", "ID of a workflow whose timers are deleted before the start, to see who notices")

	namespace := flags.Group("Namespace")
	namespace.StringVar(&o.Namespace, "namespace", temporal.DefaultNamespace, "namespace to register")
	namespace.DurationVar(&o.Retention, "retention", temporal.DefaultRetention, "how long closed workflows are kept, at least 1h")
	namespace.Func("search-attribute", "`name=type` of a further custom search attribute, such as Team=Keyword; can be repeated", func(value string) error {
		return addSearchAttributes(o.SearchAttributes, value)
	})
	namespace.Func("dynamic-config", "`key=value` of the server's dynamic configuration, the value in JSON; can be repeated", func(value string) error {
		return addDynamicConfig(o.DynamicConfig, value)
	})

	observability := flags.Group("Observability")
	observability.IntVar(&o.MetricsPort, "metrics-port", 0, "port of /metrics; 0 collects no metrics")
	observability.IntVar(&o.PProfPort, "pprof-port", 0, "port of /debug/pprof on localhost; 0 serves none")
	command.Choice(observability, &o.LogLevel, "log-level", temporal.DefaultLogLevel,
		[]string{"debug", "info", "warn", "error"}, "least level of the lines on stderr")
}

// addSearchAttributes adds one or more comma-separated name=type pairs.
func addSearchAttributes(attributes map[string]enums.IndexedValueType, pairs string) error {
	for pair := range strings.SplitSeq(pairs, ",") {
		name, kind, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || name == "" {
			return fmt.Errorf("%q is not name=type", pair)
		}
		value, err := enums.IndexedValueTypeFromString(kind)
		if err != nil || value == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
			return fmt.Errorf("type %q is not Text, Keyword, Int, Double, Bool, Datetime or KeywordList", kind)
		}
		attributes[name] = value
	}
	return nil
}

// addDynamicConfig adds one key=value pair.
func addDynamicConfig(config map[string]any, pair string) error {
	key, encoded, found := strings.Cut(pair, "=")
	if !found || key == "" {
		return fmt.Errorf("%q is not key=value", pair)
	}
	var value any
	if err := json.Unmarshal([]byte(encoded), &value); err != nil {
		return fmt.Errorf("value of %s is not JSON: %w", key, err)
	}
	// The server takes a whole number for a fraction but not the other way round.
	if whole, err := strconv.Atoi(encoded); err == nil {
		value = whole
	}
	config[key] = value
	return nil
}
