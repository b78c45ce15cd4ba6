package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Types of PEM blocks.
const (
	certificate = "CERTIFICATE"
	privateKey  = "PRIVATE KEY"
)

// Pair is a certificate and its key in PEM.
type Pair struct{ Certificate, Key []byte }

// TLS returns the pair as TLS uses it.
func (p Pair) TLS() (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, fmt.Errorf("read a certificate and its key: %w", err)
	}
	return &pair, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Keys is the keys of all authorities in PEM, in the order of Bundle.
func (a Authorities) Keys() ([]byte, error) {
	var keys bytes.Buffer
	for _, one := range a {
		der, err := x509.MarshalPKCS8PrivateKey(one.key)
		if err != nil {
			return nil, fmt.Errorf("encode the key of an authority: %w", err)
		}
		keys.Write(encode(privateKey, der))
	}
	return keys.Bytes(), nil
}

// Read returns the authorities of a Bundle and its Keys. The error says what is wrong with them.
func Read(bundle, keys []byte) (Authorities, error) {
	var read Authorities
	for {
		var certified, keyed *pem.Block
		certified, bundle = pem.Decode(bundle)
		keyed, keys = pem.Decode(keys)
		if certified == nil && keyed == nil {
			break
		}
		if certified == nil || keyed == nil {
			return nil, errors.New("authorities have not as many keys as certificates")
		}
		one, err := readOne(certified.Bytes, keyed.Bytes)
		if err != nil {
			return nil, err
		}
		read = append(read, one)
	}
	if len(read) == 0 {
		return nil, errors.New("there is no authority in PEM")
	}
	return read, nil
}

func readOne(certified, keyed []byte) (authority, error) {
	parsed, err := x509.ParseCertificate(certified)
	if err != nil {
		return authority{}, fmt.Errorf("read the certificate of an authority: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyed)
	if err != nil {
		return authority{}, fmt.Errorf("read the key of an authority: %w", err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(parsed.PublicKey) {
		return authority{}, errors.New("the key of an authority is not that of its certificate")
	}
	return authority{certificate: parsed, key: private}, nil
}
