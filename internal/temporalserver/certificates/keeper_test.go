package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

const (
	namespace = "ostinato-system"
	service   = "ostinato-temporal"
	day       = 24 * time.Hour
)

func options(client *fake.Clientset) Options {
	return Options{Client: client, Namespace: namespace, Service: service, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func open(t *testing.T, client *fake.Clientset) *Keeper {
	t.Helper()
	keeper, err := Open(t.Context(), options(client))
	require.NoError(t, err)
	return keeper
}

func secret(t *testing.T, client *fake.Clientset, name string) *corev1.Secret {
	t.Helper()
	found, err := client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return found
}

// handshake connects a program, with what its Secret holds, to the server and returns whom the server sees.
func handshake(t *testing.T, keeper *Keeper, held *corev1.Secret) (authority.Identity, error) {
	t.Helper()
	pair, err := tls.X509KeyPair(held.Data["tls.crt"], held.Data["tls.key"])
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(held.Data["ca.crt"])
	client := &tls.Config{
		RootCAs: roots, ServerName: service + "." + namespace + ".svc", Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}, Time: time.Now,
	}
	state, err := fixture.Handshake(t, client, keeper.ServerTLS())
	if err != nil {
		return authority.Identity{}, err
	}
	return authority.IdentityOf(state.VerifiedChains[0][0])
}

func TestProgramsAreKnownByTheirSecrets(t *testing.T) {
	client := fake.NewClientset()
	keeper := open(t, client)
	for _, program := range []string{authority.Worker, authority.Bridge} {
		identity, err := handshake(t, keeper, secret(t, client, service+"-"+program))
		require.NoError(t, err)
		assert.Equal(t, program, identity.Program)
	}
}

func TestAnyoneReadsTheAuthorities(t *testing.T) {
	client := fake.NewClientset()
	keeper := open(t, client)
	for _, text := range []string{"", "tampered"} {
		if text != "" {
			stored := published(t, client)
			stored.Data["ca.crt"] = text
			_, err := client.CoreV1().ConfigMaps(namespace).Update(t.Context(), stored, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.NoError(t, keeper.renew(t.Context()))
		}
		assert.Equal(t, map[string]string{"ca.crt": string(keeper.Bundle())}, published(t, client).Data)
	}
}

func published(t *testing.T, client *fake.Clientset) *corev1.ConfigMap {
	t.Helper()
	found, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "ostinato-temporal-authority", metav1.GetOptions{})
	require.NoError(t, err)
	return found
}

func TestASecondStartFindsTheSecrets(t *testing.T) {
	client := fake.NewClientset()
	open(t, client)
	before := secret(t, client, "ostinato-temporal-worker")
	keeper := open(t, client)
	assert.Equal(t, before.Data, secret(t, client, "ostinato-temporal-worker").Data)
	_, err := handshake(t, keeper, before)
	require.NoError(t, err)
}

func TestASecretThatIsDeletedIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		keeper := open(t, client)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go keeper.Run(ctx)
		held := secret(t, client, "ostinato-temporal-bridge")
		for _, name := range []string{"ostinato-temporal-authority", "ostinato-temporal-worker", "ostinato-temporal-bridge"} {
			require.NoError(t, client.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
			time.Sleep(31 * time.Second)
			identity, err := handshake(t, keeper, held)
			require.NoError(t, err, "what a program has read before goes on to hold")
			assert.Equal(t, authority.Bridge, identity.Program)
			_, err = handshake(t, open(t, client), secret(t, client, "ostinato-temporal-worker"))
			require.NoError(t, err, name)
		}
	})
}

// A hundred days pass: leaves are renewed at two thirds of ninety.
func TestCertificatesAreRenewedBeforeTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		keeper := open(t, client)
		first := secret(t, client, "ostinato-temporal-worker")
		for range 100 {
			time.Sleep(day)
			require.NoError(t, keeper.renew(t.Context()))
			_, err := handshake(t, keeper, secret(t, client, "ostinato-temporal-worker"))
			require.NoError(t, err)
		}
		assert.NotEqual(t, first.Data["tls.crt"], secret(t, client, "ostinato-temporal-worker").Data["tls.crt"])
		assert.Equal(t, first.Data["ca.crt"], secret(t, client, "ostinato-temporal-worker").Data["ca.crt"])
		_, err := handshake(t, keeper, first)
		assert.Error(t, err, "the first one has ended")
	})
}

// A program that reads its Secret an hour after it was written is never shut out.
func TestAnAuthorityIsRenewedUnderItsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		keeper := open(t, client)
		time.Sleep(authority.AuthorityLifetime*2/3 - day)
		require.NoError(t, keeper.renew(t.Context()))
		bundles := map[string]bool{}
		held := secret(t, client, "ostinato-temporal-worker")
		for range 5 * 24 {
			require.NoError(t, keeper.renew(t.Context()))
			_, err := handshake(t, keeper, held)
			require.NoError(t, err)
			held = secret(t, client, "ostinato-temporal-worker")
			bundles[string(held.Data["ca.crt"])] = true
			time.Sleep(time.Hour)
		}
		assert.Len(t, bundles, 2)
		_, err := handshake(t, keeper, held)
		require.NoError(t, err)
	})
}

func TestTwoServersThatStartTogetherAgree(t *testing.T) {
	other, client := fake.NewClientset(), fake.NewClientset()
	open(t, other)
	faster := true
	client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if faster {
			faster = false
			require.NoError(t, client.Tracker().Add(secret(t, other, "ostinato-temporal-authority")))
		}
		return false, nil, nil
	})
	_, err := Open(t.Context(), options(client))
	assert.True(t, apierrors.IsAlreadyExists(err), err)
	keeper := open(t, client)
	_, err = handshake(t, keeper, secret(t, client, "ostinato-temporal-worker"))
	require.NoError(t, err)
}

func TestAnAuthorityThatCantBeReadIsNotReplaced(t *testing.T) {
	client := fake.NewClientset()
	open(t, client)
	stored := secret(t, client, "ostinato-temporal-authority")
	stored.Data["tls.key"] = []byte("x")
	_, err := client.CoreV1().Secrets(namespace).Update(t.Context(), stored, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = Open(t.Context(), options(client))
	assert.ErrorContains(t, err, "read Secret ostinato-system/ostinato-temporal-authority, which holds the certificate authority of Temporal; delete it")
}

func TestAProgramsSecretThatIsNotItsOwnIsMadeAnew(t *testing.T) {
	client := fake.NewClientset()
	keeper := open(t, client)
	bridge := secret(t, client, "ostinato-temporal-bridge")
	for name, spoil := range map[string]func(data map[string][]byte){
		"no certificate": func(data map[string][]byte) { delete(data, "tls.crt") },
		"the bridge's": func(data map[string][]byte) {
			data["tls.crt"], data["tls.key"] = bridge.Data["tls.crt"], bridge.Data["tls.key"]
		},
		"no authorities": func(data map[string][]byte) { data["ca.crt"] = nil },
	} {
		stored := secret(t, client, "ostinato-temporal-worker")
		spoil(stored.Data)
		_, err := client.CoreV1().Secrets(namespace).Update(t.Context(), stored, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, keeper.renew(t.Context()))
		identity, err := handshake(t, keeper, secret(t, client, "ostinato-temporal-worker"))
		require.NoError(t, err, name)
		assert.Equal(t, authority.Worker, identity.Program, name)
	}
}

func TestWhatTheAPIServerRefusesIsNamed(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "ostinato-temporal-authority", nil)
	})
	_, err := Open(t.Context(), options(client))
	assert.ErrorContains(t, err, "get Secret ostinato-system/ostinato-temporal-authority")
}

// standing is an API server that takes requests and answers none.
type standing struct{}

func (standing) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, context.Cause(request.Context())
}

func TestAnAPIServerThatDoesNotAnswerHoldsUpNoLaterLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api.example", Transport: standing{}})
		require.NoError(t, err)
		given := options(nil)
		given.Client = client
		began := time.Now()
		_, err = Open(t.Context(), given)
		require.Error(t, err)
		assert.LessOrEqual(t, time.Since(began), time.Minute)
	})
}

// So is a key that has leaked made worthless.
func TestAnAuthorityThatIsDeletedWhileNoServerRunsIsReplaced(t *testing.T) {
	client := fake.NewClientset()
	open(t, client)
	leaked := secret(t, client, "ostinato-temporal-worker")
	require.NoError(t, client.CoreV1().Secrets(namespace).Delete(t.Context(), "ostinato-temporal-authority", metav1.DeleteOptions{}))
	keeper := open(t, client)
	leaked.Data["ca.crt"] = keeper.Bundle()
	_, err := handshake(t, keeper, leaked)
	require.Error(t, err)
	identity, err := handshake(t, keeper, secret(t, client, "ostinato-temporal-worker"))
	require.NoError(t, err)
	assert.Equal(t, authority.Worker, identity.Program)
}
