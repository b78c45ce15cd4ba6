package temporalserver

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// A person who forwards a Pod's ports reaches what listens on its loopback address.
func TestBehindADoorTheServersOwnServicesTakeNoOneElse(t *testing.T) {
	g := startGuarded(t)
	pair, err := g.authorities.Program(authority.Worker, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	worker, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	for who, credential := range map[string]credentials.TransportCredentials{
		"without TLS":                    insecure.NewCredentials(),
		"without a certificate":          credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		"with a certificate of a worker": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{*worker}}),
	} {
		for service, at := range map[string]endpoint{
			"frontend": g.endpoints.own, "history": g.endpoints.history, "matching": g.endpoints.matching, "internal": g.endpoints.internal,
		} {
			err := ask(t, at, credential)
			if status.Code(err) != codes.Unavailable {
				t.Errorf("%s: a caller %s hears %v", service, who, err)
			}
		}
	}
}

// ask calls a method that a service need not have: it hears Unimplemented then.
func ask(t *testing.T, at endpoint, credential credentials.TransportCredentials) error {
	t.Helper()
	connection, err := grpc.NewClient(at.dialled(), grpc.WithTransportCredentials(credential))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = workflowservice.NewWorkflowServiceClient(connection).TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{Namespace: DefaultNamespace})
	return err
}
