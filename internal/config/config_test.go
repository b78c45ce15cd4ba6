package config_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/steering"
)

func environment(pairs map[string]string) config.LookupEnv {
	return func(name string) (string, bool) {
		value, ok := pairs[name]
		return value, ok
	}
}

// parseWorker returns the settings that a worker would run with.
func parseWorker(arguments []string, lookup config.LookupEnv) (config.Worker, error) {
	return parse(config.WorkerCommand, arguments, lookup)
}

// parseBridge returns the settings that a bridge would run with.
func parseBridge(arguments []string, lookup config.LookupEnv) (config.Bridge, error) {
	return parse(config.BridgeCommand, arguments, lookup)
}

func parse[Settings any](
	newCommand func(config.LookupEnv, func(context.Context, Settings) error) *cobra.Command, arguments []string, lookup config.LookupEnv,
) (settings Settings, err error) {
	cmd := newCommand(lookup, func(_ context.Context, given Settings) error { settings = given; return nil })
	cmd.SetArgs(slices.Concat([]string{}, arguments))
	cmd.SetOut(io.Discard)
	err = cmd.Execute()
	return settings, err
}

func TestDefaultsAreValid(t *testing.T) {
	worker, err := parseWorker(nil, environment(nil))
	require.NoError(t, err)
	assert.Equal(t, ":8080", worker.MetricsAddress)
	assert.Equal(t, ":8081", worker.HealthAddress)
	assert.Equal(t, slog.LevelInfo, worker.LogLevel)
	assert.False(t, worker.Versioned())
	assert.Equal(t, 1, worker.WatchShards)
	assert.Equal(t, 20, worker.EvidenceLogLines)
	assert.Equal(t, 4096, worker.EvidenceLogBytes)
	assert.Equal(t, job.Defaults{BackoffBase: 10 * time.Second, BackoffCap: 10 * time.Minute}, worker.JobDefaults)
	assert.Equal(t, config.TakeOver{}, worker.TakeOver)

	bridge, err := parseBridge(nil, environment(nil))
	require.NoError(t, err)
	assert.True(t, bridge.LeaderElection.Enabled)
	assert.Equal(t, 15*time.Second, bridge.OverdueGrace)
	assert.Empty(t, bridge.Namespaces)
	assert.Empty(t, worker.Namespaces)
}

func TestPrecedence(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		env       map[string]string
		want      float64
	}{
		{name: "default", want: 0},
		{name: "environment over default", env: map[string]string{"OSTINATO_KUBE_QPS": "7"}, want: 7},
		{name: "flag over environment", arguments: []string{"--kube-qps=9"}, env: map[string]string{"OSTINATO_KUBE_QPS": "7"}, want: 9},
		{name: "an empty variable counts as unset", env: map[string]string{"OSTINATO_KUBE_QPS": ""}, want: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			worker, err := parseWorker(test.arguments, environment(test.env))
			require.NoError(t, err)
			assert.Equal(t, test.want, worker.KubeQPS)
		})
	}
}

func TestListsLevelsAndDurations(t *testing.T) {
	bridge, err := parseBridge([]string{
		"--namespaces=a, b,", "--log-level=debug", "--overdue-grace=3s", "--leader-elect=false", "--lease-namespace=",
	}, environment(nil))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, bridge.Namespaces)
	assert.Equal(t, slog.LevelDebug, bridge.LogLevel)
	assert.Equal(t, 3*time.Second, bridge.OverdueGrace)
	assert.False(t, bridge.LeaderElection.Enabled)
}

func TestTakeOver(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		env       map[string]string
		want      config.TakeOver
	}{
		{name: "nothing by default"},
		{name: "jobs", arguments: []string{"--takeover=jobs"}, want: config.TakeOver{Jobs: true}},
		{name: "cronjobs", arguments: []string{"--takeover=cronjobs"}, want: config.TakeOver{CronJobs: true}},
		{name: "both", arguments: []string{"--takeover=jobs,cronjobs"}, want: config.TakeOver{Jobs: true, CronJobs: true}},
		{name: "a list with spaces", arguments: []string{"--takeover= jobs ,"}, want: config.TakeOver{Jobs: true}},
		{name: "by the environment", env: map[string]string{"OSTINATO_TAKEOVER": "jobs"}, want: config.TakeOver{Jobs: true}},
		{name: "a flag takes back what the environment says", arguments: []string{"--takeover="}, env: map[string]string{"OSTINATO_TAKEOVER": "jobs"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			worker, err := parseWorker(test.arguments, environment(test.env))
			require.NoError(t, err)
			assert.Equal(t, test.want, worker.TakeOver)
			bridge, err := parseBridge(test.arguments, environment(test.env))
			require.NoError(t, err)
			assert.Equal(t, test.want, bridge.TakeOver)
		})
	}
}

func TestMetricsByTLS(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		want      bool
	}{
		{name: "not by default"},
		{name: "with authentication, since tokens are sent", arguments: []string{"--metrics-authentication"}, want: true},
		{name: "with a certificate", arguments: []string{"--metrics-tls-cert-file=a", "--metrics-tls-private-key-file=b"}, want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			worker, err := parseWorker(test.arguments, environment(nil))
			require.NoError(t, err)
			assert.Equal(t, test.want, worker.MetricsTLS())
		})
	}
}

func TestLogEvidenceCanBeSwitchedOff(t *testing.T) {
	worker, err := parseWorker([]string{"--evidence-log-lines=0", "--evidence-log-bytes=0"}, environment(nil))
	require.NoError(t, err)
	assert.Zero(t, worker.EvidenceLogLines)
	assert.Zero(t, worker.EvidenceLogBytes)
}

func TestAcceptedSignals(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		env       map[string]string
		want      steering.Signals
	}{
		{name: "all but a stop by default", want: steering.Default()},
		{name: "a stop where it is named", arguments: []string{"--accept-signals=stop,suspend"}, want: steering.Signals{steering.Suspend, steering.Stop}},
		{name: "some", arguments: []string{"--accept-signals=suspend,resume"}, want: steering.Signals{steering.Suspend, steering.Resume}},
		{name: "none by the environment", env: map[string]string{"OSTINATO_ACCEPT_SIGNALS": "none"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			worker, err := parseWorker(test.arguments, environment(test.env))
			require.NoError(t, err)
			assert.ElementsMatch(t, test.want, worker.AcceptSignals)
		})
	}
}

func TestNamesOfUsersAreBelievedOnRequest(t *testing.T) {
	for variable, believed := range map[string]func(config.Worker) bool{
		"OSTINATO_STAMPED_USERS": func(worker config.Worker) bool { return worker.StampedUsers },
		"OSTINATO_CALLER_HEADER": func(worker config.Worker) bool { return worker.CallerHeader },
	} {
		worker, err := parseWorker(nil, environment(nil))
		require.NoError(t, err)
		assert.False(t, believed(worker), variable)
		worker, err = parseWorker(nil, environment(map[string]string{variable: "true"}))
		require.NoError(t, err)
		assert.True(t, believed(worker), variable)
	}
}

// Both programs encrypt alike, and only with keys.
func TestPayloadsAreEncryptedWithKeysOnly(t *testing.T) {
	keys := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(keys, "2026"), []byte("QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="), 0o600))
	for _, test := range []struct {
		name      string
		arguments []string
		encrypted bool
	}{
		{name: "no keys"},
		{name: "keys that only decrypt", arguments: []string{"--payload-keys=" + keys}},
		{name: "a key that encrypts", arguments: []string{"--payload-keys=" + keys, "--payload-encryption-key=2026"}, encrypted: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			worker, err := parseWorker(test.arguments, environment(nil))
			require.NoError(t, err)
			bridge, err := parseBridge(test.arguments, environment(nil))
			require.NoError(t, err)
			for name, payloads := range map[string]config.Payloads{"worker": worker.Payloads, "bridge": bridge.Payloads} {
				options := client.Options{DataConverter: converter.GetDefaultDataConverter(), FailureConverter: temporal.GetDefaultFailureConverter()}
				require.NoError(t, payloads.Apply(&options, slog.New(slog.DiscardHandler)), name)
				payload, err := options.DataConverter.ToPayload("swordfish")
				require.NoError(t, err)
				assert.Equal(t, test.encrypted, !strings.Contains(payload.String(), "swordfish"), "%s: %v", name, payload)
				failure := options.FailureConverter.ErrorToFailure(errors.New("swordfish"))
				assert.Equal(t, test.encrypted, !strings.Contains(failure.String(), "swordfish"), "%s: %v", name, failure)
			}
		})
	}
	t.Run("a key that is not there", func(t *testing.T) {
		worker, err := parseWorker([]string{"--payload-keys=" + keys, "--payload-encryption-key=2027"}, environment(nil))
		require.NoError(t, err)
		assert.ErrorContains(t, worker.Payloads.Apply(&client.Options{}, slog.New(slog.DiscardHandler)), `"2027", which is to encrypt, is not among 2026`)
	})
}

func TestCodecServer(t *testing.T) {
	settings, err := parse(config.CodecServerCommand, []string{"--payload-keys=/keys", "--ui-origins=https://temporal.example, http://localhost:8080"}, environment(nil))
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:8083", settings.Address)
	assert.Equal(t, []string{"https://temporal.example", "http://localhost:8080"}, settings.UIOrigins)
	for _, test := range []struct {
		name      string
		arguments []string
		want      string
	}{
		{"no keys", nil, "--payload-keys"},
		{"reachable for all", []string{"--address=:8083"}, "is no loopback address"},
		{"reachable for the Pod's network", []string{"--address=10.0.0.1:8083"}, "is no loopback address"},
		{"any page", []string{"--ui-origins=*"}, "is no origin"},
		{"any page of a domain", []string{"--ui-origins=https://*.example"}, "is no origin"},
		{"an address with a path", []string{"--ui-origins=https://temporal.example/"}, "scheme and host, without a path"},
		{"no address", []string{"--ui-origins=temporal.example"}, "is no origin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(config.CodecServerCommand, test.arguments, environment(nil))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestMistakesSayWhatToChange(t *testing.T) {
	worker := func(arguments []string, lookup config.LookupEnv) error {
		_, err := parseWorker(arguments, lookup)
		return err
	}
	bridge := func(arguments []string, lookup config.LookupEnv) error {
		_, err := parseBridge(arguments, lookup)
		return err
	}
	for _, test := range []struct {
		name      string
		parse     func([]string, config.LookupEnv) error
		arguments []string
		env       map[string]string
		want      string
	}{
		{"unknown flag", worker, []string{"--nope"}, nil, "nope"},
		{"argument", worker, []string{"run"}, nil, `unexpected argument "run"`},
		{"variable that is no number", worker, nil, map[string]string{"OSTINATO_WATCH_SHARDS": "many"}, `OSTINATO_WATCH_SHARDS="many"`},
		{"cluster name", worker, []string{"--cluster=Prod/1"}, nil, "lower case letters"},
		{"reserved cluster name", worker, []string{"--cluster=job"}, nil, "choose another name"},
		{"namespace", bridge, []string{"--namespaces=a b"}, nil, "separated by commas"},
		{"namespace of a worker", worker, []string{"--namespaces=A"}, nil, "no namespace name"},
		{"a namespace twice", worker, []string{"--namespaces=a,b,a"}, nil, `"a" is there twice`},
		{"rate", worker, []string{"--kube-qps=-1"}, nil, "set it to 0 or more"},
		{"address", worker, []string{"--metrics-address=8080"}, nil, "host:port"},
		{"a certificate without a key", worker, []string{"--metrics-tls-cert-file=tls.crt"}, nil, "--metrics-tls-private-key-file; set the other one too"},
		{"probes behind TLS", bridge, []string{"--metrics-authentication", "--health-address=:8080"}, nil, "choose another port"},
		{"profiling in public", worker, []string{"--profiling"}, nil, "loopback"},
		{"log format", worker, []string{"--log-format=xml"}, nil, "use text or json"},
		{"log level", worker, []string{"--log-level=loud"}, nil, "log-level"},
		{"one workflow task", worker, []string{"--max-concurrent-workflow-tasks=1"}, nil, "set it to 2 or more"},
		{"start lead", worker, []string{"--start-lead=7s"}, nil, "between 0 and 6s"},
		{"watch shards", worker, []string{"--watch-shards=17"}, nil, "between 1 and 16"},
		{"half of versioning", worker, []string{"--build-id=x"}, nil, "--deployment-name"},
		{"deployment name with a dot", worker, []string{"--build-id=x", "--deployment-name=a.b"}, nil, "use a hyphen"},
		{"drain timeout", bridge, []string{"--drain-timeout=-1s"}, nil, "0 or more"},
		{"lease without a namespace", bridge, []string{"--lease-namespace="}, nil, "name the bridge's own namespace"},
		{"lease duration", bridge, []string{"--lease-duration=900ms"}, nil, "set it to 1s or more"},
		{"take-over of something else", bridge, []string{"--takeover=jobs,pods"}, nil, `"pods" can't be taken over; use cronjobs, jobs or both`},
		{"back-off below a second", worker, []string{"--pod-backoff-base=500ms"}, nil, "1s or more"},
		{"back-off of half seconds", bridge, []string{"--pod-backoff-cap=90500ms"}, nil, "whole seconds"},
		{"back-off above its cap", bridge, []string{"--pod-backoff-base=11m"}, nil, "--pod-backoff-cap, 10m0s, or less"},
		{"evidence lines", worker, []string{"--evidence-log-lines=-1"}, nil, "1000 at most"},
		{"evidence bytes", worker, []string{"--evidence-log-bytes=65537"}, nil, "65536 at most"},
		{"a signal that is none", worker, []string{"--accept-signals=suspend,halt"}, nil, `"halt" is no signal`},
		{"a key without keys", bridge, []string{"--payload-encryption-key=2026"}, nil, "set --payload-keys"},
		{"a weight that is none", worker, []string{"--fairness-weights=shop=0"}, nil, "between 0.001 and 1000"},
		{"a weight without a namespace", bridge, nil, map[string]string{"OSTINATO_FAIRNESS_WEIGHTS": "5"}, `"5" is not namespace=weight`},
		{"a weight of no namespace", worker, []string{"--fairness-weights=Shop=5"}, nil, "no namespace name"},
		{"sweep interval", bridge, []string{"--sweep-interval=1s"}, nil, "1m or more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.ErrorContains(t, test.parse(test.arguments, environment(test.env)), test.want)
		})
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: one
  cluster: {server: "https://one.example:6443"}
contexts:
- name: one
  context: {cluster: one}
current-context: one
`

func TestKubernetesClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(kubeconfig), 0o600))
	t.Setenv("KUBECONFIG", path)
	for _, test := range []struct {
		name      string
		arguments []string
		qps       float32
		burst     int
	}{
		{"none of our own", nil, -1, 0},
		{"set", []string{"--kube-qps=50"}, 50, 50},
		{"less than one a second", []string{"--kube-qps=0.5"}, 0.5, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			worker, err := parseWorker(test.arguments, environment(nil))
			require.NoError(t, err)
			options, err := worker.Kubernetes.RESTConfig("ostinato-worker")
			require.NoError(t, err)
			assert.Equal(t, "https://one.example:6443", options.Host)
			assert.Equal(t, test.qps, options.QPS)
			assert.Equal(t, test.burst, options.Burst)
			assert.Equal(t, "ostinato-worker", options.UserAgent)
		})
	}
	t.Setenv("KUBECONFIG", path+"-absent")
	_, err := config.Kubernetes{}.RESTConfig("ostinato-worker")
	assert.Error(t, err, "an absent kubeconfig")
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, err := parseWorker([]string{"--kube-qps=-1", "--watch-shards=0"}, environment(nil))
	assert.ErrorContains(t, err, "kube-qps")
	assert.ErrorContains(t, err, "watch-shards")
}

func TestHelpListsFlagsInGroupsWithTheirVariables(t *testing.T) {
	var help bytes.Buffer
	cmd := config.BridgeCommand(environment(nil), func(context.Context, config.Bridge) error { t.Error("it ran"); return nil })
	cmd.SetArgs([]string{"-h"})
	cmd.SetOut(&help)
	require.NoError(t, cmd.Execute())
	assert.Regexp(t, `(?s)TEMPORAL_ADDRESS.*KUBECONFIG.*Temporal flags:.*--cluster.*Encryption flags:.*--payload-keys.*Kubernetes flags:.*--namespaces.*Jobs flags:.*--pod-backoff-base.*`+
		`Work flags:.*--workers.*Leader election flags:.*--lease-namespace string +namespace of the lease \[OSTINATO_LEASE_NAMESPACE\] \(default "ostinato-system"\).*`+
		`Observability flags:.*--log-level.*Other flags:.*--help`, help.String())
}

func TestTemporalSettingsComeFromTheEnvironment(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", t.TempDir()+"/absent.toml")
	t.Setenv("TEMPORAL_ADDRESS", "temporal.example:7233")
	t.Setenv("TEMPORAL_NAMESPACE", "")
	options, err := config.Temporal{}.ClientOptions()
	require.NoError(t, err)
	assert.Equal(t, "temporal.example:7233", options.HostPort)
	assert.Equal(t, "default", options.Namespace)
}
