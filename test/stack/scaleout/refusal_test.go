package scaleout

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/dev/harness"
)

const namespace = "default"

// call is one request to Temporal.
type call func(context.Context, workflowservice.WorkflowServiceClient) error

func describe(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	return describeIn(namespace)(ctx, temporal)
}

func describeIn(name string) call {
	return func(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
		_, err := temporal.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
		return err
	}
}

func list(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	_, err := temporal.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace})
	return err
}

func listNamespaces(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	_, err := temporal.ListNamespaces(ctx, &workflowservice.ListNamespacesRequest{})
	return err
}

func start(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	_, err := temporal.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{Namespace: namespace})
	return err
}

func terminate(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	_, err := temporal.TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{Namespace: namespace})
	return err
}

func poll(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	_, err := temporal.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{Namespace: namespace})
	return err
}

func update(ctx context.Context, temporal workflowservice.WorkflowServiceClient) error {
	_, err := temporal.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{Namespace: namespace})
	return err
}

// Whoever has no certificate of the cluster's authority for clients is not even asked what he wants.
func TestConnectionsAreRefusedWithoutTheRightCertificate(t *testing.T) {
	cluster := stack.Stack.Cluster()
	good := cluster.Access(spec.Admin)
	if err := try(t, good.Address, secured(t, good), describe); err != nil {
		t.Fatalf("the administrator is refused: %v", err)
	}

	none := good
	none.Certificate, none.Key = "", ""
	other := good
	foreign := spec.Certificates(t.TempDir())
	authority, err := temporalcluster.LoadAuthority(foreign, spec.ClientAuthority)
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Client(spec.Admin); err != nil {
		t.Fatal(err)
	}
	other.Certificate, other.Key = foreign.Certificate(spec.Admin), foreign.Key(spec.Admin)
	// The history host's certificate is of another authority; were it believed, the host's would still not believe ours.
	inside := good
	inside.Authority = cluster.Certificates().Certificate(spec.InternodeAuthority)
	inside.Address = cluster.Address(temporalcluster.Host{Role: spec.History})

	for name, test := range map[string]struct {
		access temporalcluster.Access
		want   string
	}{
		"no certificate":                                {none, "certificate required"},
		"a certificate of another authority":            {other, "unknown certificate authority"},
		"the administrator's, at a history host's door": {inside, "unknown certificate authority"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := handshake(t, test.access); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal: %s", err, test.want)
			}
			if err := try(t, test.access.Address, secured(t, test.access), describe); status.Code(err) != codes.Unavailable {
				t.Errorf("got %v, want a refused connection", err)
			}
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		if err := try(t, good.Address, insecure.NewCredentials(), describe); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v, want a refused connection", err)
		}
	})
}

// A certificate of the right authority lets its owner do what is his to do, and nothing else.
func TestTheAuthorizerKnowsCallersByTheirCertificates(t *testing.T) {
	cluster := stack.Stack.Cluster()
	authority, err := temporalcluster.LoadAuthority(cluster.Certificates(), spec.ClientAuthority)
	if err != nil {
		t.Fatal(err)
	}
	const stranger = "stranger"
	if err := authority.Client(stranger); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		program, what string
		call          call
		allowed       bool
	}{
		{stranger, "describe the namespace", describe, false},
		{stranger, "list namespaces", listNamespaces, false},
		{stranger, "start a workflow", start, false},
		{stranger, "poll for tasks", poll, false},
		{spec.Worker, "describe the namespace", describe, true},
		{spec.Worker, "start a workflow", start, true},
		{spec.Worker, "terminate a workflow", terminate, false},
		{spec.Worker, "update the namespace", update, false},
		{spec.Worker, "describe the server's own namespace", describeIn("temporal-system"), false},
		{spec.Worker, "list namespaces", listNamespaces, false},
		{spec.Bridge, "list workflows", list, true},
		{spec.Bridge, "terminate a workflow", terminate, true},
		{spec.Bridge, "poll for tasks", poll, false},
		{spec.Bridge, "update the namespace", update, false},
		{spec.Viewer, "list workflows", list, true},
		{spec.Viewer, "start a workflow", start, false},
		{spec.Admin, "describe the server's own namespace", describeIn("temporal-system"), true},
	} {
		access := cluster.Access(test.program)
		err := try(t, access.Address, secured(t, access), test.call)
		// What is allowed and makes no sense is refused for another reason.
		if allowed := status.Code(err) != codes.PermissionDenied && status.Code(err) != codes.Unavailable; allowed != test.allowed {
			t.Errorf("%s may %s: %t, want %t: %v", test.program, test.what, allowed, test.allowed, err)
		}
	}
}

// handshake connects, says nothing and returns why the server ends the connection. It judges our certificate after our
// side of the handshake, and whoever writes meanwhile may hear of a broken connection instead of the reason.
func handshake(t *testing.T, access temporalcluster.Access) error {
	t.Helper()
	configuration, err := access.TLS()
	if err != nil {
		t.Fatal(err)
	}
	configuration.NextProtos = []string{"h2"}
	if certificates := configuration.Certificates; len(certificates) > 0 {
		// Go would keep it back where the server names other authorities than its own.
		configuration.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
	}
	dialer := tls.Dialer{Config: configuration}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
	defer cancel()
	connection, err := dialer.DialContext(ctx, "tcp", access.Address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetReadDeadline(time.Now().Add(harness.Prompt)); err != nil {
		t.Fatal(err)
	}
	// A server that lets us in writes first, its settings.
	_, err = connection.Read(make([]byte, 1))
	return err
}

func secured(t *testing.T, access temporalcluster.Access) credentials.TransportCredentials {
	t.Helper()
	configuration, err := access.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return credentials.NewTLS(configuration)
}

// try makes the call over a connection of its own.
func try(t *testing.T, address string, transport credentials.TransportCredentials, call call) error {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
	defer cancel()
	return call(ctx, workflowservice.NewWorkflowServiceClient(connection))
}
