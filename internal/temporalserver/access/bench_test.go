package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"

	"ostinato.dev/ostinato/internal/temporalserver/access"
)

// BenchmarkAuthorize measures what a call costs at the door while the API server's answers hold: no question is asked.
func BenchmarkAuthorize(b *testing.B) {
	server := newAPIServer()
	w := worldOf(b, access.NewReviews(server))
	token := "Bearer " + w.token(b, "a viewer's own token")
	for name, call := range map[string]struct {
		info   authorization.AuthInfo
		method string
		asks   any
	}{
		"worker polls by its certificate":     {authorization.AuthInfo{TLSConnection: w.connection(b, "worker")}, "PollWorkflowTaskQueue", nil},
		"person signals by a certificate":     {authorization.AuthInfo{TLSConnection: w.connection(b, "a user called worker")}, "SignalWorkflowExecution", signal(cronJob, "suspend")},
		"person signals by its token":         {authorization.AuthInfo{AuthToken: token}, "SignalWorkflowExecution", signal(cronJob, "suspend")},
		"ServiceAccount signals by its token": {authorization.AuthInfo{AuthToken: "Bearer good"}, "SignalWorkflowExecution", signal(cronJob, "suspend")},
	} {
		b.Run(name, func(b *testing.B) {
			target := &authorization.CallTarget{APIName: api.WorkflowServicePrefix + call.method, Namespace: temporalNamespace, Request: call.asks}
			began := time.Now()
			before := server.asked
			for b.Loop() {
				claims, err := access.ClaimMapper().GetClaims(&call.info)
				require.NoError(b, err)
				result, err := w.authorizer.Authorize(b.Context(), claims, target)
				require.NoError(b, err)
				if result.Decision != authorization.DecisionAllow {
					b.Fatal(result.Reason)
				}
			}
			if asked, most := server.asked-before, 2+2*int(time.Since(began)/(5*time.Second)); asked > most {
				b.Errorf("%d questions, want %d at most: answers do not hold", asked, most)
			}
		})
	}
}
