package process_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/process"
)

const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c}}]}`

// prepare points the process at a Kubernetes and a Temporal that are not there.
func prepare(t *testing.T) config.Common {
	t.Helper()
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before); klog.ClearLogger() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(kubeconfig), 0o600))
	t.Setenv("KUBECONFIG", file)
	t.Setenv("TEMPORAL_ADDRESS", listener.Addr().String())
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "absent.toml"))
	return config.Common{Observability: config.Observability{Log: config.Log{LogLevel: slog.LevelError, LogFormat: config.LogText}}}
}

func TestTemporalIsWaitedForUntilTheProcessIsToldToStop(t *testing.T) {
	settings := prepare(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := process.Start(ctx, "worker", settings)
	assert.ErrorContains(t, err, "connect to Temporal at 127.0.0.1:")
}

func TestATakenPortEndsTheStart(t *testing.T) {
	settings := prepare(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	settings.HealthAddress = listener.Addr().String()
	_, err = process.Start(context.Background(), "bridge", settings)
	assert.ErrorContains(t, err, "listen for health")
}
