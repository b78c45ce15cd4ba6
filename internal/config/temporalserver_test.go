package config_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
)

func parseTemporal(arguments []string, pairs map[string]string) (config.TemporalServer, error) {
	return parse(config.TemporalServerCommand, arguments, environment(pairs))
}

func TestATemporalServerIsClosedAndSafeByDefault(t *testing.T) {
	settings, err := parseTemporal(nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:7233", settings.Address)
	assert.Equal(t, "127.0.0.1:8233", settings.UIAddress)
	assert.Equal(t, []int{7234, 7235, 7239, 7236}, settings.InnerPorts)
	assert.Equal(t, "/data", settings.DataDir)
	assert.Equal(t, config.SynchronousFull, settings.Synchronous)
	assert.Equal(t, 72*time.Hour, settings.Retention)
	assert.Equal(t, ":8081", settings.HealthAddress)
	assert.Empty(t, settings.MetricsAddress)
}

func TestATemporalServersSettingsCanComeFromTheEnvironment(t *testing.T) {
	settings, err := parseTemporal([]string{"--retention=1h"}, map[string]string{
		"OSTINATO_DATABASE_URL": "postgres://ada:secret@db/temporal", "OSTINATO_RETENTION": "2h", "OSTINATO_INNER_PORTS": "1,2,3,4",
	})
	require.NoError(t, err)
	assert.Equal(t, "postgres://ada:secret@db/temporal", settings.DatabaseURL)
	assert.Equal(t, time.Hour, settings.Retention)
	assert.Equal(t, []int{1, 2, 3, 4}, settings.InnerPorts)
}

func TestProgramsSayTheirVersion(t *testing.T) {
	cmd := config.TemporalServerCommand(environment(nil), func(context.Context, config.TemporalServer) error { return errors.New("it runs") })
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	require.NoError(t, cmd.Execute())
	assert.Equal(t, "temporal version "+command.Version()+"\n", out.String())
}

func TestATemporalServersMistakes(t *testing.T) {
	for want, arguments := range map[string][]string{
		`--address (OSTINATO_ADDRESS): "7233" is not host:port`:     {"--address=7233"},
		"--address (OSTINATO_ADDRESS): is empty":                    {"--address="},
		`--ui-address (OSTINATO_UI_ADDRESS): "8233" is not`:         {"--ui-address=8233"},
		"--inner-ports (OSTINATO_INNER_PORTS): are 2; give 4":       {"--inner-ports=1,2"},
		"--inner-ports (OSTINATO_INNER_PORTS): 70000 is no port":    {"--inner-ports=1,2,3,70000"},
		"--data-dir (OSTINATO_DATA_DIR): is empty":                  {"--data-dir="},
		"--database-url (OSTINATO_DATABASE_URL): does not begin":    {"--database-url=mysql://ada:secret@db/temporal"},
		`--synchronous="often": use off, normal or full`:            {"--synchronous=often"},
		"--history-shards (OSTINATO_HISTORY_SHARDS): is 0":          {"--history-shards=0"},
		"--backup-to (OSTINATO_BACKUP_TO): copies files; back Post": {"--backup-to=b", "--database-url=postgres://ada@db/temporal"},
		"--backup-to (OSTINATO_BACKUP_TO): copies files":            {"--backup-to=b", "--data-dir=:memory:"},
		"--namespace (OSTINATO_NAMESPACE): is empty":                {"--namespace="},
		"--retention (OSTINATO_RETENTION): is 1m0s; Temporal takes": {"--retention=1m"},
		"--pprof-port (OSTINATO_PPROF_PORT): -1 is no port":         {"--pprof-port=-1"},
	} {
		_, err := parseTemporal(arguments, nil)
		if assert.Error(t, err, arguments) {
			assert.Contains(t, err.Error(), want)
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}
