package host

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

// byCertificate is how callers are known.
const byCertificate = "mtls"

// claimMapper knows a caller by the common name of the certificate that TLS has verified, and by nothing else: tokens in
// headers are not looked at.
type claimMapper struct{}

func (claimMapper) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	if info.TLSSubject == nil {
		return nil, errors.New("no verified client certificate")
	}
	return &authorization.Claims{Subject: info.TLSSubject.CommonName, AuthType: byCertificate}, nil
}

// writes are the methods by which a caller changes something in the namespace.
var writes = map[string]map[string]bool{
	spec.Worker: methods(
		"PollWorkflowTaskQueue", "RespondWorkflowTaskCompleted", "RespondWorkflowTaskFailed", "RespondQueryTaskCompleted",
		"PollActivityTaskQueue", "RecordActivityTaskHeartbeat", "RespondActivityTaskCompleted", "RespondActivityTaskFailed",
		"RespondActivityTaskCanceled", "RecordWorkerHeartbeat", "ShutdownWorker",
		"StartWorkflowExecution", "SignalWorkflowExecution", "SignalWithStartWorkflowExecution",
	),
	spec.Bridge: methods(
		"StartWorkflowExecution", "SignalWorkflowExecution", "SignalWithStartWorkflowExecution", "TerminateWorkflowExecution",
		"UpdateWorkflowExecutionOptions",
	),
	spec.Viewer: nil,
}

func methods(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[api.WorkflowServicePrefix+name] = true
	}
	return set
}

// authorizer lets the administrator and the server itself do everything. Worker and bridge may read what is in the
// namespace and call what their work needs; the Web UI may read, what there is beside the namespace too. Everybody else may do nothing: a certificate of the
// authority is not enough.
type authorizer struct{ namespace string }

func (a authorizer) Authorize(_ context.Context, claims *authorization.Claims, target *authorization.CallTarget) (authorization.Result, error) {
	if claims == nil {
		return deny("nobody", target), nil
	}
	allow := authorization.Result{
		Decision:  authorization.DecisionAllow,
		Principal: &commonpb.Principal{Type: claims.AuthType, Name: claims.Subject},
	}
	if claims.Subject == spec.Admin || claims.Subject == spec.System {
		return allow, nil
	}
	allowed, known := writes[claims.Subject]
	if !known {
		return deny(claims.Subject, target), nil
	}
	method := api.GetMethodMetadata(target.APIName)
	switch {
	case authorization.IsHealthCheckAPI(target.APIName):
	case claims.Subject == spec.Viewer && method.Scope == api.ScopeCluster && method.Access == api.AccessReadOnly:
	case target.Namespace == a.namespace && (method.Access == api.AccessReadOnly || allowed[target.APIName]):
	default:
		return deny(claims.Subject, target), nil
	}
	return allow, nil
}

func deny(subject string, target *authorization.CallTarget) authorization.Result {
	return authorization.Result{
		Decision: authorization.DecisionDeny,
		Reason:   fmt.Sprintf("%q may not call %s in namespace %q", subject, target.APIName, target.Namespace),
	}
}
