package temporalserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/common/authorization"
	"google.golang.org/grpc/metadata"
	authenticationv1 "k8s.io/api/authentication/v1"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/access"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// people know ada, zoë and eve by their tokens. Ada and zoë may do everything to objects of namespace shop, eve nothing.
type people struct{}

// zoe has a name that is neither ASCII nor without quotes.
const zoe = `corp\zoë "Z" 張`

func (people) Identify(_ context.Context, _, token string) (authenticationv1.UserInfo, bool, error) {
	if token == "zoe" {
		return authenticationv1.UserInfo{Username: zoe}, true, nil
	}
	return authenticationv1.UserInfo{Username: token}, token == "ada" || token == "eve", nil
}

func (people) Allowed(_ context.Context, user authenticationv1.UserInfo, questions []access.Question) (*access.Question, error) {
	for _, question := range questions {
		if user.Username == "eve" || question.Namespace != "shop" {
			return &question, nil
		}
	}
	return nil, nil
}

// guarded is a server with a door.
type guarded struct {
	*Server
	authorities authority.Authorities
}

func startGuarded(t *testing.T) guarded {
	t.Helper()
	return startBehind(t, Options{UIAddress: "127.0.0.1:0"}, access.Authorizer(access.Options{
		Namespace: DefaultNamespace, Reviews: people{}, Tokens: func(string) (authority.Identity, error) { return authority.Identity{}, authority.ErrAnotherToken },
	}))
}

// startBehind starts a server with a door that lets through whom the authorizer does.
func startBehind(t testing.TB, o Options, authorizer authorization.Authorizer) guarded {
	t.Helper()
	authorities, _, err := authority.Authorities(nil).Renew(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authorities.Server([]string{"localhost"}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	o.Door = &Door{
		TLS: &tls.Config{
			Certificates: []tls.Certificate{*certificate}, ClientCAs: authorities.Pool(), ClientAuth: tls.VerifyClientCertIfGiven, NextProtos: []string{"h2"},
		},
		Authorities: authorities.Bundle(), ClaimMapper: access.ClaimMapper(), Authorizer: authorizer,
	}
	return guarded{start(t, o), authorities}
}

// as connects a caller: a program by its certificate, a person by a token.
func (g guarded) as(t testing.TB, who string) client.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(g.authorities.Bundle())
	options := client.Options{
		HostPort: g.FrontendAddress(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{
			TLS: &tls.Config{RootCAs: roots, ServerName: "localhost"}, GrpcCompression: &client.GrpcCompressionNone{},
		},
	}
	switch who {
	case "":
	case authority.Worker, authority.Bridge:
		pair, err := g.authorities.Program(who, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := pair.TLS()
		if err != nil {
			t.Fatal(err)
		}
		options.ConnectionOptions.TLS.Certificates = []tls.Certificate{*certificate}
	default:
		options.Credentials = client.NewAPIKeyStaticCredentials(who)
	}
	c, err := client.Dial(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// callers collects, in the order of signals and updates, whom their headers name.
type callers struct {
	interceptor.WorkerInterceptorBase
	seen chan string
}

func (c *callers) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, c.seen}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	seen chan string
}

func (i *inbound) see(ctx workflow.Context) {
	var name string
	payload := interceptor.WorkflowHeader(ctx)[names.CallerHeader]
	_ = converter.GetDefaultDataConverter().FromPayload(payload, &name)
	if !workflow.IsReplaying(ctx) {
		i.seen <- name
	}
}

func (i *inbound) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	i.see(ctx)
	return i.Next.HandleSignal(ctx, in)
}

func (i *inbound) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	i.see(ctx)
	return i.Next.ExecuteUpdate(ctx, in)
}

// serve runs a worker that takes the signals and updates of one workflow.
func (g guarded) serve(t *testing.T) <-chan string {
	t.Helper()
	seen := &callers{seen: make(chan string, 10)}
	w := worker.New(g.as(t, authority.Worker), testQueue, worker.Options{Interceptors: []interceptor.WorkerInterceptor{seen}})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		if err := workflow.SetUpdateHandler(ctx, "trigger", func(workflow.Context) (string, error) { return "now", nil }); err != nil {
			return err
		}
		workflow.GetSignalChannel(ctx, "deleted").Receive(ctx, nil)
		return nil
	}, workflow.RegisterOptions{Name: "CronJob"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return seen.seen
}

const hello = "cronjob/shop/hello"

// forged is a header with which a caller names someone else.
func forged() *commonpb.Header {
	payload, _ := converter.GetDefaultDataConverter().ToPayload("root")
	return &commonpb.Header{Fields: map[string]*commonpb.Payload{names.CallerHeader: payload}}
}

func hear(t *testing.T, seen <-chan string) string {
	t.Helper()
	select {
	case name := <-seen:
		return name
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is heard within 20 s")
		return ""
	}
}

func TestBehindADoorCallersAreNamedByTheServer(t *testing.T) {
	g := startGuarded(t)
	seen := g.serve(t)
	bridge, ada := g.as(t, authority.Bridge), g.as(t, "ada")
	_, err := bridge.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: hello, TaskQueue: testQueue}, "CronJob")
	if err != nil {
		t.Fatal(err)
	}
	execution := &commonpb.WorkflowExecution{WorkflowId: hello}
	_, err = ada.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: DefaultNamespace, WorkflowExecution: execution, SignalName: "suspend", Header: forged(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := hear(t, seen); got != "kubernetes:ada" {
		t.Errorf("a signal's header names %q, want ada", got)
	}
	_, err = ada.WorkflowService().UpdateWorkflowExecution(t.Context(), &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace: DefaultNamespace, WorkflowExecution: execution,
		WaitPolicy: &updatepb.WaitPolicy{LifecycleStage: enums.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED},
		Request:    &updatepb.Request{Meta: &updatepb.Meta{UpdateId: "1"}, Input: &updatepb.Input{Name: "trigger", Header: forged()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := hear(t, seen); got != "kubernetes:ada" {
		t.Errorf("an update's header names %q, want ada", got)
	}
	if err := g.TellShort(t.Context(), "It has little room."); err != nil {
		t.Errorf("the server itself is refused: %v", err)
	}
	if err := bridge.SignalWorkflow(t.Context(), hello, "", "deleted", nil); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, seen); got != "certificate:bridge" {
		t.Errorf("the bridge's signal names %q", got)
	}
	events := ada.GetWorkflowHistory(t.Context(), hello, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == "suspend" && event.GetPrincipal().GetName() != "ada" {
			t.Errorf("the history names %v", event.GetPrincipal())
		}
	}
}

// Temporal passes the name of a caller on in metadata of gRPC, which takes printable ASCII alone.
func TestBehindADoorAUserMayHaveAnyName(t *testing.T) {
	g := startGuarded(t)
	seen := g.serve(t)
	_, err := g.as(t, authority.Bridge).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: hello, TaskQueue: testQueue}, "CronJob")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.as(t, "zoe").SignalWorkflow(t.Context(), hello, "", "suspend", nil); err != nil {
		t.Fatalf("a user with a name beyond ASCII can't send: %v", err)
	}
	if got := hear(t, seen); got != "kubernetes:"+zoe {
		t.Errorf("the signal's header names %q", got)
	}
}

func TestADoorRefusesWithAReason(t *testing.T) {
	g := startGuarded(t)
	bridge := g.as(t, authority.Bridge)
	_, err := bridge.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: hello, TaskQueue: testQueue}, "CronJob")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ who, want string }{
		{"eve", "the API server does not let them patch cronjobs.batch.ostinato.dev hello in namespace shop"},
		{"mallory", "knows no such token"},
		{"", "without a credential"},
	} {
		err := g.as(t, test.who).SignalWorkflow(t.Context(), hello, "", "suspend", nil)
		var denied *serviceerror.PermissionDenied
		if !errors.As(err, &denied) || !strings.Contains(denied.Reason+denied.Message, test.want) {
			t.Errorf("%q: %v, want %q", test.who, err, test.want)
		}
	}
	ada := g.as(t, "ada")
	if err := ada.TerminateWorkflow(t.Context(), hello, "", "x"); err == nil || !strings.Contains(err.Error(), "administrators") {
		t.Errorf("a person terminates a workflow: %v", err)
	}
	if err := ada.SignalWorkflow(t.Context(), hello, "", "deleted", nil); err == nil || !strings.Contains(err.Error(), "is not for people") {
		t.Errorf("a person sends an internal signal: %v", err)
	}
	// A person can't say that he is the server.
	ctx := metadata.AppendToOutgoingContext(t.Context(), "temporal-principal-type", "temporal", "temporal-principal-name", "internal")
	if err := g.as(t, "eve").SignalWorkflow(ctx, hello, "", "suspend", nil); err == nil {
		t.Error("a header makes a person the server")
	}
}

func TestAnotherAuthoritysCertificateIsNoCredential(t *testing.T) {
	g := startGuarded(t)
	stranger, _, err := authority.Authorities(nil).Renew(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := stranger.Program(authority.Worker, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(g.authorities.Bundle())
	_, err = client.Dial(client.Options{
		HostPort: g.FrontendAddress(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{
			TLS:                  &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{*certificate}},
			GetSystemInfoTimeout: 2 * time.Second,
		},
	})
	if err == nil {
		t.Error("a certificate of a stranger's authority is taken")
	}
}

func TestTheWebUIHasNoRightsOfItsOwn(t *testing.T) {
	g := startGuarded(t)
	bridge := g.as(t, authority.Bridge)
	_, err := bridge.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "cronjob/shop/x", TaskQueue: testQueue}, "CronJob")
	if err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]int{"": http.StatusForbidden, "eve": http.StatusForbidden, "ada": http.StatusOK} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			g.UIAddress()+"/api/v1/namespaces/default/workflows/cronjob%2Fshop%2Fx/history", nil)
		if err != nil {
			t.Fatal(err)
		}
		if who != "" {
			request.Header.Set("Authorization", "Bearer "+who)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%q reads with status %d, want %d: %.300s", who, response.StatusCode, want, body)
		}
	}
}
