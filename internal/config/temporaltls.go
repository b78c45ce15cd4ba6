package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// renewTLS makes a client read the files of its certificate and of the authorities anew for each connection, so that those that
// are renewed need no restart.
func renewTLS(options *client.Options) error {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return fmt.Errorf("read the Temporal settings (TEMPORAL_TLS_* variables and profile file): %w", err)
	}
	settings, files := options.ConnectionOptions.TLS, profile.TLS
	if settings == nil || files == nil {
		return nil
	}
	if files.ClientCertPath != "" {
		settings.Certificates = nil
		settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(files.ClientCertPath, files.ClientKeyPath)
			return &pair, err
		}
	}
	if files.ServerCACertPath != "" && !files.DisableHostVerification {
		// Go takes roots as they are at the start, so the check of the server is done here, with what the file has now.
		settings.RootCAs, settings.InsecureSkipVerify = nil, true
		dialled := cmp.Or(settings.ServerName, hostOf(options.ConnectionOptions.Authority), hostOf(options.HostPort))
		settings.VerifyConnection = func(connection tls.ConnectionState) error {
			// A connection has no name for an IP address.
			return verifyServer(connection, cmp.Or(connection.ServerName, dialled), files.ServerCACertPath)
		}
	}
	return nil
}

// hostOf is the host of host:port, which may be a gRPC target.
func hostOf(address string) string {
	address = address[strings.LastIndex(address, "/")+1:]
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// verifyServer does what crypto/tls does with the authorities of a file.
func verifyServer(connection tls.ConnectionState, name, authorities string) error {
	if name == "" {
		return errors.New("which server to expect is not known; set TEMPORAL_TLS_SERVER_NAME")
	}
	data, err := os.ReadFile(authorities)
	if err != nil {
		return fmt.Errorf("read Temporal's certificate authorities: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return fmt.Errorf("there is no certificate of an authority in %s", authorities)
	}
	if len(connection.PeerCertificates) == 0 {
		return errors.New("the Temporal server has no certificate")
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: name, Intermediates: x509.NewCertPool()}
	for _, certificate := range connection.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err = connection.PeerCertificates[0].Verify(options)
	return err
}
