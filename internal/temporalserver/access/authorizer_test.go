package access_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"
	"google.golang.org/grpc/credentials"
	authenticationv1 "k8s.io/api/authentication/v1"

	"ostinato.dev/ostinato/internal/temporalserver/access"
	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

const temporalNamespace = "ostinato"

// rbac is what an API server says: its users by their tokens, and their rights.
type rbac struct {
	away   bool
	tokens map[string]authenticationv1.UserInfo
	rights map[string][]access.Question
}

func (r rbac) Identify(_ context.Context, _, token string) (authenticationv1.UserInfo, bool, error) {
	if r.away {
		return authenticationv1.UserInfo{}, false, errors.New("connection refused")
	}
	user, known := r.tokens[token]
	return user, known, nil
}

func (r rbac) Allowed(_ context.Context, user authenticationv1.UserInfo, questions []access.Question) (*access.Question, error) {
	if r.away {
		return nil, errors.New("connection refused")
	}
	for _, question := range questions {
		if !covers(r.rights[user.Username], question) {
			return &question, nil
		}
	}
	return nil, nil
}

// covers reports whether one of the rights, in which an empty namespace or name stands for all, allows the question.
func covers(rights []access.Question, asked access.Question) bool {
	for _, right := range rights {
		if right.Namespace == "" {
			right.Namespace = asked.Namespace
		}
		if right.Name == "" {
			right.Name = asked.Name
		}
		if right == asked {
			return true
		}
	}
	return false
}

var (
	getCronJobs   = access.Question{Verb: "get", Group: "batch.ostinato.dev", Resource: "cronjobs"}
	patchCronJobs = access.Question{Verb: "patch", Group: "batch.ostinato.dev", Resource: "cronjobs", Namespace: "shop"}
	getNatives    = access.Question{Verb: "get", Group: "batch", Resource: "cronjobs"}
	getJobs       = access.Question{Verb: "get", Group: "batch", Resource: "jobs"}
	patchJobs     = access.Question{Verb: "patch", Group: "batch", Resource: "jobs", Namespace: "shop"}
	createJobs    = access.Question{Verb: "create", Group: "batch", Resource: "jobs", Namespace: "shop"}
	getLogs       = access.Question{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "shop"}
)

func listing(question access.Question) access.Question {
	question.Verb = "list"
	return question
}

// world is an installation with its people.
type world struct {
	authorizer  authorization.Authorizer
	authorities authority.Authorities
}

func newWorld(t *testing.T, away bool) world {
	t.Helper()
	user := func(name string, groups ...string) authenticationv1.UserInfo {
		return authenticationv1.UserInfo{Username: name, Groups: groups}
	}
	return worldOf(t, rbac{
		away: away,
		tokens: map[string]authenticationv1.UserInfo{
			"viewer": user("viewer"), "editor": user("editor"), "auditor": user("auditor"), "starter": user("starter"), "stranger": user("stranger"),
			"admin": user("root", "dev", "sre"), "worker": user("worker"),
		},
		rights: map[string][]access.Question{
			"viewer":  {getCronJobs, getNatives, getJobs, getLogs, listing(getCronJobs), listing(getJobs), listing(getNatives)},
			"auditor": {listing(getCronJobs), listing(getJobs)},
			"editor":  {getCronJobs, getJobs, patchCronJobs, patchJobs},
			"starter": {createJobs},
		},
	})
}

// worldOf is an installation whose API server answers as reviews do.
func worldOf(t testing.TB, reviews access.Reviews) world {
	t.Helper()
	authorities, _, err := authority.Authorities(nil).Renew(time.Now())
	require.NoError(t, err)
	return world{authorities: authorities, authorizer: access.Authorizer(access.Options{
		Namespace: temporalNamespace, Administrators: "sre", Reviews: reviews,
		Tokens: func(token string) (authority.Identity, error) { return authorities.User(token, time.Now()) },
	})}
}

// call is a caller's call.
func (w world) call(t *testing.T, who, method, namespace string, request any) (authorization.Result, error) {
	t.Helper()
	info := &authorization.AuthInfo{}
	switch who {
	case "":
	case "a viewer's own token", "a token of worker's certificate":
		info.AuthToken = "Bearer " + w.token(t, who)
	case "certificate of worker", "certificate of bridge", "certificate of a user called worker", "certificate of the server":
		info.TLSConnection = w.connection(t, who[len("certificate of "):])
	default:
		info.AuthToken = "Bearer " + who
	}
	claims, err := access.ClaimMapper().GetClaims(info)
	require.NoError(t, err)
	return w.authorizer.Authorize(t.Context(), claims, &authorization.CallTarget{
		APIName: api.WorkflowServicePrefix + method, Namespace: namespace, Request: request,
	})
}

func (w world) token(t testing.TB, who string) string {
	t.Helper()
	pair, err := w.authorities.Program(authority.Worker, time.Now())
	require.NoError(t, err)
	if who == "a viewer's own token" {
		request, err := authority.NewRequest()
		require.NoError(t, err)
		viewer := authority.Identity{User: &authenticationv1.UserInfo{Username: "viewer"}}
		signed, err := w.authorities.Person(viewer, request.Certificate, time.Now())
		require.NoError(t, err)
		pair = authority.Pair{Certificate: signed, Key: request.Key}
	}
	token, err := pair.Token()
	require.NoError(t, err)
	return token
}

func (w world) connection(t testing.TB, of string) *credentials.TLSInfo {
	t.Helper()
	var data []byte
	switch of {
	case "a user called worker":
		data = personal(t, w.authorities, authority.Identity{User: &authenticationv1.UserInfo{Username: "worker"}})
	case "the server":
		pair, err := w.authorities.Server([]string{"ostinato-temporal"}, nil, time.Now())
		require.NoError(t, err)
		data = pair.Certificate
	default:
		pair, err := w.authorities.Program(of, time.Now())
		require.NoError(t, err)
		data = pair.Certificate
	}
	block, _ := pem.Decode(data)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return &credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{certificate}}}}
}

func signal(workflow, name string) *workflowservice.SignalWorkflowExecutionRequest {
	return &workflowservice.SignalWorkflowExecutionRequest{WorkflowExecution: execution(workflow), SignalName: name}
}

func update(workflow, name string) *workflowservice.UpdateWorkflowExecutionRequest {
	return &workflowservice.UpdateWorkflowExecutionRequest{
		WorkflowExecution: execution(workflow), Request: &updatepb.Request{Input: &updatepb.Input{Name: name}},
	}
}

func history(workflow string) *workflowservice.GetWorkflowExecutionHistoryRequest {
	return &workflowservice.GetWorkflowExecutionHistoryRequest{Execution: execution(workflow)}
}

func query(workflow string) *workflowservice.QueryWorkflowRequest {
	return &workflowservice.QueryWorkflowRequest{Execution: execution(workflow), Query: &querypb.WorkflowQuery{QueryType: "describe"}}
}

func execution(workflow string) *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: workflow}
}

const (
	cronJob = "cronjob/shop/hello"
	native  = "batch-cronjob/shop/hello"
	job     = "job/shop/hello-1"
)

func TestWhoMayCallWhat(t *testing.T) {
	for _, test := range []struct {
		who, method string
		request     any
		refused     string // "" if it is allowed
	}{
		{"viewer", "GetWorkflowExecutionHistory", history(cronJob), ""},
		{"viewer", "GetWorkflowExecutionHistory", history(native), ""},
		{"viewer", "GetWorkflowExecutionHistory", history(job), ""},
		{"viewer", "QueryWorkflow", query(cronJob), ""},
		{"viewer", "ListWorkflowExecutions", nil, ""},
		{"auditor", "ListWorkflowExecutions", nil, "list cronjobs.batch in all namespaces"},
		{"viewer", "DescribeTaskQueue", nil, ""},
		{"viewer", "SignalWorkflowExecution", signal(cronJob, "suspend"), `does not let them patch cronjobs.batch.ostinato.dev hello in namespace shop`},
		{"viewer", "SignalWorkflowExecution", signal(cronJob, "trigger"), `does not let them create jobs.batch in namespace shop`},
		{"viewer", "GetWorkflowExecutionHistory", history("job/bank/hello"), `does not let them get pods/log in namespace bank`},
		{"viewer", "GetWorkflowExecutionHistory", history("podwatch/0-of-1"), `"podwatch/0-of-1" stands for no CronJob or Job`},
		{"viewer", "GetWorkflowExecutionHistory", history("cronjob/shop/hello/x"), "stands for no CronJob or Job"},
		{"a viewer's own token", "QueryWorkflow", query(cronJob), ""},
		{"a viewer's own token", "SignalWorkflowExecution", signal(cronJob, "suspend"), "patch cronjobs"},
		{"a token of worker's certificate", "PollWorkflowTaskQueue", nil, "programs have no tokens"},
		{"editor", "SignalWorkflowExecution", signal(cronJob, "suspend"), ""},
		{"editor", "SignalWorkflowExecution", signal(cronJob, "resume"), ""},
		{"editor", "SignalWorkflowExecution", signal(job, "suspend"), ""},
		{"editor", "SignalWorkflowExecution", signal(job, "stop"), ""},
		{"viewer", "SignalWorkflowExecution", signal(job, "stop"), "does not let them patch jobs.batch"},
		{"starter", "SignalWorkflowExecution", signal(job, "stop"), "does not let them patch jobs.batch"},
		{"editor", "SignalWorkflowExecution", signal(cronJob, "stop"), `"stop" is not for people; send suspend, resume, trigger, backfill`},
		{"editor", "SignalWorkflowExecution", signal("cronjob/bank/hello", "suspend"), "in namespace bank"},
		{"editor", "SignalWorkflowExecution", signal(native, "suspend"), "does not let them patch cronjobs.batch hello in namespace shop"},
		{"editor", "SignalWorkflowExecution", signal(cronJob, "trigger"), "create jobs.batch"},
		{"editor", "SignalWorkflowExecution", signal(cronJob, "deleted"), `"deleted" is not for people; send suspend, resume, trigger, backfill`},
		{"editor", "SignalWorkflowExecution", signal(cronJob, "cronjob-spec"), "is not for people"},
		{"editor", "SignalWorkflowExecution", signal(job, "pods"), `"pods" is not for people; send suspend, resume, stop`},
		{"editor", "SignalWorkflowExecution", signal(job, "job-spec"), "is not for people"},
		{"editor", "SignalWorkflowExecution", signal(cronJob, ""), "is not for people"},
		{"editor", "GetWorkflowExecutionHistory", history(job), "pods/log"},
		{"editor", "GetWorkflowExecutionHistory", history(cronJob), "pods/log"},
		{"editor", "QueryWorkflow", query(cronJob), ""},
		{"editor", "QueryWorkflow", query(job), "pods/log"},
		{"editor", "ListWorkflowExecutions", nil, "list cronjobs.batch.ostinato.dev in all namespaces"},
		{"editor", "TerminateWorkflowExecution", &workflowservice.TerminateWorkflowExecutionRequest{WorkflowExecution: execution(cronJob)}, "for administrators"},
		{"editor", "SignalWithStartWorkflowExecution", &workflowservice.SignalWithStartWorkflowExecutionRequest{WorkflowId: cronJob, SignalName: "suspend"}, "for administrators"},
		{"editor", "StartBatchOperation", &workflowservice.StartBatchOperationRequest{}, "for administrators"},
		{"starter", "UpdateWorkflowExecution", update(cronJob, "trigger"), ""},
		{"starter", "UpdateWorkflowExecution", update(cronJob, "backfill"), ""},
		{"starter", "UpdateWorkflowExecution", update(cronJob, "restore-ledger"), `"restore-ledger" is for administrators`},
		{"editor", "UpdateWorkflowExecution", update(cronJob, "restore-ledger"), `"restore-ledger" is for administrators`},
		{"starter", "SignalWorkflowExecution", signal(cronJob, "trigger"), ""},
		{"starter", "UpdateWorkflowExecution", update(job, "trigger"), "is not for people"},
		{"starter", "UpdateWorkflowExecution", update(cronJob, "suspend"), "patch cronjobs"},
		{"stranger", "QueryWorkflow", query(cronJob), "get cronjobs.batch.ostinato.dev hello in namespace shop"},
		{"admin", "UpdateWorkflowExecution", update(cronJob, "restore-ledger"), ""},
		{"admin", "TerminateWorkflowExecution", &workflowservice.TerminateWorkflowExecutionRequest{}, ""},
		{"worker", "PollWorkflowTaskQueue", nil, "for administrators"},
		{"nobody's", "QueryWorkflow", query(cronJob), "knows no such token with the audience ostinato-temporal"},
		{"", "QueryWorkflow", query(cronJob), "neither a certificate nor a token"},
		{"", "GetSystemInfo", nil, ""},
		{"certificate of worker", "PollWorkflowTaskQueue", nil, ""},
		{"certificate of worker", "RespondActivityTaskCompleted", nil, ""},
		{"certificate of worker", "QueryWorkflow", query(cronJob), ""},
		{"certificate of worker", "UpdateWorkflowExecution", update(cronJob, "restore-ledger"), `program "worker"`},
		{"certificate of worker", "TerminateWorkflowExecution", nil, `program "worker"`},
		{"certificate of bridge", "TerminateWorkflowExecution", nil, ""},
		{"certificate of bridge", "SignalWithStartWorkflowExecution", nil, ""},
		{"certificate of bridge", "PollWorkflowTaskQueue", nil, `program "bridge"`},
		{"certificate of bridge", "StartBatchOperation", nil, `program "bridge"`},
		{"certificate of a user called worker", "PollWorkflowTaskQueue", nil, `"worker" may not call PollWorkflowTaskQueue: it is for administrators`},
		{"certificate of the server", "PollWorkflowTaskQueue", nil, "names no identity"},
	} {
		t.Run(test.who+" "+test.method+" "+test.refused, func(t *testing.T) {
			result, err := newWorld(t, false).call(t, test.who, test.method, temporalNamespace, test.request)
			if test.refused == "" {
				require.NoError(t, err)
				assert.Equal(t, authorization.DecisionAllow, result.Decision, result.Reason)
				return
			}
			assert.Equal(t, authorization.DecisionDeny, result.Decision)
			assert.Contains(t, result.Reason, test.refused)
			if err != nil {
				assert.ErrorContains(t, err, test.refused, "a person reads the message")
			}
			assert.Nil(t, result.Principal)
		})
	}
}

func TestAnotherTemporalNamespaceIsForAdministrators(t *testing.T) {
	w := newWorld(t, false)
	for _, who := range []string{"viewer", "certificate of worker", "certificate of bridge"} {
		result, _ := w.call(t, who, "QueryWorkflow", "temporal-system", query(cronJob))
		assert.Equal(t, authorization.DecisionDeny, result.Decision, who)
	}
	result, err := w.call(t, "admin", "QueryWorkflow", "temporal-system", query(cronJob))
	require.NoError(t, err)
	assert.Equal(t, authorization.DecisionAllow, result.Decision)
}

func TestACallThatConcernsNoNamespace(t *testing.T) {
	w := newWorld(t, false)
	result, err := w.call(t, "stranger", "ListNamespaces", "", &workflowservice.ListNamespacesRequest{})
	require.NoError(t, err)
	assert.Equal(t, authorization.DecisionAllow, result.Decision)
	// Without a namespace the server would look it up by its ID.
	result, _ = w.call(t, "stranger", "DescribeNamespace", "", &workflowservice.DescribeNamespaceRequest{Id: "x"})
	assert.Equal(t, authorization.DecisionDeny, result.Decision)
}

func TestTheServersOwnCallsAreAllowed(t *testing.T) {
	claims, err := authorization.NewInternalClaimMapper().GetClaims(&authorization.AuthInfo{})
	require.NoError(t, err)
	result, err := newWorld(t, true).authorizer.Authorize(t.Context(), claims, &authorization.CallTarget{APIName: api.WorkflowServicePrefix + "StartWorkflowExecution"})
	require.NoError(t, err)
	assert.Equal(t, authorization.DecisionAllow, result.Decision)
}

// Programs go on with their certificates while the API server is away.
func TestPeopleAreRefusedWhileTheAPIServerIsAway(t *testing.T) {
	w := newWorld(t, true)
	result, err := w.call(t, "viewer", "QueryWorkflow", temporalNamespace, query(cronJob))
	assert.ErrorAs(t, err, new(*serviceerror.Unavailable))
	assert.NotEqual(t, authorization.DecisionAllow, result.Decision)
	result, err = w.call(t, "certificate of worker", "PollWorkflowTaskQueue", temporalNamespace, nil)
	require.NoError(t, err)
	assert.Equal(t, authorization.DecisionAllow, result.Decision)
}

func TestTheCallersNameIsThatOfTheAPIServer(t *testing.T) {
	result, err := newWorld(t, false).call(t, "admin", "TerminateWorkflowExecution", temporalNamespace, nil)
	require.NoError(t, err)
	assert.Equal(t, "root", result.Principal.GetName())
	assert.Equal(t, "kubernetes", result.Principal.GetType())
	result, err = newWorld(t, false).call(t, "certificate of bridge", "StartWorkflowExecution", temporalNamespace, nil)
	require.NoError(t, err)
	assert.Equal(t, "bridge", result.Principal.GetName())
	assert.Equal(t, "certificate", result.Principal.GetType())
}
