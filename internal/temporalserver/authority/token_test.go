package authority_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

var ada = authority.Identity{User: &authenticationv1.UserInfo{Username: "ada"}}

// person is ada's certificate and key.
func person(t *testing.T, a authority.Authorities) authority.Pair {
	t.Helper()
	made, err := authority.NewRequest()
	require.NoError(t, err)
	signed, err := a.Person(ada, made.Certificate, start)
	require.NoError(t, err)
	return authority.Pair{Certificate: signed, Key: made.Key}
}

func token(t *testing.T, pair authority.Pair) string {
	t.Helper()
	made, err := pair.Token()
	require.NoError(t, err)
	return made
}

func TestATokenNamesThePersonOfItsCertificate(t *testing.T) {
	authorities := renewed(t, nil, start)
	made := token(t, person(t, authorities))
	identity, err := authorities.User(made, start)
	require.NoError(t, err)
	assert.Equal(t, ada, identity)
	_, err = authorities.User(made, start.Add(11*time.Minute))
	assert.Error(t, err, "it ends with the certificate")
}

// signed is a token that a caller has made up.
func signed(t *testing.T, certificate, key authority.Pair, claims jwt.Claims) string {
	t.Helper()
	leaf, err := certificate.TLS()
	require.NoError(t, err)
	keyed, err := key.TLS()
	require.NoError(t, err)
	chain := []string{base64.StdEncoding.EncodeToString(leaf.Leaf.Raw)}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: keyed.PrivateKey}, (&jose.SignerOptions{}).WithHeader("x5c", chain))
	require.NoError(t, err)
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return text
}

func TestTokensThatNameNoPerson(t *testing.T) {
	authorities, others := renewed(t, nil, start), renewed(t, nil, start)
	own, stranger := person(t, authorities), person(t, others)
	worker, err := authorities.Program(authority.Worker, start)
	require.NoError(t, err)
	good := jwt.Claims{Audience: jwt.Audience{authority.Audience}, Expiry: jwt.NewNumericDate(start.Add(time.Minute))}
	past, elsewhere := good, good
	past.Expiry = jwt.NewNumericDate(start.Add(-time.Minute))
	elsewhere.Audience = jwt.Audience{"vault"}
	for want, made := range map[string]string{
		"check a token's certificate":      token(t, stranger),
		"check a token's signature":        signed(t, own, stranger, good),
		"check a token's audience and end": signed(t, own, own, past),
		"audience":                         signed(t, own, own, elsewhere),
		"programs have no tokens":          token(t, worker),
		"brings no certificate":            "x.y.z",
	} {
		_, err := authorities.User(made, start)
		assert.ErrorContains(t, err, want)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte("0123456789abcdef0123456789abcdef")}, nil)
	require.NoError(t, err)
	symmetric, err := jwt.Signed(signer).Claims(good).Serialize()
	require.NoError(t, err)
	_, err = authorities.User(symmetric, start)
	assert.ErrorIs(t, err, authority.ErrAnotherToken)
}

// A chain would have the server check signatures by keys of the caller's, and a long key takes half a minute.
func TestATokenBringsNoAuthorityOfItsOwn(t *testing.T) {
	authorities := renewed(t, nil, start)
	pair, err := person(t, authorities).TLS()
	require.NoError(t, err)
	own := base64.StdEncoding.EncodeToString(pair.Leaf.Raw)
	for name, headers := range map[string]map[jose.HeaderKey]any{
		"a chain":                {"x5c": []string{own, own}},
		"a chain behind another": {"x5c": []string{own, own}, "X5C": []string{own}},
	} {
		options := (&jose.SignerOptions{}).WithType("JWT")
		for key, value := range headers {
			options = options.WithHeader(key, value)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: pair.PrivateKey}, options)
		require.NoError(t, err)
		made, err := jwt.Signed(signer).Claims(jwt.Claims{Audience: jwt.Audience{authority.Audience}, Expiry: jwt.NewNumericDate(start.Add(time.Minute))}).Serialize()
		require.NoError(t, err)
		_, err = authorities.User(made, start)
		assert.ErrorContains(t, err, "2 certificates", name)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJFUzI1NiIsIng1YyI6WyJBIl19.e30.AA")
	authorities, _, err := authority.Authorities(nil).Renew(start)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		identity, err := authorities.User(text, start)
		if err == nil {
			t.Errorf("%q names %v", text, identity)
		}
	})
}
