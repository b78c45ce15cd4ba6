package activities

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"ostinato.dev/ostinato/internal/herd"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/starts"
	"ostinato.dev/ostinato/internal/steering"
)

// Temporal is the part of Temporal's client that the watch of Pods and new Jobs uses.
type Temporal interface {
	podwatch.Signaller
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, arguments ...any) (client.WorkflowRun, error)
	SignalWithStartWorkflow(ctx context.Context, workflowID, signalName string, signalArg any,
		options client.StartWorkflowOptions, workflow any, arguments ...any) (client.WorkflowRun, error)
}

// Options are what activities work with.
type Options struct {
	Kubernetes kubernetes.Interface
	CronJobs   k8s.CronJobsGetter
	// Temporal starts and signals Job workflows; only WatchPods uses it.
	Temporal Temporal
	// SearchAttributes are those that the Temporal namespace has.
	SearchAttributes starts.SearchAttributes
	// Heartbeats says whether an attempt was given up; nil takes none for that.
	Heartbeats Heartbeater
	// Namespaces are those of Kubernetes whose objects are served; none means all.
	Namespaces []string
	// Namespace is Temporal's, for links from objects to workflows.
	Namespace string
	Cluster   names.Cluster
	Events    Recorders
	Metrics   *Metrics
	// BulkQPS limits how many Pods a second this process creates, deletes or releases for plans
	// about many (job.Bulk); 0 or less means no limit.
	BulkQPS float32
	// TakeOverJobs makes Jobs of the built-in controller Ostinato's too (claim.Ours), and TakeOverCronJobs CronJobs of batch/v1.
	TakeOverJobs, TakeOverCronJobs bool
	// JobDefaults fill in what a Job does not say.
	JobDefaults job.Defaults
	// WatchShards is the number of PodWatch workflows; 0 takes any. Those of another number are turned away, so that they end.
	WatchShards int
	// AcceptSignals are the signals and updates that people may send to objects through Temporal; an object can narrow them by annotation.
	AcceptSignals steering.Signals
	// StampedUsers says that admission writes who has suspended a CronJob or made a Job for it.
	StampedUsers bool
	// CallerHeader says that Temporal knows its callers, sets names.CallerHeader and lets none but Ostinato start workflows.
	CallerHeader bool
	Logs         LogLimits
	// StartLead is how long before its time the start of a run may be asked for, clocks apart.
	StartLead time.Duration
	// MaxHeld is how many starts may wait for their time at once; 0 means 1000. Each takes an
	// activity slot, so that there should be more of these.
	MaxHeld int
	// Weights are the shares of namespaces where starts, and writes of status, wait for their turn.
	Weights order.Weights
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// Activities implements the activities of internal/protocol. It is safe for concurrent use.
type Activities struct {
	Options
	bulk *rate.Limiter
	// namespaces has what Namespaces ask to be kept of their Pods: a request now and then for each Namespace, not one for
	// each Pod. namespaceReads lets one caller look at a Namespace while others wait for what it finds.
	namespaces     *lru.Cache
	namespaceReads singleflight.Group
	herds          *herd.Herds
	// podRequests are the creates of Pods that are under way.
	podRequests singleflight.Group
	// noLogs are the nodes that have not answered, and all of them where logs may not be read: the right
	// to read them is optional, and without it no request is wasted.
	noLogs *cache.LRUExpireCache
	// statusWrites are the statuses that are written.
	statusWrites *herd.FairSemaphore
	// cronJobCache has the CronJobs that are remembered.
	cronJobCache *lru.Cache
	jobSearch    k8s.JobSearch
	// refusedLog lets the lines about refused requests through that the log has room for.
	refusedLog *rate.Limiter
	watches    watches
}

// New returns activities.
func New(options Options) *Activities {
	options.Clock = cmp.Or[clock.WithTicker](options.Clock, clock.RealClock{})
	options.Metrics.watch.Shards(options.WatchShards)
	limit := rate.Inf
	if options.BulkQPS > 0 {
		limit = rate.Limit(options.BulkQPS)
	}
	return &Activities{
		Options:      options,
		bulk:         rate.NewLimiter(limit, max(1, int(options.BulkQPS))),
		namespaces:   lru.New(maxNamespaces),
		herds:        herd.New(options.Clock, cmp.Or(options.MaxHeld, 1000), options.Weights),
		statusWrites: herd.NewTurns(options.Weights),
		refusedLog:   rate.NewLimiter(refusalsLogged, 10*refusalsLogged),
		cronJobCache: lru.New(maxKnownCronJobs),
		noLogs:       cache.NewLRUExpireCacheWithClock(maxAway+1, options.Clock),
	}
}

// Registry is where activities are registered: a worker or a test environment.
type Registry interface {
	RegisterActivityWithOptions(function any, options activity.RegisterOptions)
}

// RegisterControl registers the short activities, which run on the control task
// queue, most of them as local activities of the workflows' worker.
func (a *Activities) RegisterControl(registry Registry) {
	register(a, registry, protocol.StartRunActivity, func(r protocol.StartRunRequest) subject { return aCronJob(r.CronJob) }, a.StartRun)
	register(a, registry, protocol.WriteStatusActivity, func(r protocol.WriteStatusRequest) subject { return aCronJob(r.CronJob) }, a.WriteStatus)
	register(a, registry, protocol.FindRunsActivity, func(r protocol.FindRunsRequest) subject { return aCronJob(r.CronJob) }, a.FindRuns)
	a.RegisterBulk(registry)
	register(a, registry, protocol.ReleaseOrphansActivity, func(r protocol.ReleaseOrphansRequest) subject { return aJob(r.Job) }, a.ReleaseOrphans)
	register(a, registry, protocol.ListPodsActivity, func(r protocol.ListPodsRequest) subject { return aJob(r.Job) }, a.ListPods)
	register(a, registry, protocol.SetSuspendActivity, func(r protocol.SetSuspendRequest) subject { return subject{r.Object, r.Kind == protocol.JobKind} }, a.SetSuspend)
}

// RegisterBulk registers the activities that may be about many Pods, which then run on the bulk task queue.
func (a *Activities) RegisterBulk(registry Registry) {
	register(a, registry, protocol.CarryOutActivity, func(r protocol.JobRequest) subject { return aJob(r.Job) }, a.CarryOut)
	register(a, registry, protocol.TerminatePodsActivity, func(r protocol.TerminatePodsRequest) subject { return aJob(r.Job) }, a.TerminatePods)
}

// register registers an activity that is about an object and serves that object's own workflow alone. It refuses everything
// else before anything is asked of the API server, counts what it refuses, and logs who has asked. The activity reports, as
// long as it is under way, that it goes on.
func register[Request, Result any](a *Activities, registry Registry, name string, about func(Request) subject, perform func(context.Context, Request) (Result, error)) {
	registry.RegisterActivityWithOptions(func(ctx context.Context, request Request) (result Result, err error) {
		if err = a.serves(activity.GetInfo(ctx), about(request)); err == nil {
			kept, stop := a.keep(ctx)
			defer stop()
			result, err = perform(kept, request)
		}
		a.countRefused(ctx, name, result, err)
		return result, err
	}, activity.RegisterOptions{Name: name})
}

// RegisterWatch registers the activity of the watch task queue.
func (a *Activities) RegisterWatch(registry Registry) {
	registry.RegisterActivityWithOptions(a.WatchPods, activity.RegisterOptions{Name: protocol.WatchPodsActivity})
}

// jobWorkflow is the value of names.WorkflowAnnotation for a Job.
func (a *Activities) jobWorkflow(namespace, name string) string {
	return a.Namespace + "/" + a.Cluster.JobWorkflowID(namespace, name)
}

// refusedReasons are the types of the errors by which an activity refuses a request that no
// workflow of Ostinato's makes, and the reason of a Refusal that says the same of a start or of Pods.
var refusedReasons = []string{
	protocol.InvalidRequestErrorType, OtherWorkflowErrorType, NotServedErrorType, NotTakenOverErrorType, ledger.NotPrescribed, AlreadyWatchedErrorType,
}

// refusalsLogged is how many refused requests a second are logged, with who asked. A writer of Temporal may ask any
// number of times.
const refusalsLogged = 1

// countRefused counts a request that was refused: by its error, or by a result which says that the object does not ask
// for what the request does.
func (a *Activities) countRefused(ctx context.Context, name string, result any, err error) {
	var refused *protocol.Refusal
	switch result := result.(type) {
	case protocol.StartRunResult:
		refused = result.Refused
	case protocol.JobResult:
		refused = result.Refused
	}
	var reason string
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		reason = application.Type()
	} else if refused != nil {
		reason = refused.Reason
	}
	if !slices.Contains(refusedReasons, reason) {
		return
	}
	a.Metrics.requestsRefused.WithLabelValues(name, reason).Inc()
	if activity.IsActivity(ctx) && a.refusedLog.Allow() {
		// The SDK's logger says which workflow and run have asked.
		activity.GetLogger(ctx).Warn("Request refused: no workflow of Ostinato's makes it", "reason", reason, "error", err)
	}
}
