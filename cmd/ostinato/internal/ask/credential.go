package ask

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// authorityName is the ConfigMap with the certificate authorities of a Temporal server that asks the API server who may call it.
const authorityName = "ostinato-temporal-authority"

// ownService is the Service of such a server, pagePort where its Pod has Temporal's own page.
const (
	ownService = "ostinato-temporal"
	pagePort   = 8233
)

const (
	// credentialLifetime is what a request asks for: the shortest that the API server takes.
	credentialLifetime = 600
	// renewBefore is how long before its end a certificate is not used any more.
	renewBefore  = time.Minute
	signedWithin = 10 * time.Second
	signedPoll   = 50 * time.Millisecond
)

// authorities returns the certificate authorities of such a Temporal server, nil if the namespace has none.
func (c *Cluster) authorities(ctx context.Context, namespace string) (*x509.CertPool, error) {
	stored, err := c.clients.Kubernetes.CoreV1().ConfigMaps(namespace).Get(ctx, authorityName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate authorities of Temporal: get ConfigMap %s/%s: %w", namespace, authorityName, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(stored.Data["ca.crt"])) {
		return nil, fmt.Errorf("ConfigMap %s/%s has no certificate in ca.crt", namespace, authorityName)
	}
	return pool, nil
}

// personalTLS is how a person is known to a Temporal server of the name in a namespace, nil if it does not ask the API server.
func (c *Cluster) personalTLS(ctx context.Context, namespace, server string) (*tls.Config, error) {
	pool, err := c.authorities(ctx, namespace)
	if pool == nil || err != nil {
		return nil, err
	}
	person := c.newCredential()
	return &tls.Config{
		RootCAs: pool, ServerName: server, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			known, err := person.get(asked.Context())
			if err != nil {
				return nil, err
			}
			return known.certificate, nil
		},
	}, nil
}

// credential is a person's certificate for Temporal: one that the API server has stamped the person into, and that opens nothing else.
type credential struct {
	requests certificatesclient.CertificateSigningRequestInterface
	mutex    sync.Mutex
	held     *held
}

// held is a certificate, as it is presented and as a token.
type held struct {
	certificate *tls.Certificate
	token       string
}

// get returns a certificate that is good for a minute at least.
func (c *credential) get(ctx context.Context) (*held, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.held != nil && time.Until(c.held.certificate.Leaf.NotAfter) > renewBefore {
		return c.held, nil
	}
	pair, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return nil, fmt.Errorf("use the certificate for Temporal: %w", err)
	}
	token, err := pair.Token()
	if err != nil {
		return nil, err
	}
	c.held = &held{certificate: certificate, token: token}
	return c.held, nil
}

// ask returns a new certificate and its key.
func (c *credential) ask(ctx context.Context) (authority.Pair, error) {
	request, err := authority.NewRequest()
	if err != nil {
		return authority.Pair{}, err
	}
	signed, err := c.sign(ctx, request.Certificate)
	return authority.Pair{Certificate: signed, Key: request.Key}, err
}

// TemporalToken returns a token by which a Temporal server that asks the API server knows the person, for ten minutes at most. It
// opens nothing else.
func (c *Cluster) TemporalToken(ctx context.Context) (string, error) {
	return c.newCredential().token(ctx)
}

func (c *Cluster) newCredential() *credential {
	return &credential{requests: c.clients.Kubernetes.CertificatesV1().CertificateSigningRequests()}
}

// token returns a token that is good for a minute at least.
func (c *credential) token(ctx context.Context) (string, error) {
	known, err := c.get(ctx)
	if err != nil {
		return "", err
	}
	return known.token, nil
}

// TemporalPage returns how Temporal's own page is reached in an installation with a Temporal of its own, and by what it knows the person:
// nil if it asks for nothing.
func (c *Cluster) TemporalPage(ctx context.Context, namespace string) (dial func(context.Context) (net.Conn, error), token func(context.Context) (string, error), err error) {
	service, err := c.service(ctx, namespace, ownService)
	if err != nil {
		return nil, nil, err
	}
	if service == nil {
		return nil, nil, fmt.Errorf("namespace %s has no Temporal of the installation's own (Service %s)", namespace, ownService)
	}
	settings, err := c.settings(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	if settings.asksAPIServer(service) {
		token = c.newCredential().token
	}
	return func(ctx context.Context) (net.Conn, error) { return c.dialPort(ctx, service, pagePort) }, token, nil
}

// sign has a request signed for the user whom the API server takes this client for.
func (c *credential) sign(ctx context.Context, request []byte) ([]byte, error) {
	lifetime := int32(credentialLifetime)
	made, err := c.requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ostinato-temporal-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: names.TemporalSigner, ExpirationSeconds: &lifetime,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for a certificate for Temporal, which ClusterRole ostinato-temporal-user allows: %w", err)
	}
	return c.wait(ctx, made.Name)
}

func (c *credential) wait(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, signedWithin, errors.New("is Temporal running with --access=kubernetes?"))
	defer cancel()
	for {
		found, err := c.requests.Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(found.Status.Certificate) > 0 {
			return found.Status.Certificate, nil
		}
		if err == nil {
			err = refused(found)
			if err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("CertificateSigningRequest %s is not signed: %w", name, context.Cause(ctx)), err)
		case <-time.After(signedPoll):
		}
	}
}

// refused returns why a request will not be signed, nil if it may be.
func refused(request *certificatesv1.CertificateSigningRequest) error {
	for _, condition := range request.Status.Conditions {
		if condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed {
			return fmt.Errorf("CertificateSigningRequest %s is %s: %s", request.Name, condition.Type, condition.Message)
		}
	}
	return nil
}

func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the token for Temporal: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
