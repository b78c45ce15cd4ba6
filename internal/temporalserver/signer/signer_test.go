package signer_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
	"ostinato.dev/ostinato/internal/temporalserver/signer"
)

func request(name, signerName string) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signerName, Request: []byte("request of " + name),
			Username: "ada", UID: "u", Groups: []string{"team"}, Extra: map[string]certificatesv1.ExtraValue{"scopes": {"a"}},
		},
	}
}

// run answers what is asked of it with the certificate "signed", and collects whom it has signed for.
func run(t *testing.T, client *fake.Clientset, problem error) <-chan authority.Identity {
	t.Helper()
	signed := make(chan authority.Identity, 10)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		signer.Run(ctx, client, func(user authority.Identity, _ []byte) ([]byte, error) {
			signed <- user
			return []byte("signed"), problem
		}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return signed
}

// answered waits until a request has an answer.
func answered(t *testing.T, client *fake.Clientset, name string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	var found *certificatesv1.CertificateSigningRequest
	require.Eventually(t, func() bool {
		var err error
		found, err = client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && (len(found.Status.Certificate) > 0 || len(found.Status.Conditions) > 1)
	}, 10*time.Second, 10*time.Millisecond)
	return found
}

func TestARequestIsSignedForWhomTheAPIServerHasStampedIntoIt(t *testing.T) {
	client := fake.NewClientset(request("one", names.TemporalSigner))
	signed := run(t, client, nil)
	found := answered(t, client, "one")
	assert.Equal(t, []byte("signed"), found.Status.Certificate)
	assert.Equal(t, certificatesv1.CertificateApproved, found.Status.Conditions[0].Type)
	assert.Equal(t, authority.Identity{User: &authenticationv1.UserInfo{
		Username: "ada", UID: "u", Groups: []string{"team"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a"}},
	}}, <-signed)
}

func TestARequestThatCantBeSignedSaysWhy(t *testing.T) {
	client := fake.NewClientset(request("one", names.TemporalSigner))
	run(t, client, errors.New("the request is not PEM"))
	found := answered(t, client, "one")
	assert.Empty(t, found.Status.Certificate)
	assert.Equal(t, certificatesv1.CertificateFailed, found.Status.Conditions[1].Type)
	assert.Equal(t, "the request is not PEM", found.Status.Conditions[1].Message)
}

func TestRequestsOfOthersAreLeftAlone(t *testing.T) {
	denied := request("denied", names.TemporalSigner)
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
	client := fake.NewClientset(request("other", "kubernetes.io/kube-apiserver-client"), denied, request("one", names.TemporalSigner))
	run(t, client, nil)
	answered(t, client, "one")
	for _, name := range []string{"other", "denied"} {
		found, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Empty(t, found.Status.Certificate, name)
	}
}

func TestAWriteThatFailsIsRepeated(t *testing.T) {
	client := fake.NewClientset(request("one", names.TemporalSigner))
	var failed int
	client.PrependReactor("update", "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failed < 3 {
			failed++
			return true, nil, errors.New("connection refused")
		}
		return false, nil, nil
	})
	run(t, client, nil)
	assert.Equal(t, []byte("signed"), answered(t, client, "one").Status.Certificate)
}
