package host

import (
	"crypto/x509/pkix"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

func TestTheCommonNameDecides(t *testing.T) {
	const ours, other = "default", "temporal-system"
	for _, test := range []struct {
		caller, method, namespace string
		allowed                   bool
	}{
		{spec.Admin, "UpdateNamespace", ours, true},
		{spec.System, "PollWorkflowTaskQueue", other, true},
		{spec.Worker, "PollWorkflowTaskQueue", ours, true},
		{spec.Worker, "PollWorkflowTaskQueue", other, false},
		{spec.Worker, "TerminateWorkflowExecution", ours, false},
		{spec.Worker, "GetSystemInfo", "", true},
		{spec.Worker, "ListNamespaces", "", false},
		{spec.Viewer, "ListNamespaces", "", true},
		{spec.Bridge, "SignalWithStartWorkflowExecution", ours, true},
		{spec.Bridge, "RespondWorkflowTaskCompleted", ours, false},
		{spec.Bridge, "UpdateWorkflowExecutionOptions", ours, true},
		{spec.Worker, "UpdateWorkflowExecutionOptions", ours, false},
		{spec.Bridge, "DescribeWorkflowExecution", ours, true},
		{spec.Bridge, "DescribeWorkflowExecution", other, false},
		{spec.Viewer, "ListWorkflowExecutions", ours, true},
		{spec.Viewer, "SignalWorkflowExecution", ours, false},
		{"stranger", "GetSystemInfo", "", false},
		{"stranger", "DescribeNamespace", ours, false},
		{"", "DescribeNamespace", ours, false},
		{spec.Worker, "NoSuchMethod", ours, false},
	} {
		claims, err := claimMapper{}.GetClaims(&authorization.AuthInfo{TLSSubject: &pkix.Name{CommonName: test.caller}})
		require.NoError(t, err)
		result, err := authorizer{namespace: ours}.Authorize(t.Context(), claims, &authorization.CallTarget{
			APIName: api.WorkflowServicePrefix + test.method, Namespace: test.namespace,
		})
		require.NoError(t, err)
		assert.Equal(t, test.allowed, result.Decision == authorization.DecisionAllow, "%q, %s in %q", test.caller, test.method, test.namespace)
	}
}

func TestATokenIsNoCertificate(t *testing.T) {
	_, err := claimMapper{}.GetClaims(&authorization.AuthInfo{AuthToken: "Bearer " + spec.Admin})
	require.Error(t, err)
	result, err := authorizer{namespace: "default"}.Authorize(t.Context(), nil, &authorization.CallTarget{})
	require.NoError(t, err)
	assert.Equal(t, authorization.DecisionDeny, result.Decision)
}
