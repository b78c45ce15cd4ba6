package telemetry

import (
	"crypto/tls"
	"fmt"
	"os"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// selfSignedFor is longer than any process lives.
const selfSignedFor = 10 * 365 * 24 * time.Hour

// ServerTLS returns the configuration of a TLS server with the certificate and key
// in two files, which are read for every connection and so may be renewed at any
// time. Without files the certificate is self-signed and lasts as long as the process:
// a client can then not tell the server, but nobody reads along.
func ServerTLS(certificateFile, keyFile string) (*tls.Config, error) {
	load := func() (*tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(certificateFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("load the certificate %s and its key %s: %w", certificateFile, keyFile, err)
		}
		return &certificate, nil
	}
	if certificateFile == "" && keyFile == "" {
		certificate, err := selfSigned()
		if err != nil {
			return nil, fmt.Errorf("make a self-signed certificate: %w", err)
		}
		load = func() (*tls.Certificate, error) { return certificate, nil }
	}
	// A file that can't be read is an error at once.
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
	}, nil
}

func selfSigned() (*tls.Certificate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	certificatePEM, keyPEM, err := certutil.GenerateSelfSignedCertKeyWithOptions(certutil.SelfSignedCertKeyOptions{Host: host, MaxAge: selfSignedFor})
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(certificatePEM, keyPEM)
	return &certificate, err
}
