package authority

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Lifetimes of certificates.
const (
	AuthorityLifetime = 10 * 365 * 24 * time.Hour
	LeafLifetime      = 90 * 24 * time.Hour
	PersonLifetime    = 10 * time.Minute
)

// skew is how far a certificate begins in the past, for clocks that are behind.
const skew = 5 * time.Minute

// settling is how long a new authority is known before it signs: until then its certificate has reached every process.
const settling = 24 * time.Hour

// Authorities are those of an installation, the newest last: one, or while it is renewed two. Certificates of all are believed.
type Authorities []authority

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Renew returns the authorities that an installation has from now on, and whether they differ: a new one beside an old one that
// is in the last third of its life, and none that has expired.
func (a Authorities) Renew(now time.Time) (Authorities, bool, error) {
	var kept Authorities
	for _, one := range a {
		if now.Before(one.certificate.NotAfter) {
			kept = append(kept, one)
		}
	}
	changed := len(kept) != len(a)
	if len(kept) > 0 && !Due(kept[len(kept)-1].certificate, now) {
		return kept, changed, nil
	}
	created, err := create(now)
	if err != nil {
		return nil, false, err
	}
	return append(kept, created), true, nil
}

// Due reports whether a certificate is in the last third of its life, or not yet valid.
func Due(certificate *x509.Certificate, now time.Time) bool {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return now.Before(certificate.NotBefore) || now.After(certificate.NotAfter.Add(-life/3))
}

func create(now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("make a key of an authority: %w", err)
	}
	template, err := template(pkix.Name{CommonName: "ostinato-temporal"}, now, AuthorityLifetime)
	if err != nil {
		return authority{}, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return authority{}, fmt.Errorf("make the certificate of an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("read the certificate of an authority: %w", err)
	}
	return authority{certificate: certificate, key: key}, nil
}

// signer is the newest authority that every process knows, of those that are valid.
func (a Authorities) signer(now time.Time) (authority, error) {
	var signer authority
	for _, one := range a {
		if now.Before(one.certificate.NotBefore) || now.After(one.certificate.NotAfter) {
			continue
		}
		if signer.key == nil || now.Sub(one.certificate.NotBefore) > settling {
			signer = one
		}
	}
	if signer.key == nil {
		return authority{}, errors.New("no authority is valid now")
	}
	return signer, nil
}

// Signs reports whether a certificate is of the authority that signs now.
func (a Authorities) Signs(leaf *x509.Certificate, now time.Time) bool {
	signer, err := a.signer(now)
	return err == nil && leaf.CheckSignatureFrom(signer.certificate) == nil
}

// Program returns a new certificate and key of Worker or Bridge.
func (a Authorities) Program(program string, now time.Time) (Pair, error) {
	return a.pair(Identity{Program: program}, nil, nil, now)
}

// Server returns a new certificate and key of the server, for clients that dial one of the names or addresses.
func (a Authorities) Server(dnsNames []string, addresses []net.IP, now time.Time) (Pair, error) {
	return a.pair(Identity{}, dnsNames, addresses, now)
}

func (a Authorities) pair(identity Identity, dnsNames []string, addresses []net.IP, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key of %q: %w", identity.Name(), err)
	}
	name := pkix.Name{CommonName: "ostinato-temporal"}
	if len(dnsNames) == 0 {
		name.CommonName = identity.Name()
	}
	leaf, err := template(name, now, LeafLifetime)
	if err != nil {
		return Pair{}, err
	}
	if len(dnsNames) > 0 {
		leaf.DNSNames, leaf.IPAddresses = dnsNames, addresses
		leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	} else {
		extension, err := identity.extension()
		if err != nil {
			return Pair{}, err
		}
		leaf.ExtraExtensions = []pkix.Extension{extension}
		leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	certificate, err := a.sign(leaf, &key.PublicKey, now)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode the key of %q: %w", identity.Name(), err)
	}
	return Pair{Certificate: certificate, Key: encode(privateKey, der)}, nil
}

// maxRequest bounds a certificate request, and so its key: checking a signature takes half a minute with the longest that an object of
// the API server's holds.
const maxRequest = 16 << 10

// Person returns a certificate of a user for the key with which a request in PEM is signed. Nothing else of the request counts.
func (a Authorities) Person(identity Identity, request []byte, now time.Time) ([]byte, error) {
	if len(request) > maxRequest {
		return nil, fmt.Errorf("the request has %d bytes, and at most %d are taken", len(request), maxRequest)
	}
	block, _ := pem.Decode(request)
	if block == nil {
		return nil, errors.New("the request is not PEM")
	}
	read, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate request of %q: %w", identity.Name(), err)
	}
	err = read.CheckSignature()
	if err != nil {
		return nil, fmt.Errorf("check the certificate request of %q: %w", identity.Name(), err)
	}
	leaf, err := template(pkix.Name{CommonName: "user"}, now, PersonLifetime)
	if err != nil {
		return nil, err
	}
	extension, err := identity.extension()
	if err != nil {
		return nil, err
	}
	leaf.ExtraExtensions = []pkix.Extension{extension}
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(leaf, read.PublicKey, now)
}

func (a Authorities) sign(leaf *x509.Certificate, public crypto.PublicKey, now time.Time) ([]byte, error) {
	signer, err := a.signer(now)
	if err != nil {
		return nil, err
	}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, leaf, signer.certificate, public, signer.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %q: %w", leaf.Subject.CommonName, err)
	}
	return encode(certificate, der), nil
}

func template(name pkix.Name, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return &x509.Certificate{SerialNumber: serial, Subject: name, NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime)}, nil
}

// Bundle is the certificates of all authorities in PEM, for clients and servers to believe.
func (a Authorities) Bundle() []byte {
	var bundle bytes.Buffer
	for _, one := range a {
		bundle.Write(encode(certificate, one.certificate.Raw))
	}
	return bundle.Bytes()
}

// Pool is the certificates of all authorities.
func (a Authorities) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, one := range a {
		pool.AddCert(one.certificate)
	}
	return pool
}
