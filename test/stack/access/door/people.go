// Package door has what tests share that come to a Temporal which asks the API server who may call it: people and their credentials, and
// what attackers try there.
package door

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// Shop is the namespace of the people's objects.
const Shop = "shop"

// Readers and Writers are what a viewer and an editor may do there.
var (
	Readers = []rbacv1.PolicyRule{
		{APIGroups: []string{"batch.ostinato.dev"}, Resources: []string{"cronjobs"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
	}
	Writers = append([]rbacv1.PolicyRule{
		{APIGroups: []string{"batch.ostinato.dev"}, Resources: []string{"cronjobs"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create", "patch"}},
	}, Readers...)
)

// Door is a Temporal, and the API server that it asks.
type Door struct {
	Kubernetes kubernetes.Interface
	Plane      *controlplane.ControlPlane
	// Address is that of Temporal's frontend.
	Address string
}

// Grant binds a user to rules in namespace Shop, which it makes, and to being known to Temporal.
func (d Door) Grant(t *testing.T, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	api := d.Kubernetes
	_, err := api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Shop}}, metav1.CreateOptions{})
	Tolerate(t, err)
	subjects := []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: rbacv1.GroupName}}
	_, err = api.RbacV1().Roles(Shop).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{})
	Tolerate(t, err)
	_, err = api.RbacV1().RoleBindings(Shop).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	}, metav1.CreateOptions{})
	Tolerate(t, err)
	_, err = api.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "temporal-user-" + user}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ostinato-temporal-user"},
	}, metav1.CreateOptions{})
	Tolerate(t, err)
}

// Tolerate fails the test for an error other than that the object is there already.
func Tolerate(t *testing.T, err error) {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
}

// Roots are the authorities that anyone reads.
func (d Door) Roots(t *testing.T) *x509.CertPool {
	t.Helper()
	published, err := d.Kubernetes.CoreV1().ConfigMaps(manifests.SystemNamespace).Get(t.Context(), "ostinato-temporal-authority", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(published.Data["ca.crt"])) {
		t.Fatal("no authority is published")
	}
	return pool
}

// Dial connects to Temporal with a certificate, if there is one, and a token, if there is one.
func (d Door) Dial(t *testing.T, certificate *tls.Certificate, token string) client.Client {
	t.Helper()
	settings := &tls.Config{RootCAs: d.Roots(t)}
	if certificate != nil {
		settings.Certificates = []tls.Certificate{*certificate}
	}
	options := client.Options{
		HostPort: d.Address, ConnectionOptions: client.ConnectionOptions{TLS: settings},
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	if token != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(token)
	}
	connected, err := client.DialContext(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connected.Close)
	return connected
}

// As connects as a user of the API server, by a certificate that the Temporal server signs.
func (d Door) As(t *testing.T, user string) client.Client {
	t.Helper()
	return d.Dial(t, d.CertificateOf(t, user), "")
}

// CertificateOf is such a certificate.
func (d Door) CertificateOf(t *testing.T, user string) *tls.Certificate {
	t.Helper()
	certificate, err := d.PairOf(t, user).TLS()
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// PairOf is a user's certificate and key.
func (d Door) PairOf(t *testing.T, user string) authority.Pair {
	t.Helper()
	kubeconfig, err := d.Plane.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	made, err := api.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request.Certificate, SignerName: names.TemporalSigner, ExpirationSeconds: ptr.To[int32](600),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	signed := authority.Pair{Key: request.Key}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		found, err := api.CertificatesV1().CertificateSigningRequests().Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(found.Status.Certificate) == 0 {
			return fmt.Errorf("request %s is not signed: %v", made.Name, found.Status.Conditions)
		}
		signed.Certificate = found.Status.Certificate
		return nil
	})
	return signed
}

// Token is one of a ServiceAccount of namespace Shop, which it makes.
func (d Door) Token(t *testing.T, account string, audiences ...string) string {
	t.Helper()
	_, err := d.Kubernetes.CoreV1().ServiceAccounts(Shop).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	Tolerate(t, err)
	made, err := d.Kubernetes.CoreV1().ServiceAccounts(Shop).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: ptr.To(int64(time.Hour / time.Second))},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Status.Token
}
