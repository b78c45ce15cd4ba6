package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// A local attempt ends well within a workflow task (10 s): an API server outage never makes tasks heartbeat.
	localAttemptTimeout = 4 * time.Second
	localBudget         = 5 * time.Second
	// Regular attempts heartbeat, so that a lost worker is noticed and a cancelled call ends.
	regularAttemptTimeout = 30 * time.Second
	regularHeartbeat      = 5 * time.Second
	// regularBudget bounds a call, after which its workflow plans anew.
	regularBudget = 10 * time.Minute
	// startHeartbeat plus startRetry is how much later a run begins if its worker is lost. An attempt that waits for
	// its time may be silent for startPatience longer at most: 1,000 of them would keep Temporal from preparing the rest.
	startHeartbeat = 4 * time.Second
	startPatience  = 2 * time.Second
	startRetry     = 300 * time.Millisecond

	// bulkTimeout bounds a bulk activity, which is rate limited and may queue: only its heartbeat reveals a lost
	// worker.
	bulkTimeout   = time.Hour
	bulkHeartbeat = 10 * time.Second
)

// call is one activity to be run: by default as a local activity, which costs one history event, and if the API server
// is slow or down as a regular one, which is retried until it answers.
type call struct {
	// summary is what the Temporal UI shows for the call.
	summary  string
	activity string
	request  any

	// local bounds a single local attempt; 0 means two within localBudget. slow is called if it ends without an answer.
	local time.Duration
	slow  func()
	// queue is a bulk task queue; empty for the workflow's own.
	queue string
	// first says that the call must be in the history before it is made, as those of some activities always are.
	first bool
	// givesWay is asked whenever something arrives during a regular attempt: true gives the call up. nil means never.
	givesWay func() bool
	// until is when the call is given up at the latest; zero means by its budget.
	until time.Time
	// budget bounds a regular call; 0 means regularBudget.
	budget time.Duration
	// early is how long the time of a start is away.
	early time.Duration
}

// errGaveWay says that a call was given up for something that arrived. It may have been carried out in part.
var errGaveWay = errors.New("the call gave way")

// perform makes the call. Errors that a repetition can't change (non-retryable application errors), cancellation and
// errGaveWay come back at once.
func perform[Result any](ctx workflow.Context, c call) (result Result, err error) {
	if !c.recorded() && c.queue == "" {
		err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, c.localOptions()), c.activity, c.request).Get(ctx, &result)
		if err == nil || final(err) {
			return result, err
		}
		if c.slow != nil {
			c.slow()
		}
	}
	regular, giveUp := workflow.WithCancel(workflow.WithActivityOptions(ctx, c.options(ctx)))
	defer giveUp()
	answer := workflow.ExecuteActivity(regular, c.activity, c.request)
	if err := c.await(ctx, answer, giveUp); err != nil {
		return result, err
	}
	err = answer.Get(ctx, &result)
	return result, err
}

// recorded reports whether the call is in the history before it is made, and its answer before anything follows from
// it. A local activity is repeated if its workflow task fails after later effects in the same task.
func (c call) recorded() bool {
	switch c.activity {
	case protocol.StartRunActivity, protocol.FindRunsActivity, protocol.ListPodsActivity, protocol.TerminatePodsActivity, protocol.SetSuspendActivity:
		return true
	}
	return c.first
}

// await waits for the answer, or gives the call up.
func (c call) await(ctx workflow.Context, answer workflow.Future, giveUp workflow.CancelFunc) error {
	if c.givesWay == nil {
		return nil
	}
	over := func() bool { return answer.IsReady() || c.givesWay() }
	if c.until.IsZero() {
		if err := workflow.Await(ctx, over); err != nil {
			return err
		}
	} else if _, err := workflow.AwaitWithTimeout(ctx, max(c.until.Sub(workflow.Now(ctx)), 0), over); err != nil {
		return err
	}
	if answer.IsReady() {
		return nil
	}
	giveUp()
	// The attempt under way ends first, so that it does not act beside the next plan.
	if err := answer.Get(ctx, nil); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errGaveWay
}

func (c call) localOptions() workflow.LocalActivityOptions {
	options := workflow.LocalActivityOptions{
		StartToCloseTimeout:    localAttemptTimeout,
		ScheduleToCloseTimeout: localBudget,
		Summary:                c.summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond,
			MaximumAttempts: 2,
		},
	}
	if c.local > 0 {
		options.StartToCloseTimeout, options.ScheduleToCloseTimeout, options.RetryPolicy.MaximumAttempts = c.local, c.local, 1
	}
	return options
}

func (c call) options(ctx workflow.Context) workflow.ActivityOptions {
	options := workflow.ActivityOptions{
		TaskQueue:              c.queue,
		StartToCloseTimeout:    regularAttemptTimeout,
		ScheduleToCloseTimeout: regularBudget,
		HeartbeatTimeout:       regularHeartbeat,
		WaitForCancellation:    true,
		Summary:                c.summary,
		Priority:               priority(ctx, c.work()),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    10 * time.Second,
		},
	}
	switch c.activity {
	case protocol.ListPodsActivity, protocol.TerminatePodsActivity, protocol.CarryOutActivity:
		// A list of 100,000 Pods, or creates that wait for a slow webhook, may take long.
		options.StartToCloseTimeout = regularBudget
	}
	if c.activity == protocol.StartRunActivity {
		// It is retried until the API server answers.
		options.ScheduleToCloseTimeout, options.HeartbeatTimeout, options.RetryPolicy.InitialInterval = 0, startHeartbeat+min(c.early, startPatience), startRetry
	}
	if c.budget > 0 {
		options.ScheduleToCloseTimeout = c.budget
	}
	if c.queue != "" {
		options.StartToCloseTimeout, options.ScheduleToCloseTimeout = bulkTimeout, 0
		options.HeartbeatTimeout = bulkHeartbeat
		options.RetryPolicy.MaximumInterval = 30 * time.Second
	}
	return options
}

// final reports whether repeating the call can't help.
func final(err error) bool {
	if temporal.IsCanceledError(err) {
		return true
	}
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.NonRetryable()
}

// standing is the namespace a workflow works for, and the weights of namespaces.
type standing struct {
	namespace string
	weights   order.Weights
}

type standingKey struct{}

// inOrder returns a context whose calls and children stand in Temporal's task queues as work for a namespace.
func inOrder(ctx workflow.Context, weights order.Weights, namespace string) workflow.Context {
	return workflow.WithValue(ctx, standingKey{}, standing{namespace, weights})
}

// priority says where work stands in a task queue. Replays do not compare it: it may change without a version marker.
func priority(ctx workflow.Context, work order.Work) temporal.Priority {
	s, _ := ctx.Value(standingKey{}).(standing)
	return s.weights.Priority(order.Place{Work: work, Namespace: s.namespace})
}

// work says what kind of work a call is.
func (c call) work() order.Work {
	switch c.activity {
	case protocol.StartRunActivity:
		return order.Due
	case protocol.WriteStatusActivity:
		return order.Told
	case protocol.FindRunsActivity, protocol.SignalAcceptedActivity, protocol.ListPodsActivity, protocol.TerminatePodsActivity, protocol.SetSuspendActivity:
		return order.Asked
	case protocol.ReleaseOrphansActivity:
		return order.Over
	}
	return order.Running
}
