package temporalserver

import (
	"testing"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/authorization"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/temporalserver/access"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// doors are a server without a door, one behind mutual TLS that lets everyone do everything, and one that asks. Each returns how a caller
// connects.
var doors = map[string]func(testing.TB, Options) func(who string) client.Client{
	"open": func(b testing.TB, o Options) func(string) client.Client {
		server := start(b, o)
		return func(string) client.Client { return dial(b, server) }
	},
	"tls": func(b testing.TB, o Options) func(string) client.Client {
		server := startBehind(b, o, authorization.NewNoopAuthorizer())
		return func(who string) client.Client { return server.as(b, who) }
	},
	"asking": func(b testing.TB, o Options) func(string) client.Client {
		server := startBehind(b, o, asking())
		return func(who string) client.Client { return server.as(b, who) }
	},
}

// BenchmarkCalls measures what a call costs, that of the client and between the server's own services included. A run makes 14 calls: two for
// each of six workflow tasks, the answer of StartRun, and the signal that its Pod has ended (workflows/testdata/history).
//
//	go test ./internal/temporalserver -run '^$' -bench Calls -benchtime 5000x -count 5
func BenchmarkCalls(b *testing.B) {
	for name, open := range doors {
		b.Run(name, func(b *testing.B) {
			connect := open(b, Options{})
			bridge := connect(authority.Bridge)
			for _, who := range []string{authority.Worker, "ada"} {
				caller := connect(who)
				b.Run(who+"/signal", func(b *testing.B) {
					benchmarkCalls(b, bridge, func(workflow string) error { return caller.SignalWorkflow(b.Context(), workflow, "", "suspend", nil) })
				})
				b.Run(who+"/describe", func(b *testing.B) {
					benchmarkCalls(b, bridge, func(workflow string) error {
						_, err := caller.WorkflowService().DescribeWorkflowExecution(b.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
							Namespace: DefaultNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflow},
						})
						return err
					})
				})
			}
		})
	}
}

// asking is the authorizer of an installation whose API server knows every token and allows everything.
func asking() authorization.Authorizer {
	api := fake.NewClientset()
	api.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		made := action.(clienttesting.CreateAction).GetObject()
		switch review := made.(type) {
		case *authenticationv1.TokenReview:
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true, Audiences: []string{access.Audience}, User: authenticationv1.UserInfo{Username: review.Spec.Token},
			}
		case *authorizationv1.SubjectAccessReview:
			review.Status.Allowed = true
		}
		return true, made, nil
	})
	return access.Authorizer(access.Options{
		Namespace: DefaultNamespace, Reviews: access.NewReviews(api),
		Tokens: func(string) (authority.Identity, error) { return authority.Identity{}, authority.ErrAnotherToken },
	})
}

// benchmarkCalls calls about the workflow of a new CronJob, which no worker has.
func benchmarkCalls(b *testing.B, bridge client.Client, call func(workflow string) error) {
	workflow := "cronjob/shop/" + uuid.NewString()
	if _, err := bridge.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: workflow, TaskQueue: benchQueue}, "run"); err != nil {
		b.Fatal(err)
	}
	before := processorTime(b)
	b.ResetTimer()
	for range b.N {
		if err := call(workflow); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-us/call")
}
