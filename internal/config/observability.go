package config

import (
	"log/slog"
	"net"

	"github.com/spf13/pflag"

	"ostinato.dev/ostinato/internal/command"
)

// Observability holds the settings of what a process tells about itself.
type Observability struct {
	// MetricsAddress and HealthAddress are host:port; an empty one is not served.
	MetricsAddress, HealthAddress string
	MetricsAuthentication         bool
	// MetricsCertificateFile and MetricsKeyFile are set both or neither.
	MetricsCertificateFile, MetricsKeyFile string
	Profiling                              bool
	Log
}

// Log holds the settings of a process's log.
type Log struct {
	LogLevel slog.Level
	// LogFormat is LogText or LogJSON.
	LogFormat string
}

// Log formats.
const (
	LogText = "text"
	LogJSON = "json"
)

func (o *Observability) addFlags(flags *command.Flags) {
	group := flags.Group(groupObservability)
	group.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "host:port of /metrics; empty serves none")
	group.StringVar(&o.HealthAddress, "health-address", ":8081", "host:port of /healthz and /readyz; empty serves none")
	group.BoolVar(&o.MetricsAuthentication, "metrics-authentication", false, "serve metrics over TLS, and only to clients that RBAC allows to get /metrics")
	group.StringVar(&o.MetricsCertificateFile, "metrics-tls-cert-file", "", "certificate to serve metrics over TLS; without it --metrics-authentication uses a self-signed one")
	group.StringVar(&o.MetricsKeyFile, "metrics-tls-private-key-file", "", "private key of --metrics-tls-cert-file")
	group.BoolVar(&o.Profiling, "profiling", false, "serve net/http/pprof at --metrics-address, which must be a loopback address")
	o.Log.addFlags(group)
}

func (l *Log) addFlags(group *pflag.FlagSet) {
	command.Choice(group, &l.LogLevel, "log-level", slog.LevelInfo,
		[]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}, "lowest level that is logged")
	command.Choice(group, &l.LogFormat, "log-format", LogText, []string{LogText, LogJSON}, "format of the log")
}

func (o Observability) validate(p *problems) {
	p.address(o.MetricsAddress, "metrics-address")
	p.address(o.HealthAddress, "health-address")
	p.check((o.MetricsCertificateFile == "") == (o.MetricsKeyFile == ""), "metrics-tls-cert-file",
		"TLS needs both --metrics-tls-cert-file and --metrics-tls-private-key-file; set the other one too, or neither")
	p.check(!o.MetricsTLS() || o.MetricsAddress == "" || o.MetricsAddress != o.HealthAddress, "metrics-address",
		"is %q, as --health-address is, which is served without TLS; choose another port", o.MetricsAddress)
	p.check(!o.Profiling || loopback(o.MetricsAddress), "profiling",
		"profiles are served on a loopback address only; set --metrics-address to 127.0.0.1:8080, say, not %q", o.MetricsAddress)
}

// MetricsTLS reports whether metrics are served by TLS.
func (o Observability) MetricsTLS() bool {
	return o.MetricsAuthentication || o.MetricsCertificateFile != ""
}

func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address) // empty with an error
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
