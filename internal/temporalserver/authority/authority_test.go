package authority_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

const day = 24 * time.Hour

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func renewed(t *testing.T, before authority.Authorities, now time.Time) authority.Authorities {
	t.Helper()
	after, _, err := before.Renew(now)
	require.NoError(t, err)
	return after
}

func parsed(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(data)
	require.NotNil(t, block)
	require.Empty(t, rest)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return certificate
}

// verify reports whether a holder of the authorities' certificates believes a client's.
func verify(holder authority.Authorities, certificate *x509.Certificate, now time.Time) error {
	_, err := certificate.Verify(x509.VerifyOptions{
		Roots: holder.Pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

func program(t *testing.T, a authority.Authorities, now time.Time) *x509.Certificate {
	t.Helper()
	pair, err := a.Program(authority.Worker, now)
	require.NoError(t, err)
	_, err = pair.TLS()
	require.NoError(t, err)
	return parsed(t, pair.Certificate)
}

func TestACertificateNamesTheProgram(t *testing.T) {
	authorities := renewed(t, nil, start)
	certificate := program(t, authorities, start)
	require.NoError(t, verify(authorities, certificate, start))
	identity, err := authority.IdentityOf(certificate)
	require.NoError(t, err)
	assert.Equal(t, authority.Identity{Program: authority.Worker}, identity)
	assert.Error(t, verify(authorities, certificate, start.Add(91*day)), "it ends after 90 days")
	assert.Error(t, verify(renewed(t, nil, start), certificate, start), "another installation's authority does not know it")
}

func TestOnlyTheTwoProgramsAreNamed(t *testing.T) {
	authorities := renewed(t, nil, start)
	for _, name := range []string{"", "ui", "Worker"} {
		_, err := authorities.Program(name, start)
		assert.Error(t, err, name)
	}
}

func TestAServersCertificateIsNoClients(t *testing.T) {
	authorities := renewed(t, nil, start)
	pair, err := authorities.Server([]string{"ostinato-temporal"}, nil, start)
	require.NoError(t, err)
	certificate := parsed(t, pair.Certificate)
	assert.Error(t, verify(authorities, certificate, start))
	require.NoError(t, certificate.VerifyHostname("ostinato-temporal"))
	_, err = authority.IdentityOf(certificate)
	assert.ErrorContains(t, err, "names no identity")
}

// request is a certificate request for another name.
func request(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "worker", Organization: []string{"system:masters"}}, DNSNames: []string{"ostinato-temporal"},
	}, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func TestAPersonIsWhomTheAPIServerNames(t *testing.T) {
	authorities := renewed(t, nil, start)
	ada := authority.Identity{User: &authenticationv1.UserInfo{
		Username: "worker", UID: "u", Groups: []string{"team"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}},
	}}
	data, err := authorities.Person(ada, request(t), start)
	require.NoError(t, err)
	certificate := parsed(t, data)
	require.NoError(t, verify(authorities, certificate, start))
	assert.Error(t, verify(authorities, certificate, start.Add(11*time.Minute)))
	identity, err := authority.IdentityOf(certificate)
	require.NoError(t, err)
	assert.Equal(t, ada, identity, "a user of a program's name is that user")
	assert.Empty(t, certificate.Subject.Organization)
	assert.Empty(t, certificate.DNSNames)
}

func TestAPersonsRequestIsRefused(t *testing.T) {
	authorities := renewed(t, nil, start)
	ada := authority.Identity{User: &authenticationv1.UserInfo{Username: "ada"}}
	good := request(t)
	block, _ := pem.Decode(good)
	forged := append([]byte{}, block.Bytes...)
	forged[len(forged)-1] ^= 1
	for name, test := range map[string]struct {
		identity authority.Identity
		request  []byte
	}{
		"no PEM":                {ada, []byte("x")},
		"no request":            {ada, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")})},
		"a key of someone else": {ada, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: forged})},
		"too long":              {ada, append(bytes.Repeat([]byte("x\n"), 8<<10), good...)},
		"no name":               {authority.Identity{User: &authenticationv1.UserInfo{}}, good},
		"a program as well":     {authority.Identity{Program: authority.Worker, User: ada.User}, good},
	} {
		_, err := authorities.Person(test.identity, test.request, start)
		assert.Error(t, err, name)
	}
}

// Each process knows the new authority a day before the first certificate that it signs.
func TestAnAuthorityIsRenewedBesideTheOldOne(t *testing.T) {
	old := renewed(t, nil, start)
	late := start.Add(authority.AuthorityLifetime * 2 / 3)
	same, changed, err := old.Renew(late.Add(-day))
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Equal(t, old.Bundle(), same.Bundle())

	both, changed, err := old.Renew(late.Add(day))
	require.NoError(t, err)
	require.True(t, changed)
	require.Len(t, both, 2)
	settled := late.Add(day)
	require.NoError(t, verify(old, program(t, both, settled), settled), "who has only the old one believes what is signed at once")
	settled = settled.Add(2 * day)
	later := program(t, both, settled)
	require.NoError(t, verify(both, later, settled))
	assert.Error(t, verify(old, later, settled), "the new one signs a day later")
	require.NoError(t, verify(both, program(t, old, settled), settled), "the old one's are believed as long as they last")

	_, changed, err = both.Renew(settled)
	require.NoError(t, err)
	assert.False(t, changed)
	expired := start.Add(authority.AuthorityLifetime + day)
	alone := renewed(t, both, expired)
	require.Len(t, alone, 1)
	require.NoError(t, verify(alone, program(t, alone, expired), expired))
}

func TestAClockThatWasAheadIsNoTrouble(t *testing.T) {
	ahead := renewed(t, nil, start.Add(100*day))
	both := renewed(t, ahead, start)
	require.Len(t, both, 2)
	require.NoError(t, verify(both, program(t, both, start), start))
	_, err := ahead.Program(authority.Worker, start)
	assert.ErrorContains(t, err, "no authority is valid now")
}

func TestAuthoritiesAreReadBack(t *testing.T) {
	written := renewed(t, renewed(t, nil, start), start.Add(authority.AuthorityLifetime*5/6))
	require.Len(t, written, 2)
	keys, err := written.Keys()
	require.NoError(t, err)
	read, err := authority.Read(written.Bundle(), keys)
	require.NoError(t, err)
	assert.Equal(t, written.Bundle(), read.Bundle())

	other, err := renewed(t, nil, start).Keys()
	require.NoError(t, err)
	for name, test := range map[string]struct{ bundle, keys []byte }{
		"nothing":                {nil, nil},
		"no PEM":                 {[]byte("x"), []byte("y")},
		"keys are missing":       {written.Bundle(), other},
		"keys of another":        {renewed(t, nil, start).Bundle(), other},
		"the bundle is cut":      {written.Bundle()[:40], keys},
		"a key for no authority": {renewed(t, nil, start).Bundle(), keys},
		"no certificate":         {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), other},
		"no key":                 {renewed(t, nil, start).Bundle(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})},
	} {
		_, err := authority.Read(test.bundle, test.keys)
		assert.Error(t, err, name)
	}
}
