package jobs

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"k8s.io/client-go/tools/record"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/steering"
	"ostinato.dev/ostinato/test/histories/play"
)

// process is a worker: the activities with what they remember.
type process struct {
	activities registry
	alive      context.Context
	kill       context.CancelFunc
}

// registry holds activities by their names.
type registry map[string]any

func (r registry) RegisterActivityWithOptions(function any, options activity.RegisterOptions) {
	r[options.Name] = function
}

// metrics are shared, since nothing here reads them.
var metrics = sync.OnceValue(func() *activities.Metrics { return activities.NewMetrics(prometheus.NewRegistry()) })

func newActivities(c *cluster, temporal activities.Heartbeater) *activities.Activities {
	nobody := &record.FakeRecorder{}
	return activities.New(activities.Options{
		Kubernetes: c.kubernetes, Heartbeats: temporal, Namespace: "temporal-namespace", Metrics: metrics(),
		Events: activities.Recorders{CronJobs: nobody, Jobs: nobody}, AcceptSignals: steering.All(), BulkQPS: c.bulkQPS,
	})
}

func newProcess(c *cluster, temporal activities.Heartbeater) *process {
	p := &process{activities: registry{}}
	worker := newActivities(c, temporal)
	worker.RegisterControl(p.activities)
	worker.RegisterBulk(p.activities)
	p.alive, p.kill = context.WithCancel(context.Background())
	return p
}

// beginJob makes the first Pods of the Job unless it was listed, as the activity of the watch does, and returns the input of its workflow; nil if the watch
// does not start it.
func beginJob(c *cluster, listed bool) (input *protocol.JobInput) {
	const name = "begin"
	environment := play.Environment(context.Background())
	environment.RegisterActivityWithOptions(func(ctx context.Context) (err error) {
		input, err = newActivities(c, nil).BeginJob(ctx, reference, listed)
		return err
	}, activity.RegisterOptions{Name: name})
	if _, err := environment.ExecuteActivity(name); err != nil {
		return nil
	}
	return input
}

// attempt makes attempts of an activity.
func (p *process) attempt(name string, arguments []any, local bool) play.Attempt {
	return func(ctx context.Context) play.Answer {
		environment := play.Environment(ctx)
		environment.RegisterActivityWithOptions(p.activities[name], activity.RegisterOptions{Name: name})
		execute, what := environment.ExecuteActivity, any(name)
		if local {
			execute, what = environment.ExecuteLocalActivity, p.activities[name]
		}
		value, err := execute(what, arguments...)
		return play.Answer{Result: value, Err: err}
	}
}
