package temporalaccess_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/rpc/encryption"
	"go.temporal.io/server/temporal"
	"go.temporal.io/server/temporaltest"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/deploy/temporal-authorizer/temporalaccess"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

const (
	hello  = "cronjob/shop/hello"
	within = 20 * time.Second
)

// ours is the Temporal namespace of worker, bridge and people; the server of the test has made another one, which is of others.
const ours = "temporal-system"

// installation is a Temporal server of someone's own, whose certificates are of an authority of theirs, and an API server.
type installation struct {
	server       *temporaltest.TestServer
	api          *fake.Clientset
	certificates spec.Certificates
}

// othersAuthorizer lets payments do everything in namespaces that are not Ostinato's.
type othersAuthorizer struct{}

func (othersAuthorizer) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	if info.TLSSubject == nil {
		return nil, errors.New("no certificate")
	}
	return &authorization.Claims{Subject: info.TLSSubject.CommonName}, nil
}

func (othersAuthorizer) Authorize(_ context.Context, claims *authorization.Claims, _ *authorization.CallTarget) (authorization.Result, error) {
	if claims != nil && claims.Subject == "payments" {
		return authorization.Result{Decision: authorization.DecisionAllow, Principal: &commonpb.Principal{Type: "mtls", Name: "payments"}}, nil
	}
	return authorization.Result{Decision: authorization.DecisionDeny, Reason: "for payments"}, nil
}

// newAPI is an API server that lets ada do everything in namespace shop.
func newAPI() *fake.Clientset {
	api := fake.NewClientset()
	api.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		review.Status.Allowed = review.Spec.User == "ada" && review.Spec.ResourceAttributes.Namespace == "shop"
		return true, review, nil
	})
	api.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.CreateAction).GetObject(), nil
	})
	return api
}

func start(t *testing.T) installation {
	t.Helper()
	i := installation{api: newAPI(), certificates: spec.Certificates(t.TempDir())}
	clients, err := temporalcluster.LoadAuthority(i.certificates, spec.ClientAuthority)
	require.NoError(t, err)
	require.NoError(t, clients.Server(spec.FrontendServer, spec.FrontendServer))
	for _, name := range []string{"ostinato-worker", "ostinato-bridge", "temporal-services", "payments"} {
		require.NoError(t, clients.Client(name))
	}
	believed := config.ClientTLS{RootCAFiles: []string{i.certificates.Certificate(spec.ClientAuthority)}, ServerName: spec.FirstIP}
	tls, err := encryption.NewTLSConfigProviderFromConfig(config.RootTLS{
		Frontend: config.GroupTLS{Server: config.ServerTLS{
			CertFile: i.certificates.Certificate(spec.FrontendServer), KeyFile: i.certificates.Key(spec.FrontendServer),
			ClientCAFiles: []string{i.certificates.Certificate(spec.ClientAuthority)}, RequireClientAuth: true,
		}, Client: believed},
		SystemWorker: config.WorkerTLS{CertFile: i.certificates.Certificate("temporal-services"), KeyFile: i.certificates.Key("temporal-services"), Client: believed},
	}, metrics.NoopMetricsHandler, log.NewNoopLogger(), nil)
	require.NoError(t, err)
	guard, err := temporalaccess.New(t.Context(), temporalaccess.Options{
		Kubernetes: i.api, KubernetesNamespace: "temporal", Namespace: ours,
		Worker: "ostinato-worker", Bridge: "ostinato-bridge", Server: "temporal-services",
		Others: othersAuthorizer{}, OthersClaims: othersAuthorizer{}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	i.server = temporaltest.NewServer(temporaltest.WithT(t), temporaltest.WithBaseServerOptions(
		temporal.WithTLSConfigFactory(temporalaccess.WithPeople(tls)),
		temporal.WithAuthorizer(guard.Authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return guard.ClaimMapper }),
		temporal.WithChainedFrontendGrpcInterceptors(guard.StampCaller),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ExposeAuthorizerErrors.Key():     true,
			dynamicconfig.EnablePrincipalPropagation.Key(): true,
		}),
	))
	return i
}

// as connects as the owner of a certificate, with a token if there is one.
func (i installation) as(t *testing.T, certificate, token, namespace string) client.Client {
	t.Helper()
	access := temporalcluster.Access{Authority: i.certificates.Certificate(spec.ClientAuthority)}
	if certificate != "" {
		access.Certificate, access.Key = i.certificates.Certificate(certificate), i.certificates.Key(certificate)
	}
	tls, err := access.TLS()
	require.NoError(t, err)
	options := client.Options{
		HostPort: i.server.GetFrontendHostPort(), Namespace: namespace, ConnectionOptions: client.ConnectionOptions{TLS: tls},
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	if token != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(token)
	}
	connected, err := client.DialContext(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(connected.Close)
	return connected
}

// person is a user's token, as `ostinato token` asks for it. The API server stamps the user into the request.
func (i installation) person(t *testing.T, user string) string {
	t.Helper()
	request, err := authority.NewRequest()
	require.NoError(t, err)
	requests := i.api.CertificatesV1().CertificateSigningRequests()
	_, err = requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: request.Certificate, SignerName: names.TemporalSigner, Username: user},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pair := authority.Pair{Key: request.Key}
	require.Eventually(t, func() bool {
		found, err := requests.Get(t.Context(), user, metav1.GetOptions{})
		if err == nil {
			pair.Certificate = found.Status.Certificate
		}
		return len(pair.Certificate) > 0
	}, within, 10*time.Millisecond)
	token, err := pair.Token()
	require.NoError(t, err)
	return token
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	var denied *serviceerror.PermissionDenied
	assert.ErrorAs(t, err, &denied, what)
}

func TestTheAPIServerDecidesInAServerOfAnotherBuild(t *testing.T) {
	i := start(t)
	ada, eve := i.as(t, "", i.person(t, "ada"), ours), i.as(t, "", i.person(t, "eve"), ours)
	worker, bridge := i.as(t, "ostinato-worker", "", ours), i.as(t, "ostinato-bridge", "", ours)
	services, payments := i.as(t, "temporal-services", "", ours), i.as(t, "payments", "", ours)
	started := func(c client.Client, id string) error {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "q"}, "CronJob")
		return err
	}
	require.NoError(t, started(bridge, hello))
	require.NoError(t, started(worker, "job/shop/hello-1"))
	require.NoError(t, ada.SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	refused(t, "ada starts", started(ada, "cronjob/shop/evil"))
	refused(t, "ada sends an internal signal", ada.SignalWorkflow(t.Context(), hello, "", "deleted", nil))
	refused(t, "eve suspends", eve.SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	refused(t, "the worker terminates", worker.TerminateWorkflow(t.Context(), hello, "", "x"))
	refused(t, "payments signals", payments.SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	refused(t, "someone signals", i.as(t, "", "", ours).SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	refused(t, "a made up token signals", i.as(t, "", "a.b.c", ours).SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	require.NoError(t, services.TerminateWorkflow(t.Context(), "job/shop/hello-1", "", "by the server's own services"))

	assert.Equal(t, []string{"ada", `"kubernetes:ada"`}, senders(t, worker))
}

// senders are whom the history and the header of each signal name.
func senders(t *testing.T, c client.Client) []string {
	t.Helper()
	var all []string
	events := c.GetWorkflowHistory(t.Context(), hello, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		signal := event.GetWorkflowExecutionSignaledEventAttributes()
		if signal != nil {
			all = append(all, event.GetPrincipal().GetName(), string(signal.GetHeader().GetFields()[names.CallerHeader].GetData()))
		}
	}
	return all
}

func TestOtherNamespacesAreOfTheirOwnAuthorizer(t *testing.T) {
	i := start(t)
	theirs := i.server.GetDefaultNamespace()
	describe := func(c client.Client) error {
		_, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: theirs})
		return err
	}
	payments := i.as(t, "payments", "", theirs)
	require.NoError(t, describe(payments))
	_, err := payments.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: hello, TaskQueue: "q"}, "Payment")
	require.NoError(t, err)
	require.NoError(t, payments.SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	assert.Equal(t, []string{"payments", ""}, senders(t, payments), "signals of others have the headers that they had")
	for name, c := range map[string]client.Client{
		"ada": i.as(t, "", i.person(t, "ada"), theirs), "worker": i.as(t, "ostinato-worker", "", theirs), "someone": i.as(t, "", "", theirs),
	} {
		refused(t, name, describe(c))
		refused(t, name, c.SignalWorkflow(t.Context(), hello, "", "suspend", nil))
	}
}

// The authority is for tokens alone here: worker and bridge are given no certificate of it, and commands of people believe the server's own.
func TestNothingIsWrittenButTheSecretOfTheAuthority(t *testing.T) {
	i := start(t)
	var written []string
	for _, action := range i.api.Actions() {
		if action.GetVerb() == "create" && !strings.HasSuffix(action.GetResource().Resource, "reviews") {
			written = append(written, action.GetResource().Resource)
		}
	}
	slices.Sort(written)
	assert.Equal(t, []string{"secrets"}, written)
}
