package config_test

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

// installation is a server and the files of its client.
type installation struct {
	t      *testing.T
	folder string
	server *tls.Config
}

// renew gives server and client certificates of a new authority.
func (i *installation) renew() { i.serve("") }

// serve is renew, with a certificate for an IP address too unless it is "".
func (i *installation) serve(address string) {
	i.t.Helper()
	authorities, _, err := authority.Authorities(nil).Renew(time.Now())
	require.NoError(i.t, err)
	var addresses []net.IP
	if address != "" {
		addresses = []net.IP{net.ParseIP(address)}
	}
	served, err := authorities.Server([]string{"temporal.example"}, addresses, time.Now())
	require.NoError(i.t, err)
	certificate, err := served.TLS()
	require.NoError(i.t, err)
	i.server = &tls.Config{Certificates: []tls.Certificate{*certificate}, ClientCAs: authorities.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	own, err := authorities.Program(authority.Worker, time.Now())
	require.NoError(i.t, err)
	for name, data := range map[string][]byte{"ca.crt": authorities.Bundle(), "tls.crt": own.Certificate, "tls.key": own.Key} {
		require.NoError(i.t, os.WriteFile(filepath.Join(i.folder, name), data, 0o600))
	}
}

func (i *installation) connect(client *tls.Config) error {
	i.t.Helper()
	_, err := fixture.Handshake(i.t, client, i.server)
	return err
}

func newInstallation(t *testing.T, serverName string) (*installation, *tls.Config) {
	t.Helper()
	i := &installation{t: t, folder: t.TempDir()}
	i.renew()
	for name, value := range map[string]string{
		"TEMPORAL_CONFIG_FILE": os.DevNull, "TEMPORAL_TLS": "true", "TEMPORAL_TLS_SERVER_NAME": serverName,
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH": filepath.Join(i.folder, "ca.crt"),
		"TEMPORAL_TLS_CLIENT_CERT_PATH":    filepath.Join(i.folder, "tls.crt"),
		"TEMPORAL_TLS_CLIENT_KEY_PATH":     filepath.Join(i.folder, "tls.key"),
	} {
		t.Setenv(name, value)
	}
	options, err := config.Temporal{}.ClientOptions()
	require.NoError(t, err)
	return i, options.ConnectionOptions.TLS
}

func TestCertificatesThatWereRenewedAreUsedWithoutARestart(t *testing.T) {
	i, client := newInstallation(t, "temporal.example")
	require.NoError(t, i.connect(client))
	i.renew()
	require.NoError(t, i.connect(client))
}

func TestTheServerIsCheckedAgainstTheFile(t *testing.T) {
	i, client := newInstallation(t, "another.example")
	assert.ErrorContains(t, i.connect(client), "another.example")

	i, client = newInstallation(t, "temporal.example")
	served := i.server
	i.renew()
	i.server = served
	assert.ErrorContains(t, i.connect(client), "unknown authority")

	require.NoError(t, os.WriteFile(filepath.Join(i.folder, "ca.crt"), []byte("x"), 0o600))
	assert.ErrorContains(t, i.connect(client), "there is no certificate of an authority in")
	require.NoError(t, os.Remove(filepath.Join(i.folder, "ca.crt")))
	assert.ErrorContains(t, i.connect(client), "read Temporal's certificate authorities")
}

// TLS tells no name of a server whose address is an IP address; its certificate must be for that all the same.
func TestTheServerIsCheckedAtAnIPAddress(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "192.0.2.7:7233")
	for _, serverName := range []string{"", "192.0.2.7"} {
		i, client := newInstallation(t, serverName)
		// gRPC fills in the host that it dials.
		client.ServerName = "192.0.2.7"
		assert.ErrorContains(t, i.connect(client), "192.0.2.7", serverName)
		i.serve("192.0.2.7")
		require.NoError(t, i.connect(client), serverName)
	}
}
