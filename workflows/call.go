package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/converter"
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
	// startBudget bounds a start, which waits for its time by the clock of its worker: that may be behind by as much.
	startBudget = 24 * time.Hour
	// startHeartbeat plus startRetry is how much later a run begins if its worker is lost. An attempt that waits for
	// its time may be silent for startPatience longer at most: 1,000 of them would keep Temporal from preparing the rest.
	startHeartbeat = 4 * time.Second
	startPatience  = 2 * time.Second
	startRetry     = 300 * time.Millisecond
	// listTimeout is there because Temporal wants one.
	listTimeout = 24 * time.Hour

	// bulkHeartbeat is longer: bulk work goes on for minutes, and its worker is busy.
	bulkHeartbeat = 10 * time.Second
)

// kind is how an activity is called.
type kind struct {
	name string
	work order.Work
	// recorded says that a call is in the history before it is made, and its answer before anything follows from it. A
	// local activity is repeated if its workflow task fails after later effects in the same task.
	recorded bool
	// long says that an attempt may take long: a search of 100,000 Jobs, or creates that wait for slow webhooks.
	long bool
	// lists says that the call lists Pods. It ends with its answer, however many they are: only heartbeats say that it goes on.
	lists bool
}

// activity is a kind with what the activity answers.
type activity[Result any] kind

var (
	startRun       = activity[protocol.StartRunResult]{name: protocol.StartRunActivity, work: order.Due, recorded: true, long: true}
	writeStatus    = activity[protocol.WriteStatusResult]{name: protocol.WriteStatusActivity, work: order.Told}
	findRuns       = activity[protocol.FindRunsResult]{name: protocol.FindRunsActivity, work: order.Asked, recorded: true, long: true}
	takesBackfill  = activity[protocol.FindRunsResult]{name: protocol.FindRunsActivity, work: order.Asked}
	setSuspend     = activity[protocol.SetSuspendResult]{name: protocol.SetSuspendActivity, work: order.Asked, recorded: true}
	carryOut       = activity[protocol.JobResult]{name: protocol.CarryOutActivity, work: order.Running, long: true}
	releaseOrphans = activity[protocol.ReleaseOrphansResult]{name: protocol.ReleaseOrphansActivity, work: order.Over, recorded: true}
	listPods       = activity[protocol.PodList]{name: protocol.ListPodsActivity, work: order.Asked, recorded: true, lists: true}
	terminatePods  = activity[protocol.PodList]{name: protocol.TerminatePodsActivity, work: order.Asked, recorded: true, lists: true}
)

// callOptions say how one call differs from others of its kind.
type callOptions struct {
	// slow is called if a single local attempt within jobLocalBudget had no answer; nil means two within localBudget.
	slow func()
	// queue is a bulk task queue; empty for the workflow's own.
	queue string
	// work is what a regular call is that stands elsewhere than others of its kind; 0 for none.
	work order.Work
	// first says that the call must be in the history before it is made, as those of a recorded kind always are.
	first bool
	// givesWay is asked whenever something arrives during a regular attempt: true gives the call up. nil means never.
	givesWay func() bool
	// until is when the call is given up at the latest; zero means by its budget.
	until time.Time
	// alarm ends the call too where it goes off by until: a workflow keeps one timer. It may be nil.
	alarm *alarm
	// budget bounds a regular call; 0 means regularBudget.
	budget time.Duration
	// early is how long the time of a start is away.
	early time.Duration
}

// errGaveWay says that a call was given up for something that arrived. It may have been carried out in part.
var errGaveWay = errors.New("the call gave way")

// perform calls an activity: by default as a local activity, which costs one history event, and if the API server is slow
// or down as a regular one, which is retried until it answers. Errors that a repetition can't change (non-retryable
// application errors), cancellation and errGaveWay come back at once. The Temporal UI shows the summary.
func perform[Result any](
	ctx workflow.Context, a activity[Result], summary string, request any, c callOptions,
) (result Result, err error) {
	if !a.recorded && !c.first && c.queue == "" {
		local := workflow.WithLocalActivityOptions(ctx, c.localOptions(ctx, summary))
		err = workflow.ExecuteLocalActivity(local, a.name, request).Get(ctx, &result)
		if err == nil || final(err) {
			return result, err
		}
		if c.slow != nil {
			c.slow()
		}
		if !c.until.IsZero() && !workflow.Now(ctx).Before(c.until) {
			return result, errGaveWay
		}
	}
	regular, giveUp := workflow.WithCancel(workflow.WithActivityOptions(ctx, c.options(ctx, kind(a), summary)))
	defer giveUp()
	answer := workflow.ExecuteActivity(regular, a.name, request)
	if err = c.await(ctx, answer, giveUp); err == nil {
		err = answer.Get(ctx, &result)
	}
	return result, err
}

// await waits for the answer, or gives the call up.
func (c callOptions) await(ctx workflow.Context, answer workflow.Future, giveUp workflow.CancelFunc) error {
	if c.givesWay == nil && c.until.IsZero() {
		return nil
	}
	over := func() bool { return answer.IsReady() || c.givesWay != nil && c.givesWay() }
	var err error
	switch {
	case c.until.IsZero():
		err = workflow.Await(ctx, over)
	case c.alarm.by(c.until):
		rings := c.alarm.timer
		err = workflow.Await(ctx, func() bool { return over() || rings.IsReady() })
	default:
		_, err = workflow.AwaitWithTimeout(ctx, max(c.until.Sub(workflow.Now(ctx)), 0), over)
	}
	if err != nil {
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
	return cmp.Or(ctx.Err(), errGaveWay)
}

func (c callOptions) localOptions(ctx workflow.Context, summary string) workflow.LocalActivityOptions {
	options := workflow.LocalActivityOptions{
		StartToCloseTimeout:    localAttemptTimeout,
		ScheduleToCloseTimeout: localBudget,
		Summary:                summary,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 2},
	}
	switch left := c.until.Sub(workflow.Now(ctx)); {
	case c.slow != nil:
		options.StartToCloseTimeout, options.ScheduleToCloseTimeout = jobLocalBudget, jobLocalBudget
		options.RetryPolicy.MaximumAttempts = 1
	case !c.until.IsZero():
		options.ScheduleToCloseTimeout = min(localBudget, max(left, time.Millisecond))
	}
	return options
}

func (c callOptions) options(ctx workflow.Context, kind kind, summary string) workflow.ActivityOptions {
	options := workflow.ActivityOptions{
		TaskQueue:              c.queue,
		StartToCloseTimeout:    regularAttemptTimeout,
		ScheduleToCloseTimeout: regularBudget,
		HeartbeatTimeout:       regularHeartbeat,
		WaitForCancellation:    true,
		Summary:                summary,
		Priority:               priority(ctx, cmp.Or(c.work, kind.work)),
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	}
	if kind.long {
		options.StartToCloseTimeout = regularBudget
	}
	if kind.lists {
		options.StartToCloseTimeout, options.ScheduleToCloseTimeout = listTimeout, 0
	}
	if kind.name == protocol.StartRunActivity {
		options.ScheduleToCloseTimeout, options.RetryPolicy.InitialInterval = c.early+startBudget, startRetry
		options.HeartbeatTimeout = startHeartbeat + min(c.early, startPatience)
	}
	if c.budget > 0 {
		options.ScheduleToCloseTimeout = c.budget
	}
	if c.queue != "" {
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
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && application.NonRetryable()
}

// recorded returns the value of a side effect. Only other code can have written one that can't be read: the workflow task fails
// and is repeated until a worker can read it.
func recorded[Value any](encoded converter.EncodedValue) (value Value) {
	if err := encoded.Get(&value); err != nil {
		panic(fmt.Errorf("read a recorded %T: %w", value, err))
	}
	return value
}

// cancelled returns the error of a call that was cancelled with its workflow, and nil for any other.
func cancelled(err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	return nil
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
