package temporalcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

// validity is that of every certificate. The keys never leave the cluster's folder.
const validity = 10 * 365 * 24 * time.Hour

// Authority signs certificates, and keeps them in a folder.
type Authority struct {
	folder      spec.Certificates
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// LoadAuthority reads the authority of that name, or makes it where there is none.
func LoadAuthority(folder spec.Certificates, name string) (*Authority, error) {
	a := &Authority{folder: folder}
	if err := a.ensure(name, authorityTemplate(name)); err != nil {
		return nil, err
	}
	certificate, err := readPEM(folder.Certificate(name), x509.ParseCertificate)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(folder.Key(name), x509.ParseECPrivateKey)
	if err != nil {
		return nil, err
	}
	a.certificate, a.key = certificate, key
	return a, nil
}

// Client ensures that the folder holds a certificate by which a server knows the name.
func (a *Authority) Client(name string) error {
	return a.ensure(name, template(name, x509.ExtKeyUsageClientAuth))
}

// Server ensures that the folder holds a certificate for a server on the loopback addresses.
func (a *Authority) Server(file, name string) error {
	// Hosts call one another: they are clients too.
	t := template(name, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	t.DNSNames = []string{name, "localhost"}
	t.IPAddresses = []net.IP{net.ParseIP(spec.IP(0)), net.ParseIP(spec.IP(1))}
	return a.ensure(file, t)
}

func template(name string, usage ...x509.ExtKeyUsage) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage,
	}
}

func authorityTemplate(name string) *x509.Certificate {
	t := template(name)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign
	return t
}

// ensure makes a certificate and its key, unless both are there. The key is written first: a certificate is never
// without its key.
func (a *Authority) ensure(file string, template *x509.Certificate) error {
	if _, err := os.Stat(a.folder.Certificate(file)); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("certificate %s: %w", file, err)
	}
	if err := a.issue(file, template); err != nil {
		return fmt.Errorf("make the certificate %s: %w", file, err)
	}
	return nil
}

func (a *Authority) issue(file string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126)); err != nil {
		return err
	}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(a.folder), 0o700); err != nil {
		return err
	}
	if err := writePEM(a.folder.Key(file), "EC PRIVATE KEY", encoded); err != nil {
		return err
	}
	return writePEM(a.folder.Certificate(file), "CERTIFICATE", certificate)
}

// writePEM writes under another name first: half a file would be taken for a whole one at the next start.
func writePEM(path, kind string, data []byte) error {
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

func readPEM[T any](path string, parse func([]byte) (T, error)) (parsed T, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return parsed, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return parsed, fmt.Errorf("%s is not PEM", path)
	}
	return parse(block.Bytes)
}

// makeCertificates makes what is missing of a cluster's certificates.
func makeCertificates(folder spec.Certificates) error {
	clients, err := LoadAuthority(folder, spec.ClientAuthority)
	if err != nil {
		return err
	}
	hosts, err := LoadAuthority(folder, spec.InternodeAuthority)
	if err != nil {
		return err
	}
	problems := []error{
		clients.Server(spec.FrontendServer, spec.FrontendServer),
		hosts.Server(spec.InternodeHost, spec.InternodeName),
	}
	for _, name := range []string{spec.Admin, spec.System, spec.Worker, spec.Bridge, spec.Viewer} {
		problems = append(problems, clients.Client(name))
	}
	return errors.Join(problems...)
}
