package histories

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"k8s.io/client-go/tools/record"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/steering"
	"ostinato.dev/ostinato/test/histories/play"
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

// attemptOf makes attempts of one of a process's activities.
func attemptOf[Request, Result any](
	p *process, method func(*activities.Activities, context.Context, Request) (Result, error), request Request, local bool,
) play.Attempt {
	return func(ctx context.Context) play.Answer {
		perform := func(within context.Context, request Request) (Result, error) {
			return method(p.activities, within, request)
		}
		environment := play.Environment(ctx)
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
		return play.Answer{Result: result, Err: err}
	}
}
