package temporalaccess

import (
	"crypto/tls"

	"go.temporal.io/server/common/rpc/encryption"
)

// WithPeople is a server's TLS whose frontend lets clients come without a certificate where it requires one: people come with a token. It
// verifies those that come. Temporal's own configuration knows a frontend that requires certificates, and one that takes none.
func WithPeople(configured encryption.TLSConfigProvider) encryption.TLSConfigProvider {
	return provider{configured}
}

type provider struct{ encryption.TLSConfigProvider }

// GetFrontendServerConfig implements encryption.TLSConfigProvider.
func (p provider) GetFrontendServerConfig() (*tls.Config, error) {
	required, err := p.TLSConfigProvider.GetFrontendServerConfig()
	return optional(required), err
}

func optional(required *tls.Config) *tls.Config {
	if required == nil {
		return nil
	}
	changed := required.Clone()
	if changed.ClientAuth == tls.RequireAndVerifyClientCert {
		changed.ClientAuth = tls.VerifyClientCertIfGiven
	}
	perClient := required.GetConfigForClient
	if perClient != nil {
		changed.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			forClient, err := perClient(hello)
			return optional(forClient), err
		}
	}
	return changed
}
