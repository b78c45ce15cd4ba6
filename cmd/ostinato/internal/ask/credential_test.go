package ask

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// signing is an API server and a Temporal server, which answers requests.
func signing(answer func(request *certificatesv1.CertificateSigningRequest) error) (*credential, *[]*certificatesv1.CertificateSigningRequest) {
	client, made := fake.NewClientset(), &[]*certificatesv1.CertificateSigningRequest{}
	client.PrependReactor("create", "certificatesigningrequests", func(action clienttesting.Action) (bool, runtime.Object, error) {
		request := action.(clienttesting.CreateAction).GetObject().(*certificatesv1.CertificateSigningRequest).DeepCopy()
		request.Name = request.GenerateName + "x"
		err := answer(request)
		*made = append(*made, request)
		return true, request, err
	})
	client.PrependReactor("get", "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, (*made)[len(*made)-1], nil
	})
	return &credential{requests: client.CertificatesV1().CertificateSigningRequests()}, made
}

// sign is what a Temporal server does.
func sign(t *testing.T) func(*certificatesv1.CertificateSigningRequest) error {
	authorities, _, err := authority.Authorities(nil).Renew(time.Now())
	require.NoError(t, err)
	return func(request *certificatesv1.CertificateSigningRequest) error {
		signed, err := authorities.Person(authority.Identity{User: &authenticationv1.UserInfo{Username: "ada"}}, request.Spec.Request, time.Now())
		request.Status.Certificate = signed
		return err
	}
}

func TestACredentialIsAskedForOnceInItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		person, made := signing(sign(t))
		first, err := person.get(t.Context())
		require.NoError(t, err)
		identity, err := authority.IdentityOf(first.certificate.Leaf)
		require.NoError(t, err)
		assert.Equal(t, "ada", identity.Name())
		time.Sleep(8 * time.Minute)
		_, err = person.get(t.Context())
		require.NoError(t, err)
		require.Len(t, *made, 1)
		assert.Equal(t, names.TemporalSigner, (*made)[0].Spec.SignerName)

		time.Sleep(90 * time.Second)
		second, err := person.get(t.Context())
		require.NoError(t, err)
		require.Len(t, *made, 2, "it is renewed before its end")
		assert.NotEqual(t, first.certificate.Certificate, second.certificate.Certificate)
		assert.NotEqual(t, first.token, second.token)
	})
}

func TestACredentialThatThereIsNotSaysWhy(t *testing.T) {
	condition := func(kind certificatesv1.RequestConditionType) func(*certificatesv1.CertificateSigningRequest) error {
		return func(request *certificatesv1.CertificateSigningRequest) error {
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Message: "not on Sundays"}}
			return nil
		}
	}
	for want, answer := range map[string]func(*certificatesv1.CertificateSigningRequest) error{
		"is Denied: not on Sundays":                     condition(certificatesv1.CertificateDenied),
		"is Failed: not on Sundays":                     condition(certificatesv1.CertificateFailed),
		"is Temporal running with --access=kubernetes?": func(*certificatesv1.CertificateSigningRequest) error { return nil },
		"which ClusterRole ostinato-temporal-user allows": func(*certificatesv1.CertificateSigningRequest) error {
			return apierrors.NewForbidden(certificatesv1.Resource("certificatesigningrequests"), "", errors.New("no"))
		},
		"use the certificate for Temporal": func(request *certificatesv1.CertificateSigningRequest) error {
			request.Status.Certificate = []byte("x")
			return nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			person, _ := signing(answer)
			_, err := person.get(t.Context())
			assert.ErrorContains(t, err, want)
		})
	}
}
