package temporalaccess

import (
	"context"

	"go.temporal.io/server/common/authorization"
)

// both are a caller's claims here and with the authorizer of the other namespaces, where nil is a caller that it does not know.
type both struct{ own, others *authorization.Claims }

// claimMapper makes both.
type claimMapper struct {
	Options
	own authorization.ClaimMapper
}

// GetClaims implements authorization.ClaimMapper. The server's own services are known by their certificate; a token counts before it.
func (m claimMapper) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	certificate := authorization.PeerCert(info.TLSConnection)
	if info.AuthToken == "" && m.Server != "" && certificate != nil && certificate.Subject.CommonName == m.Server {
		return authorization.NewInternalClaimMapper().GetClaims(info)
	}
	own, err := m.own.GetClaims(info)
	if err != nil || m.OthersClaims == nil {
		return &authorization.Claims{Extensions: both{own: own}}, err
	}
	others, err := m.OthersClaims.GetClaims(info)
	if err != nil {
		// A token that is for here is no error there.
		others = nil
	}
	return &authorization.Claims{Extensions: both{own, others}}, nil
}

// authorizer asks the one that a call is for.
type authorizer struct {
	Options
	own authorization.Authorizer
}

// Authorize implements authorization.Authorizer.
func (a authorizer) Authorize(ctx context.Context, claims *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	internal := claims != nil && claims.AuthType == authorization.InternalPrincipalType
	if internal {
		return a.own.Authorize(ctx, claims, target)
	}
	var known both
	if claims != nil {
		known, _ = claims.Extensions.(both)
	}
	if a.Others == nil || target.Namespace == a.Namespace {
		return a.own.Authorize(ctx, known.own, target)
	}
	if target.Namespace == "" {
		result, err := a.own.Authorize(ctx, known.own, target)
		if err == nil && result.Decision == authorization.DecisionAllow {
			return result, nil
		}
	}
	return a.Others.Authorize(ctx, known.others, target)
}
