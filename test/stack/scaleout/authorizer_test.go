package scaleout

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// configuration is what an operator of this cluster would give temporal-server for a second frontend, on the next address.
var configuration = template.Must(template.New("").Parse(`
log: {stdout: true, level: warn}
persistence:
  defaultStore: executions
  visibilityStore: visibility
  numHistoryShards: {{.Shards}}
  datastores:
    executions: {sql: {pluginName: postgres12_pgx, databaseName: {{.Database.Executions}}, connectAddr: "{{.Database.Address}}", connectProtocol: tcp, user: "{{.Database.User}}", password: "{{.Database.Password}}", maxConns: 10}}
    visibility: {sql: {pluginName: postgres12_pgx, databaseName: {{.Database.Visibility}}, connectAddr: "{{.Database.Address}}", connectProtocol: tcp, user: "{{.Database.User}}", password: "{{.Database.Password}}", maxConns: 5}}
global:
  membership: {maxJoinDuration: 30s, broadcastAddress: 127.0.0.2}
  tls:
    internode:
      server: {certFile: "{{.Certificates.Certificate "internode"}}", keyFile: "{{.Certificates.Key "internode"}}", clientCaFiles: ["{{.Certificates.Certificate "internode-ca"}}"], requireClientAuth: true}
      client: {serverName: internode.temporal.ostinato.dev, rootCaFiles: ["{{.Certificates.Certificate "internode-ca"}}"]}
    frontend:
      server: {certFile: "{{.Certificates.Certificate "frontend"}}", keyFile: "{{.Certificates.Key "frontend"}}", clientCaFiles: ["{{.Certificates.Certificate "client-ca"}}"], requireClientAuth: true}
      client: {serverName: 127.0.0.1, rootCaFiles: ["{{.Certificates.Certificate "client-ca"}}"]}
    systemWorker:
      certFile: "{{.Certificates.Certificate "temporal"}}"
      keyFile: "{{.Certificates.Key "temporal"}}"
      client: {serverName: 127.0.0.1, rootCaFiles: ["{{.Certificates.Certificate "client-ca"}}"]}
services:{{range $role, $port := .Ports}}
  {{$role}}: {rpc: {grpcPort: {{$port.GRPC}}, membershipPort: {{$port.Membership}}, bindOnIP: 127.0.0.2}}{{end}}
clusterMetadata:
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation: {active: {enabled: true, initialFailoverVersion: 1, rpcAddress: "{{.Address "frontend" 0}}"}}
dcRedirectionPolicy: {policy: noop}
publicClient: {hostPort: "{{.Address "frontend" 0}}"}
archival: {history: {state: disabled}, visibility: {state: disabled}}
dynamicConfigClient: {filepath: dynamic.yaml, pollInterval: 1m}
`))

const dynamicSettings = `
system.enableRingpopTLS: [{value: true}]
frontend.enablePrincipalPropagation: [{value: true}]
frontend.exposeAuthorizerErrors: [{value: true}]
`

// guarded starts deploy/temporal-authorizer as a second frontend of the stack's cluster, and returns its address.
func guarded(t *testing.T) string {
	t.Helper()
	root, err := toolchain.RepositoryRoot()
	must(t, err)
	folder := t.TempDir()
	program := filepath.Join(folder, "temporal-authorizer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./deploy/temporal-authorizer")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	cluster, err := spec.Read(filepath.Join(filepath.Dir(string(stack.Stack.Cluster().Certificates())), "cluster.json"))
	must(t, err)
	var text bytes.Buffer
	must(t, configuration.Execute(&text, cluster))
	must(t, os.WriteFile(filepath.Join(folder, "server.yaml"), text.Bytes(), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "dynamic.yaml"), []byte(dynamicSettings), 0o600))

	server := exec.Command(program, "--config-file=server.yaml", "--services=frontend", "--worker="+spec.Worker, "--bridge="+spec.Bridge, "--server="+spec.System)
	server.Dir, server.Env = folder, append(os.Environ(), "KUBECONFIG="+rights(t, root, folder))
	log := filepath.Join(folder, "log")
	file, err := os.Create(log)
	must(t, err)
	server.Stdout, server.Stderr = file, file
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log)
			t.Logf("temporal-authorizer: %s", said)
		}
	})
	return cluster.Address(spec.Frontend, 1)
}

// rights gives the frontend those of the component, and returns a kubeconfig with them.
func rights(t *testing.T, root, folder string) string {
	t.Helper()
	_, err := stack.Kubernetes.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.SystemNamespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	component := filepath.Join(root, "deploy", "components", "temporal-access")
	_, err = stack.Stack.Kubectl(t.Context(), "apply", "--filename="+filepath.Join(component, "rbac.yaml"), "--filename="+filepath.Join(component, "users.yaml"))
	must(t, err)
	given, err := stack.Stack.ControlPlane.KubeconfigForServiceAccount(t.Context(), manifests.SystemNamespace, "ostinato-temporal")
	must(t, err)
	loaded, err := clientcmd.LoadFromFile(given)
	must(t, err)
	loaded.Contexts[loaded.CurrentContext].Namespace = manifests.SystemNamespace
	own := filepath.Join(folder, "kubeconfig")
	must(t, clientcmd.WriteToFile(*loaded, own))
	return own
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dialled connects to the frontend as a program by its certificate, or as a person by a token.
func dialled(t *testing.T, address, program, token string) client.Client {
	t.Helper()
	access := stack.Stack.Cluster().Access(spec.Admin)
	settings, err := access.TLS()
	must(t, err)
	settings.Certificates = nil
	if program != "" {
		own, err := stack.Stack.Cluster().Access(program).TLS()
		must(t, err)
		settings = own
	}
	settings.MinVersion = tls.VersionTLS12
	options := client.Options{
		HostPort: address, ConnectionOptions: client.ConnectionOptions{TLS: settings}, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	if token != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(token)
	}
	var connected client.Client
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		connected, err = client.DialContext(ctx, options)
		return err
	})
	t.Cleanup(connected.Close)
	return connected
}

// tokenOf binds a user to what it may do in a namespace and returns its token, as `ostinato token` makes it.
func tokenOf(t *testing.T, namespace, user string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user, APIGroup: rbacv1.GroupName}}
	_, err := stack.Kubernetes.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ostinato-temporal-user"},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = stack.Kubernetes.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{})
	must(t, err)
	_, err = stack.Kubernetes.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	}, metav1.CreateOptions{})
	must(t, err)
	kubeconfig, err := stack.Stack.ControlPlane.KubeconfigFor(user)
	must(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(t, err)
	api, err := kubernetes.NewForConfig(config)
	must(t, err)
	request, err := authority.NewRequest()
	must(t, err)
	requests := api.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request.Certificate, SignerName: names.TemporalSigner, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	pair := authority.Pair{Key: request.Key}
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		found, err := requests.Get(ctx, made.Name, metav1.GetOptions{})
		if err == nil && len(found.Status.Certificate) == 0 {
			err = errors.New("the request is not signed")
		}
		if err == nil {
			pair.Certificate = found.Status.Certificate
		}
		return err
	})
	token, err := pair.Token()
	must(t, err)
	return token
}

// named checks that the history and the header of each signal name the user who has sent it.
func named(t *testing.T, workflow, user string) {
	t.Helper()
	signals := 0
	events := stack.Temporal.GetWorkflowHistory(t.Context(), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		must(t, err)
		signal := event.GetWorkflowExecutionSignaledEventAttributes()
		if signal.GetSignalName() != protocol.SuspendSignal {
			continue
		}
		signals++
		if name := event.GetPrincipal().GetName(); name != user {
			t.Errorf("the history says that the signal is of %q", name)
		}
		if header := string(signal.GetHeader().GetFields()[names.CallerHeader].GetData()); header != `"kubernetes:`+user+`"` {
			t.Errorf("the header says that the signal is of %s", header)
		}
	}
	if signals != 1 {
		t.Errorf("the history has %d signals %s", signals, protocol.SuspendSignal)
	}
}

// A cluster of someone's own gets the door by one more frontend with its own configuration, while its others go on.
func TestTheAPIServerDecidesAtAFrontendOfACluster(t *testing.T) {
	address := guarded(t)
	namespace := stack.Namespace(t)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "guarded", harness.Yearly, harness.JobSpec()))
	workflow := harness.CronJobWorkflow(namespace, "guarded")
	editor := dialled(t, address, "", tokenOf(t, namespace, "editor", rbacv1.PolicyRule{
		APIGroups: []string{"batch.ostinato.dev"}, Resources: []string{"cronjobs"}, Verbs: []string{"get", "patch"},
	}))
	stranger := dialled(t, address, "", tokenOf(t, namespace, "stranger"))
	began := time.Now()
	must(t, editor.SignalWorkflow(t.Context(), workflow, "", protocol.SuspendSignal, nil))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		found, err := stack.CronJob(ctx, namespace, "guarded")
		if err == nil && (found.Spec.Suspend == nil || !*found.Spec.Suspend) {
			err = errors.New("it is not suspended")
		}
		return err
	})
	t.Logf("suspended %s after the signal", time.Since(began).Round(time.Millisecond))
	named(t, workflow, "editor")
	if _, err := dialled(t, address, spec.Worker, "").QueryWorkflow(t.Context(), workflow, "", protocol.DescribeQuery); err != nil {
		t.Errorf("the worker may not query: %v", err)
	}
	start := func(c client.Client) error {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: workflow + "-forged", TaskQueue: "q"}, protocol.CronJobWorkflow)
		return err
	}
	for what, err := range map[string]error{
		"an editor starts":                    start(editor),
		"an editor sends an internal signal":  editor.SignalWorkflow(t.Context(), workflow, "", protocol.DeletedSignal, nil),
		"an editor terminates":                editor.TerminateWorkflow(t.Context(), workflow, "", "x"),
		"a stranger resumes":                  stranger.SignalWorkflow(t.Context(), workflow, "", protocol.ResumeSignal, nil),
		"a worker terminates":                 dialled(t, address, spec.Worker, "").TerminateWorkflow(t.Context(), workflow, "", "x"),
		"another program's certificate":       start(dialled(t, address, spec.Viewer, "")),
		"a caller without a credential":       start(dialled(t, address, "", "")),
		"a caller with a token of one's own":  start(dialled(t, address, "", strings.Repeat("x.", 2)+"x")),
		"the administrator of the others' CA": start(dialled(t, address, spec.Admin, "")),
	} {
		var denied *serviceerror.PermissionDenied
		if !errors.As(err, &denied) {
			t.Errorf("%s: %v", what, fmt.Errorf("want a refusal: %w", err))
		}
	}
}
