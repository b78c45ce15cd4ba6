package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
)

// Request is a new key, and a certificate request that it signs, both in PEM. The request names no one: the API server stamps a
// user into it, or its signer knows whom it is for.
type Request struct{ Key, Certificate []byte }

// NewRequest returns a Request.
func NewRequest() (Request, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Request{}, fmt.Errorf("make a key for Temporal: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return Request{}, fmt.Errorf("make a certificate request for Temporal: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Request{}, fmt.Errorf("encode a key for Temporal: %w", err)
	}
	return Request{Key: encode(privateKey, encoded), Certificate: encode("CERTIFICATE REQUEST", der)}, nil
}
