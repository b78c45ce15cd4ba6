package histories

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"k8s.io/client-go/tools/record"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/steering"
)

// process is a worker: the activities with what they remember.
type process struct {
	activities *activities.Activities
	alive      context.Context
	kill       context.CancelFunc
}

// metrics are shared, since nothing here reads them.
var metrics = sync.OnceValue(func() *activities.Metrics { return activities.NewMetrics(prometheus.NewRegistry()) })

func newProcess(c *cluster, lead time.Duration) *process {
	nobody := &record.FakeRecorder{}
	p := &process{activities: activities.New(activities.Options{
		Kubernetes: c.kubernetes, CronJobs: c.cronJobs, Namespace: "temporal-namespace", Metrics: metrics(), StartLead: lead,
		Events: activities.Recorders{CronJobs: nobody, Jobs: nobody}, AcceptSignals: steering.All(),
	})}
	p.alive, p.kill = context.WithCancel(context.Background())
	return p
}

// attempt is one of an activity, in a process.
type attempt func(ctx context.Context, p *process, local bool) answer

// attemptOf makes attempts of one of the activities.
func attemptOf[Request, Result any](
	method func(*activities.Activities, context.Context, Request) (Result, error), request Request,
) attempt {
	return func(ctx context.Context, p *process, local bool) answer {
		perform := func(within context.Context, request Request) (Result, error) {
			within, cancel := context.WithCancel(within)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return method(p.activities, within, request)
		}
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		environment := suite.NewTestActivityEnvironment()
		environment.RegisterActivityWithOptions(perform, activity.RegisterOptions{Name: "attempt"})
		execute := environment.ExecuteActivity
		var what any = "attempt"
		if local {
			execute, what = environment.ExecuteLocalActivity, perform
		}
		var result Result
		value, err := execute(what, request)
		if err == nil {
			err = value.Get(&result)
		}
		return answer{result, err}
	}
}

// local runs an attempt to its end.
func (p *process) local(perform attempt) answer { return perform(p.alive, p, true) }

// running is an attempt that is under way.
type running struct {
	cancel context.CancelFunc
	done   chan answer
}

func (p *process) start(perform attempt) *running {
	ctx, cancel := context.WithCancel(p.alive)
	r := &running{cancel, make(chan answer, 1)}
	go func() {
		defer cancel()
		defer close(r.done)
		r.done <- perform(ctx, p, false)
	}()
	return r
}

// errGaveWay says that a call was given up for something that came meanwhile.
var errGaveWay = errors.New("the call gave way")

// final reports whether repeating a call can't help.
func final(err error) bool {
	var application *sdk.ApplicationError
	return sdk.IsCanceledError(err) || errors.As(err, &application) && application.NonRetryable()
}
