package authority

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// Programs that have certificates.
const (
	Worker = "worker"
	Bridge = "bridge"
)

// Identity is whom a certificate names: a program or a user of the Kubernetes API server, never both.
type Identity struct {
	// Program is Worker or Bridge.
	Program string `json:"program,omitempty"`
	// User is a person or a ServiceAccount, as the API server has stamped it.
	User *authenticationv1.UserInfo `json:"user,omitempty"`
}

// Name is how the identity is shown.
func (i Identity) Name() string {
	if i.User != nil {
		return i.User.Username
	}
	return i.Program
}

func (i Identity) validate() error {
	known := i.Program == Worker || i.Program == Bridge
	if i.User == nil && known || i.User != nil && i.Program == "" && i.User.Username != "" {
		return nil
	}
	return fmt.Errorf("identity of %q is that of neither a program nor a user", i.Name())
}

// identityExtension holds an Identity as JSON. A subject could not tell a user of the name of a program from that program. It is
// of the arc for UUIDs, from the UUID 5a4dd3b3-7e2b-5e7d-8f0c-6d0a7ad4bb1e cut to 31 bits.
var identityExtension = asn1.ObjectIdentifier{2, 25, 1515049907, 1}

func (i Identity) extension() (pkix.Extension, error) {
	err := i.validate()
	if err != nil {
		return pkix.Extension{}, err
	}
	value, err := json.Marshal(i)
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode the identity of %q: %w", i.Name(), err)
	}
	return pkix.Extension{Id: identityExtension, Value: value}, nil
}

// IdentityOf returns whom a certificate names that an Authority has issued. Whether one has is for the caller to verify.
func IdentityOf(certificate *x509.Certificate) (Identity, error) {
	for _, extension := range certificate.Extensions {
		if !extension.Id.Equal(identityExtension) {
			continue
		}
		var identity Identity
		err := json.Unmarshal(extension.Value, &identity)
		if err != nil {
			return Identity{}, fmt.Errorf("decode the identity of certificate %q: %w", certificate.Subject, err)
		}
		return identity, identity.validate()
	}
	return Identity{}, errors.New("the certificate names no identity")
}
