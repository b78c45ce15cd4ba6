package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// NotServedErrorType: the object is in a namespace that this worker does not serve
// (Options.Namespaces); not retryable, since every worker of a cluster serves the same.
const NotServedErrorType = "NamespaceNotServed"

// NotTakenOverErrorType: the object is a CronJob of batch/v1, and this worker does not
// take those over (Options.TakeOverCronJobs); not retryable, as above.
const NotTakenOverErrorType = "NotTakenOver"

// subject is the object that a request is about.
type subject struct {
	protocol.ObjectReference
	// job: it is a Job, and otherwise a CronJob.
	job bool
}

func aJob(reference protocol.ObjectReference) subject { return subject{reference, true} }

func aCronJob(reference protocol.ObjectReference) subject { return subject{reference, false} }

// serves returns an error that is not to be retried for what can't be the reference of
// an object, and for an object that is none of these activities' business: in a namespace
// that they don't serve, or of the built-in controller.
func (a *Activities) serves(object subject) error {
	if err := object.Validate(); err != nil {
		return invalidRequest(err)
	}
	if object.job && object.Native {
		return invalidRequest(errors.New("native says of a CronJob that it is one of batch/v1, and of nothing else"))
	}
	if object.Native && !a.TakeOverCronJobs {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
			"this worker does not take over CronJobs of batch/v1, such as %s/%s: run every worker and bridge with --takeover=cronjobs, or end the workflow",
			object.Namespace, object.Name), NotTakenOverErrorType, nil)
	}
	if k8s.Serves(a.Namespaces, object.Namespace) {
		return nil
	}
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
		"this worker does not serve namespace %q of %s, but %s: add it to --namespaces of every worker and bridge, and give them its rights (deploy/namespace)",
		object.Namespace, object.Name, strings.Join(a.Namespaces, ", ")), NotServedErrorType, nil)
}

// serving returns the activity behind that check, which needs no request to the API
// server. No activity that is about an object is registered without it.
func serving[Request, Result any](a *Activities, about func(Request) subject, activity func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, request Request) (Result, error) {
		if err := a.serves(about(request)); err != nil {
			var none Result
			return none, err
		}
		return activity(ctx, request)
	}
}
