package controlplane

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
	"path/filepath"
	"time"
)

// validity is that of every certificate. The keys never leave the folder of the control plane.
const validity = 10 * 365 * 24 * time.Hour

// authority is one of a control plane's certificate authorities. Each is for one door: what the cluster's own signs, which
// kube-controller-manager does too, opens neither etcd nor the kubelet.
type authority struct {
	certificate    *x509.Certificate
	certificatePEM []byte
	key            *ecdsa.PrivateKey
}

// pair is a certificate and its key in PEM.
type pair struct{ certificate, key []byte }

// The files of the authorities, and the names in their certificates.
const (
	clusterAuthority, clusterAuthorityName = "ca", "ostinato-devstack"
	etcdAuthority, etcdAuthorityName       = "etcd/ca", "ostinato-devstack-etcd"
	kubeletAuthority, kubeletAuthorityName = "kubelet/ca", "ostinato-devstack-kubelet"
)

// loadAuthority reads the authority, or makes it where there is none yet.
func loadAuthority(l layout, file, name string) (*authority, error) {
	made, err := loadPair(l, file, func() (pair, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return pair{}, err
		}
		template := certificateTemplate(pkix.Name{CommonName: name})
		template.IsCA = true
		template.BasicConstraintsValid = true
		template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		return sign(template, template, key, key)
	})
	if err != nil {
		return nil, err
	}
	certificate, err := parseCertificate(made.certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", file, err)
	}
	key, err := parseKey(made.key)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", file, err)
	}
	return &authority{certificate: certificate, certificatePEM: made.certificate, key: key}, nil
}

// client issues a certificate by which a server knows the user and the groups.
func (a *authority) client(user string, groups []string) (pair, error) {
	template := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server issues a certificate for the API server and its components.
func (a *authority) server() (pair, error) {
	template := loopbackTemplate()
	template.DNSNames = append(template.DNSNames,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	template.IPAddresses = append(template.IPAddresses, net.IPv4(10, 96, 0, 1))
	return a.issue(template)
}

// loopbackServer issues a certificate for a server on the loopback address.
func (a *authority) loopbackServer() (pair, error) { return a.issue(loopbackTemplate()) }

// loopbackPeer issues a certificate for a server on the loopback address that is a client of its like.
func (a *authority) loopbackPeer() (pair, error) {
	template := loopbackTemplate()
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return a.issue(template)
}

func loopbackTemplate() *x509.Certificate {
	template := certificateTemplate(pkix.Name{CommonName: "127.0.0.1"})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	return template
}

func (a *authority) issue(template *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make a key: %w", err)
	}
	return sign(template, a.certificate, key, a.key)
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity)}
}

// sign makes the certificate of a key, signed by the parent's key.
func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, nil
}

// loadPair reads name.crt and name.key, or makes and keeps them.
func loadPair(l layout, name string, make func() (pair, error)) (pair, error) {
	certificate, certificateErr := os.ReadFile(l.pki(name + ".crt"))
	key, keyErr := os.ReadFile(l.pki(name + ".key"))
	if certificateErr == nil && keyErr == nil {
		return pair{certificate: certificate, key: key}, nil
	}
	for _, err := range []error{certificateErr, keyErr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pair{}, fmt.Errorf("read the certificate %s: %w", name, err)
		}
	}
	made, err := make()
	if err != nil {
		return pair{}, fmt.Errorf("make the certificate %s: %w", name, err)
	}
	if err := writeFile(l.pki(name+".crt"), made.certificate, 0o644); err != nil {
		return pair{}, err
	}
	return made, writeFile(l.pki(name+".key"), made.key, 0o600)
}

// ensureServiceAccountKey makes the key that signs service account tokens, where there is none yet.
func ensureServiceAccountKey(l layout) error {
	if _, err := os.Stat(l.pki("service-account.key")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	data, err := encodeKey(key)
	if err != nil {
		return err
	}
	return writeFile(l.pki("service-account.key"), data, 0o600)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("the certificate is not PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

func parseKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("the key is not PEM")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

// writeFile writes under another name first: a half-written key would be taken for a whole one at the next start.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
