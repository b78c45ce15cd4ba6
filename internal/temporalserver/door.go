package temporalserver

import (
	"crypto/tls"
	"encoding/base64"
	"maps"
	"time"

	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/rpc/encryption"
	"go.temporal.io/server/temporal"

	"ostinato.dev/ostinato/internal/temporalserver/access"
)

// Door is who may call a server's frontend, and how it is reached.
type Door struct {
	// TLS is the configuration of the frontend. Clients may come without a certificate.
	TLS *tls.Config
	// Authorities are the certificates, in PEM, by which the Web UI knows the frontend as localhost.
	Authorities []byte
	ClaimMapper authorization.ClaimMapper
	Authorizer  authorization.Authorizer
}

// options are those of a server behind the door. The server's own services use a frontend of their own, on the loopback address.
func (d *Door) options(own inner) []temporal.ServerOption {
	if d == nil {
		return []temporal.ServerOption{temporal.WithAuthorizer(authorization.NewNoopAuthorizer())}
	}
	return []temporal.ServerOption{
		temporal.WithAuthorizer(d.Authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return d.ClaimMapper }),
		temporal.WithTLSConfigFactory(serverTLS{frontend: d.TLS, inner: own}),
		temporal.WithChainedFrontendGrpcInterceptors(access.StampCaller),
	}
}

// dynamicOverrides adds to overrides that a caller hears why it is refused, and that histories name it.
func (d *Door) dynamicOverrides(overrides map[string]any) map[string]any {
	if d == nil {
		return overrides
	}
	all := map[string]any{
		dynamicconfig.ExposeAuthorizerErrors.Key().String():     true,
		dynamicconfig.EnablePrincipalPropagation.Key().String(): true,
	}
	maps.Copy(all, overrides)
	return all
}

// ui is how the Web UI reaches the frontend. It has no credential: it passes on that of the person before it.
func (d *Door) ui() uiconfig.TLS {
	if d == nil {
		return uiconfig.TLS{}
	}
	return uiconfig.TLS{CaData: base64.StdEncoding.EncodeToString(d.Authorities), EnableHostVerification: true, ServerName: "localhost"}
}

// serverTLS is TLS at the frontend, and between the services of the server.
type serverTLS struct {
	frontend *tls.Config
	inner    inner
}

// GetFrontendServerConfig implements encryption.TLSConfigProvider, as the others do.
func (s serverTLS) GetFrontendServerConfig() (*tls.Config, error) { return s.frontend, nil }

// GetInternodeServerConfig is that of the services, the frontend of their own among them.
func (s serverTLS) GetInternodeServerConfig() (*tls.Config, error) { return s.inner.server, nil }

// GetInternodeClientConfig is that of the services' clients.
func (s serverTLS) GetInternodeClientConfig() (*tls.Config, error) { return s.inner.client, nil }

// GetFrontendClientConfig is none: no service calls the frontend of others.
func (serverTLS) GetFrontendClientConfig() (*tls.Config, error) { return nil, nil }

// GetRemoteClusterClientConfig is none.
func (serverTLS) GetRemoteClusterClientConfig(string) (*tls.Config, error) { return nil, nil }

// GetExpiringCerts has nothing to say.
func (serverTLS) GetExpiringCerts(time.Duration) (expiring, expired encryption.CertExpirationMap, err error) {
	return nil, nil, nil
}
