package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"go.temporal.io/api/enums/v1"

	"ostinato.dev/ostinato/internal/devstack/temporal"
)

// environmentPrefix starts the name of the environment variable that stands in for a flag.
const environmentPrefix = "OSTINATO_DEVSERVER_"

// defaultSearchAttributes are those that Ostinato's workflows set.
var defaultSearchAttributes = map[string]enums.IndexedValueType{
	"KubernetesNamespace": enums.INDEXED_VALUE_TYPE_KEYWORD,
	"CronJobName":         enums.INDEXED_VALUE_TYPE_KEYWORD,
	"JobName":             enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ScheduledTime":       enums.INDEXED_VALUE_TYPE_DATETIME,
}

// parse reads options from arguments, and from the environment where a flag is not given. Usage goes to usage. The
// error is flag.ErrHelp when help was asked for.
func parse(arguments []string, lookup func(string) (string, bool), usage io.Writer) (temporal.Options, error) {
	o := temporal.Options{SearchAttributes: maps.Clone(defaultSearchAttributes), DynamicConfig: map[string]any{}}
	flags := flag.NewFlagSet("devserver", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&o.DataDir, "data-dir", "", "directory of the databases; empty keeps everything in memory")
	flags.StringVar(&o.IP, "ip", temporal.DefaultIP, "address to listen on")
	flags.IntVar(&o.FrontendPort, "frontend-port", temporal.DefaultFrontendPort, "gRPC port; 0 takes a free one")
	flags.IntVar(&o.UIPort, "ui-port", 0, "port of the Web UI; 0 means no Web UI")
	flags.IntVar(&o.MetricsPort, "metrics-port", 0, "port of /metrics; 0 collects no metrics")
	flags.IntVar(&o.PProfPort, "pprof-port", 0, "port of /debug/pprof on localhost; 0 serves none")
	flags.StringVar(&o.Namespace, "namespace", temporal.DefaultNamespace, "namespace to register")
	flags.DurationVar(&o.Retention, "retention", temporal.DefaultRetention, "how long closed workflows are kept, at least 1h")
	flags.IntVar(&o.HistoryShards, "history-shards", temporal.DefaultHistoryShards, "history shards of a new data directory")
	flags.StringVar((*string)(&o.Synchronous), "synchronous", string(temporal.SynchronousNormal), "when writes reach the disk: off, normal or full")
	flags.StringVar(&o.LogLevel, "log-level", temporal.DefaultLogLevel, "debug, info, warn or error; lines go to stderr")
	flags.Func("search-attribute", "name=type of a further custom search attribute, such as Team=Keyword; can be repeated", func(value string) error {
		return addSearchAttributes(o.SearchAttributes, value)
	})
	flags.Func("dynamic-config", "key=value of the server's dynamic configuration, the value in JSON; can be repeated", func(value string) error {
		return addDynamicConfig(o.DynamicConfig, value)
	})
	if err := flags.Parse(arguments); err != nil {
		return temporal.Options{}, err
	}
	if flags.NArg() > 0 {
		return temporal.Options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := applyEnvironment(flags, lookup); err != nil {
		return temporal.Options{}, err
	}
	if err := o.Validate(); err != nil {
		return temporal.Options{}, err
	}
	return o, nil
}

// applyEnvironment sets every flag that was not given and whose environment variable is.
func applyEnvironment(flags *flag.FlagSet, lookup func(string) (string, bool)) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		variable := environmentPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, set := lookup(variable)
		if !set || given[f.Name] || err != nil {
			return
		}
		if setErr := flags.Set(f.Name, value); setErr != nil {
			err = fmt.Errorf("environment variable %s: %w", variable, setErr)
		}
	})
	return err
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
