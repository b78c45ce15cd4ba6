package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The local attempt ends well before a workflow task does (10 s), so that an
// outage of the API server never makes workflow tasks heartbeat.
const (
	localAttemptTimeout = 4 * time.Second
	localBudget         = 5 * time.Second
)

// callKube runs an activity that talks to the API server: as a local activity
// first, which costs one history event, then, when the API server is slow or
// down, as a regular activity, which is retried until the API server answers
// and costs no events while it is. Errors that a repetition can't change
// (non-retryable application errors) and cancellation come back at once.
//
// The summary is what the Temporal UI shows for the call.
func callKube[Result any](ctx workflow.Context, summary, activity string, request any) (Result, error) {
	var result Result
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    localAttemptTimeout,
		ScheduleToCloseTimeout: localBudget,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond,
			MaximumAttempts: 2,
		},
	})
	err := workflow.ExecuteLocalActivity(local, activity, request).Get(ctx, &result)
	if err == nil || final(err) {
		return result, err
	}
	return callKubeDurably[Result](ctx, summary, activity, request)
}

// callKubeDurably runs the activity as a regular one, retried until the API server
// answers. Its answer is in the history before anything that follows from it is done,
// which a local activity's is not: that one is asked again when the workflow task
// fails or its worker dies after effects that came later in the same task. It is for
// what must not be read twice.
func callKubeDurably[Result any](ctx workflow.Context, summary, activity string, request any) (Result, error) {
	var result Result
	regular := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    10 * time.Second,
		},
	})
	err := workflow.ExecuteActivity(regular, activity, request).Get(ctx, &result)
	return result, err
}

// final reports whether repeating the call can't help.
func final(err error) bool {
	if temporal.IsCanceledError(err) {
		return true
	}
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.NonRetryable()
}
