package temporalcluster

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Access is how a program reaches a Temporal server.
type Access struct {
	// Address is the frontend's.
	Address string
	// Authority, Certificate and Key are files; all are empty where there is no TLS.
	Authority, Certificate, Key string
}

// Environment returns the settings of Temporal's SDK and of the temporal command.
func (a Access) Environment() []string {
	environment := []string{"TEMPORAL_ADDRESS=" + a.Address}
	if a.Certificate == "" {
		return environment
	}
	return append(environment,
		"TEMPORAL_TLS=true",
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH="+a.Authority,
		"TEMPORAL_TLS_CLIENT_CERT_PATH="+a.Certificate,
		"TEMPORAL_TLS_CLIENT_KEY_PATH="+a.Key,
	)
}

// TLS returns a client's configuration, nil where there is no TLS.
func (a Access) TLS() (*tls.Config, error) {
	if a.Authority == "" {
		return nil, nil
	}
	authority, err := os.ReadFile(a.Authority)
	if err != nil {
		return nil, fmt.Errorf("read Temporal's authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", a.Authority)
	}
	configuration := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if a.Certificate == "" {
		return configuration, nil
	}
	pair, err := tls.LoadX509KeyPair(a.Certificate, a.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for Temporal: %w", err)
	}
	configuration.Certificates = []tls.Certificate{pair}
	return configuration, nil
}
