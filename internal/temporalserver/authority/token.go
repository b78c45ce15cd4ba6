package authority

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Audience is that of tokens for Temporal. The API server takes none that has it for itself.
const Audience = "ostinato-temporal"

// ErrAnotherToken says that a token brings no certificate: the API server may know it.
var ErrAnotherToken = errors.New("the token brings no certificate")

// Token returns a token of a person's certificate, for clients that can't present one. It is good as long as the certificate is.
func (p Pair) Token() (string, error) {
	pair, err := p.TLS()
	if err != nil {
		return "", err
	}
	chain := []string{base64.StdEncoding.EncodeToString(pair.Leaf.Raw)}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: pair.PrivateKey}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("x5c", chain))
	if err != nil {
		return "", fmt.Errorf("sign a token for Temporal: %w", err)
	}
	return jwt.Signed(signer).Claims(jwt.Claims{Audience: jwt.Audience{Audience}, Expiry: jwt.NewNumericDate(pair.Leaf.NotAfter)}).Serialize()
}

// User returns whom a Token names. It is ErrAnotherToken if the token is of another kind.
func (a Authorities) User(token string, now time.Time) (Identity, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return Identity{}, ErrAnotherToken
	}
	err = alone(token)
	if err != nil {
		return Identity{}, err
	}
	chains, err := parsed.Headers[0].Certificates(x509.VerifyOptions{
		Roots: a.Pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if errors.Is(err, jose.ErrMissingX5cHeader) {
		return Identity{}, ErrAnotherToken
	}
	if err != nil {
		return Identity{}, fmt.Errorf("check a token's certificate: %w", err)
	}
	leaf := chains[0][0]
	var claims jwt.Claims
	err = parsed.Claims(leaf.PublicKey, &claims)
	if err != nil {
		return Identity{}, fmt.Errorf("check a token's signature: %w", err)
	}
	err = claims.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{Audience}, Time: now}, 0)
	if err != nil {
		return Identity{}, fmt.Errorf("check a token's audience and end: %w", err)
	}
	identity, err := IdentityOf(leaf)
	if err == nil && identity.User == nil {
		err = errors.New("programs have no tokens")
	}
	return identity, err
}

// alone returns an error for a token that brings certificates of authorities. To check their signatures may take half a minute.
func alone(token string) error {
	header, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return ErrAnotherToken
	}
	// By a map, since fields would be matched in lower and upper case.
	var fields map[string]json.RawMessage
	err = json.Unmarshal(text, &fields)
	if err != nil {
		return ErrAnotherToken
	}
	var chain []json.RawMessage
	err = json.Unmarshal(fields["x5c"], &chain)
	if err == nil && len(chain) > 1 {
		return fmt.Errorf("the token brings %d certificates; it may bring its own alone", len(chain))
	}
	return nil
}
