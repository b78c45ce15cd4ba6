// Package bridge brings Kubernetes objects to their Temporal workflows: it starts and signals CronJob and Job workflows
// for what is added, edited or deleted, and nudges CronJob workflows that are overdue.
//
// What to send for an object is decided by pure functions (rules_*.go) from the object and from what was sent before.
// The object's status is the acknowledgement, so a restarted bridge sends again only what was not taken. Every call is
// idempotent and carries the object's UID: two bridges that lead at the same time for a moment do no harm.
package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/starts"
)

// ErrLeadershipLost is returned by Run when another process has or may have the lease. The process should start anew.
var ErrLeadershipLost = errors.New("leadership lost")

const (
	// defaultSweepRate is how many calls to Temporal a second the sweep makes that ensures a workflow for every object. Rounds
	// over unfinished objects and reminders take a part of it each.
	defaultSweepRate = 200
	// Lease is in the Role of deploy/base: a bridge may write no other.
	Lease = "ostinato-bridge"
)

// Options are what a Bridge needs.
type Options struct {
	Config  config.Bridge
	Clients *k8s.Clients
	// Temporal is usually NewTemporal's; TemporalNamespace is its namespace, which CronJobs' status names.
	Temporal          Temporal
	TemporalNamespace string
	SearchAttributes  starts.SearchAttributes
	// Recorder emits Events on CronJobs.
	Recorder record.EventRecorder
	Metrics  *Metrics
	Logger   *slog.Logger
	// SweepRate is defaultSweepRate when 0.
	SweepRate float64
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// Bridge watches and, while it leads, sends.
type Bridge struct {
	Options
	objects *objects
	// noCronJobs is set while the API server does not have the kind CronJob.
	noCronJobs atomic.Bool
	// probed is set when nothing speaks against taking over what is to be.
	probed atomic.Bool
}

// New returns a Bridge that does nothing before Run.
func New(options Options) (*Bridge, error) {
	options.Clock = cmp.Or[clock.WithTicker](options.Clock, clock.RealClock{})
	options.SweepRate = cmp.Or(options.SweepRate, defaultSweepRate)
	objects, err := newObjects(options.Clients, ownership{takeOver: options.Config.TakeOver}, options.Config.Namespaces)
	if err != nil {
		return nil, err
	}
	return &Bridge{Options: options, objects: objects}, nil
}

// Ready is a readiness check: the caches of a namespace are filled and take-over is possible, whether this process leads or
// follows. A cluster without the CRD has no CronJobs.
func (b *Bridge) Ready(context.Context) error {
	if !b.begun() {
		return errors.New("waiting for the first list of CronJobs and Jobs")
	}
	if !b.probed.Load() {
		return errors.New("looking whether the built-in controllers run")
	}
	return nil
}

// Run watches, and sends while it leads, until the context is done; then it gives the lease back and returns nil. Any
// error means that the process should exit; ErrBuiltInRuns says what to change before it is started again.
func (b *Bridge) Run(ctx context.Context) error {
	go b.objects.jobs.Run(ctx)
	go b.objects.nativeCronJobs.Run(ctx)
	go b.serveCronJobs(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), b.begun) {
		return nil
	}
	if err := b.probe(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	b.probed.Store(true)
	if !b.Config.LeaderElection.Enabled {
		b.newController().run(ctx)
		return nil
	}
	return b.elect(ctx)
}

// begun reports whether there is a namespace to serve: none waits for another.
func (b *Bridge) begun() bool {
	return slices.ContainsFunc(k8s.NamespacesToList(b.Config.Namespaces), b.filled)
}

// filled reports whether the caches hold all that there is to act on in a namespace: nothing waits for namesakes.
func (b *Bridge) filled(namespace string) bool {
	return b.objects.jobs.Synced(namespace) && (b.noCronJobs.Load() || b.objects.cronJobs.Synced(namespace)) &&
		(!b.objects.owner.takeOver.CronJobs || b.objects.nativeCronJobs.Synced(namespace))
}

func (b *Bridge) elect(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this process for the lease: %w", err)
	}
	settings := b.Config.LeaderElection
	// The lease is given back only after the last call has ended.
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	led := make(chan struct{})
	var started atomic.Bool
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: settings.Namespace, Name: Lease},
			Client:     b.Clients.Kubernetes.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		Name: Lease,
		// These are the proportions of 15, 10 and 2 s, which Kubernetes' own components have.
		LeaseDuration:   settings.LeaseDuration,
		RenewDeadline:   settings.LeaseDuration * 2 / 3,
		RetryPeriod:     settings.LeaseDuration * 2 / 15,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				started.Store(true)
				leading, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				b.newController().run(leading)
				close(led)
				stopElecting()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { b.Logger.Info("leader", "identity", identity) },
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	// While following there is nothing to end first.
	defer context.AfterFunc(ctx, func() {
		if !elector.IsLeader() {
			stopElecting()
		}
	})()
	elector.Run(electing)

	if started.Load() {
		<-led
	}
	if ctx.Err() == nil {
		return ErrLeadershipLost
	}
	return nil
}

func (b *Bridge) newController() *controller {
	limiter := func(share float64, burst int) flowcontrol.RateLimiter {
		return flowcontrol.NewTokenBucketRateLimiter(float32(b.SweepRate*share), burst)
	}
	return &controller{
		Bridge:        b,
		sweepLimiter:  limiter(1, max(1, int(b.SweepRate/10))),
		ensureLimiter: limiter(ensureShare, 1),
		remindLimiter: limiter(reminderShare, 1),
		main:          newQueue("bridge", b.Options),
		sweep:         newQueue("bridge-sweep", b.Options),
		reminders:     newQueue("bridge-reminders", b.Options),
		busy:          keymutex.NewHashed(locks),
		rivalLog:      flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/builtInLogPeriod.Seconds()), 1, b.Clock),
	}
}

// kindPoll is how often the API server is asked for the kind CronJob while it does not have it.
const kindPoll = 5 * time.Second

// serveCronJobs runs the informers of CronJobs once the API server has the kind. Jobs need no CRD: nothing else waits for it.
func (b *Bridge) serveCronJobs(ctx context.Context) {
	if !b.awaitKind(ctx) {
		return
	}
	if b.noCronJobs.Load() {
		b.Logger.Info("the CRD is there now: CronJobs are served")
	}
	b.Metrics.cronJobsServed.Set(1)
	b.objects.cronJobs.Run(ctx)
}

// awaitKind returns true when the API server has the kind, and false when the context is done before.
func (b *Bridge) awaitKind(ctx context.Context) bool {
	ticker := b.Clock.NewTicker(kindPoll)
	defer ticker.Stop()
	for {
		there, err := b.hasKind(ctx)
		switch {
		case there, apierrors.IsForbidden(err):
			// Where the question is not allowed, the lists will tell.
			return true
		case ctx.Err() != nil:
			return false
		case err != nil:
			b.Logger.Warn("can't tell whether CronJobs are to be served, will ask again", "error", err)
		case !b.noCronJobs.Swap(true):
			b.Logger.Warn("CronJobs are not served: the API server does not have the kind CronJob of "+ostinatov1.GroupVersion.String()+
				"; Jobs are. Apply the CRD (deploy/crd) when CronJobs are wanted, it is taken up without a restart", "within", kindPoll)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C():
		}
	}
}

func (b *Bridge) hasKind(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resources, err := discovery.ToDiscoveryInterfaceWithContext(b.Clients.Kubernetes.Discovery()).ServerResourcesForGroupVersionWithContext(ctx, ostinatov1.GroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for the resources of %s: %w", ostinatov1.GroupVersion, err)
	}
	return slices.ContainsFunc(resources.APIResources, func(resource metav1.APIResource) bool { return resource.Name == "cronjobs" }), nil
}
