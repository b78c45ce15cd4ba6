package access

import (
	"context"
	"strconv"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/server/common/headers"
	"google.golang.org/grpc"

	"ostinato.dev/ostinato/internal/names"
)

// StampCaller is an interceptor that sets the header by which a workflow hears who sends a signal or update, and removes what the sender
// has put there. It runs after the caller was authorized.
func StampCaller(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	stamp(request, callerOf(headers.GetPrincipal(ctx)))
	return handler(ctx, request)
}

// escaped is a user's name in a principal. Temporal's services pass that on in gRPC's metadata, which takes printable ASCII alone: a call
// with another name would fail.
func escaped(user string) string {
	quoted := strconv.QuoteToASCII(user)
	return quoted[1 : len(quoted)-1]
}

// callerOf tells a user from a program of the same name. It is empty if there is no principal.
func callerOf(principal *commonpb.Principal) string {
	if principal == nil {
		return ""
	}
	name := principal.GetName()
	if principal.GetType() == byKubernetes {
		user, err := strconv.Unquote(`"` + name + `"`)
		if err != nil {
			return ""
		}
		name = user
	}
	return principal.GetType() + ":" + name
}

func stamp(request any, caller string) {
	switch r := request.(type) {
	case *workflowservice.SignalWorkflowExecutionRequest:
		r.Header = stamped(r.GetHeader(), caller)
	case *workflowservice.SignalWithStartWorkflowExecutionRequest:
		r.Header = stamped(r.GetHeader(), caller)
	case *workflowservice.UpdateWorkflowExecutionRequest:
		if r.GetRequest().GetInput() != nil {
			r.Request.Input.Header = stamped(r.Request.Input.GetHeader(), caller)
		}
	case *workflowservice.ExecuteMultiOperationRequest:
		for _, operation := range r.GetOperations() {
			stamp(operation.GetUpdateWorkflow(), caller)
		}
	}
}

// stamped is a header that names the caller, without one if there is none.
func stamped(header *commonpb.Header, caller string) *commonpb.Header {
	if caller == "" {
		delete(header.GetFields(), names.CallerHeader)
		return header
	}
	if header == nil {
		header = &commonpb.Header{}
	}
	if header.Fields == nil {
		header.Fields = map[string]*commonpb.Payload{}
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(caller)
	if err != nil {
		delete(header.Fields, names.CallerHeader)
		return header
	}
	header.Fields[names.CallerHeader] = payload
	return header
}
