package temporalserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// inner is how the services of one server know one another behind a Door: by a certificate that is nowhere but in the memory of their
// process. A person who forwards a Pod's ports reaches its loopback address too. The zero value is for a server without a Door, whose
// services take everyone.
type inner struct{ server, client *tls.Config }

// newInner draws the certificate. Only its key counts, at both ends, so it has no end and the clock may say what it will.
func newInner() (inner, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return inner{}, fmt.Errorf("make a key of the Temporal server's own services: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return inner{}, fmt.Errorf("make a certificate of the Temporal server's own services: %w", err)
	}
	own := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	verify := func(connection tls.ConnectionState) error {
		if len(connection.PeerCertificates) == 0 || !bytes.Equal(connection.PeerCertificates[0].Raw, der) {
			return errors.New("the peer is no service of this Temporal server")
		}
		return nil
	}
	return inner{
		server: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: own, ClientAuth: tls.RequireAnyClientCert, VerifyConnection: verify, NextProtos: []string{"h2"},
		},
		// VerifyConnection does what is skipped.
		client: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: own, InsecureSkipVerify: true, VerifyConnection: verify},
	}, nil
}

// credentials are those of a client of the services.
func (i inner) credentials() credentials.TransportCredentials {
	if i.client == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(i.client)
}
