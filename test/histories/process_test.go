package histories

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

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
	world      *world
	activities registry
	alive      context.Context
	kill       context.CancelFunc
	// still is until when it stands still; nil for not.
	still atomic.Pointer[time.Time]
}

// registry holds activities by their names.
type registry map[string]any

func (r registry) RegisterActivityWithOptions(function any, options activity.RegisterOptions) {
	r[options.Name] = function
}

// metrics are shared, since nothing here reads them.
var metrics = sync.OnceValue(func() *activities.Metrics { return activities.NewMetrics(prometheus.NewRegistry()) })

func newProcess(w *world) *process {
	p := &process{world: w, activities: registry{}}
	p.alive, p.kill = context.WithCancel(context.Background())
	if w.host != nil {
		p.activities = w.host.activities
		return p
	}
	nobody := &record.FakeRecorder{}
	wire := wire{w, p}
	activities.New(activities.Options{
		Kubernetes: kubernetesOn{w.cluster.kubernetes, wire}, CronJobs: cronJobsOn{wire}, Heartbeats: w.temporal,
		Namespace: temporalNamespace, Metrics: metrics(), StartLead: w.scenario.Lead, CallerHeader: w.scenario.Believes,
		Events: activities.Recorders{CronJobs: nobody, Jobs: nobody}, AcceptSignals: steering.All(),
		TakeOverCronJobs: true, TakeOverJobs: w.scenario.Native,
	}).RegisterControl(p.activities)
	return p
}

// activityKey is for the name of the activity that a request is made by.
type activityKey struct{}

// attempt makes attempts of an activity.
func (p *process) attempt(name string, arguments []any, local bool) play.Attempt {
	return func(ctx context.Context) play.Answer {
		if name == protocol.SetSuspendActivity {
			p.world.cluster.noted(taken{what: "heard"})
		}
		environment := play.Environment(context.WithValue(ctx, activityKey{}, name))
		environment.RegisterActivityWithOptions(p.activities[name], activity.RegisterOptions{Name: name})
		execute, what := environment.ExecuteActivity, any(name)
		if local {
			execute, what = environment.ExecuteLocalActivity, p.activities[name]
		}
		value, err := execute(what, arguments...)
		return play.Answer{Result: value, Err: err}
	}
}

// stands waits while the process stands still; an error says that a context has ended meanwhile.
func (p *process) stands(ctx context.Context) error {
	until := p.still.Load()
	if until == nil || !time.Now().Before(*until) {
		return nil
	}
	time.Sleep(time.Until(*until))
	if ctx.Err() != nil {
		return errStands
	}
	return nil
}
