package temporalcluster

import (
	"crypto/x509"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

func certificate(t *testing.T, folder spec.Certificates, name string) *x509.Certificate {
	t.Helper()
	parsed, err := readPEM(folder.Certificate(name), x509.ParseCertificate)
	require.NoError(t, err)
	return parsed
}

func TestCertificatesAreMadeOnceAndKeptToTheirOwner(t *testing.T) {
	folder := spec.Certificates(t.TempDir())
	require.NoError(t, makeCertificates(folder))
	before := certificate(t, folder, spec.Worker)
	require.NoError(t, makeCertificates(folder))
	assert.True(t, before.Equal(certificate(t, folder, spec.Worker)))
	for _, name := range []string{spec.ClientAuthority, spec.InternodeAuthority, spec.Worker, spec.FrontendServer} {
		info, err := os.Stat(folder.Key(name))
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o077, "others can read the key of %s", name)
	}
}

// The hosts believe another authority than the frontend does: a client's certificate gets nobody past the authorizer.
func TestAClientIsNoHost(t *testing.T) {
	folder := spec.Certificates(t.TempDir())
	require.NoError(t, makeCertificates(folder))
	for _, test := range []struct {
		name, authority string
		usage           x509.ExtKeyUsage
		valid           bool
	}{
		{spec.Admin, spec.ClientAuthority, x509.ExtKeyUsageClientAuth, true},
		{spec.Admin, spec.ClientAuthority, x509.ExtKeyUsageServerAuth, false},
		{spec.Admin, spec.InternodeAuthority, x509.ExtKeyUsageClientAuth, false},
		{spec.InternodeHost, spec.InternodeAuthority, x509.ExtKeyUsageClientAuth, true},
		{spec.InternodeHost, spec.ClientAuthority, x509.ExtKeyUsageClientAuth, false},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(certificate(t, folder, test.authority))
		_, err := certificate(t, folder, test.name).Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{test.usage}})
		assert.Equal(t, test.valid, err == nil, "%s by %s: %v", test.name, test.authority, err)
	}
}
