package access

import (
	"crypto/x509"
	"strings"

	"go.temporal.io/server/common/authorization"
)

// credential is what a caller comes with. Who that is the authorizer asks, which has a context and the caller's address.
type credential struct {
	token       string
	certificate *x509.Certificate
}

// claimMapper takes credentials as they are.
type claimMapper struct{}

// GetClaims implements authorization.ClaimMapper. A token counts before a certificate, as the Web UI passes on that of the
// person before it.
func (claimMapper) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	brought := credential{certificate: authorization.PeerCert(info.TLSConnection)}
	scheme, token, _ := strings.Cut(info.AuthToken, " ")
	if strings.EqualFold(scheme, "Bearer") {
		brought.token = strings.TrimSpace(token)
	}
	return &authorization.Claims{Extensions: brought}, nil
}
