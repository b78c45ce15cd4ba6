package activities

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/protocol"
)

// refusedReasons are the types of the errors by which an activity refuses a request that no
// workflow of Ostinato's makes, and the reason of a Refusal that says the same of a start or of Pods.
var refusedReasons = []string{
	protocol.InvalidRequestErrorType, NotServedErrorType, NotTakenOverErrorType, protocol.RefusedNotPrescribed,
}

// refusalsLogged bounds the refusals a second of which the log says who asked: whoever may write
// to Temporal may ask as often as he likes.
const refusalsLogged = 1

// register registers an activity that is about an object. It refuses what no workflow asks for before anything
// is asked of the API server, counts what it refuses, and says who has asked.
func register[Request, Result any](a *Activities, registry Registry, name string, about func(Request) subject, perform func(context.Context, Request) (Result, error)) {
	registry.RegisterActivityWithOptions(func(ctx context.Context, request Request) (result Result, err error) {
		if err = a.serves(about(request)); err == nil {
			result, err = perform(ctx, request)
		}
		a.countRefused(ctx, name, cmp.Or(refusedFor(err), notPrescribed(result)), err)
		return result, err
	}, activity.RegisterOptions{Name: name})
}

// refusedFor returns the reason for which an error refuses a request; empty for other errors.
func refusedFor(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) && slices.Contains(refusedReasons, application.Type()) {
		return application.Type()
	}
	return ""
}

// notPrescribed returns the reason of a result which says that the object does not ask for what the
// request does; empty for others.
func notPrescribed(result any) string {
	var refused *protocol.Refusal
	switch result := result.(type) {
	case protocol.StartRunResult:
		refused = result.Refused
	case protocol.JobResult:
		refused = result.Refused
	}
	if refused == nil || refused.Reason != protocol.RefusedNotPrescribed {
		return ""
	}
	return refused.Reason
}

// countRefused counts a request that was refused, unless reason is empty.
func (a *Activities) countRefused(ctx context.Context, name, reason string, err error) {
	if reason == "" {
		return
	}
	a.Metrics.requestsRefused.WithLabelValues(name, reason).Inc()
	if activity.IsActivity(ctx) && a.refusedLog.Allow() {
		// The SDK's logger says which workflow and run have asked.
		activity.GetLogger(ctx).Warn("Request refused: no workflow of Ostinato's makes it", "reason", reason, "error", err)
	}
}
