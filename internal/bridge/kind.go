package bridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// kindPoll is how often the API server is asked for the kind CronJob while it
// does not have it.
const kindPoll = 5 * time.Second

// serveCronJobs runs the informers of CronJobs once the API server has the kind, until the
// context is done. Jobs need no CRD, so nothing else waits for it.
func (b *Bridge) serveCronJobs(ctx context.Context) {
	if !b.awaitKind(ctx) {
		return
	}
	b.objects.cronJobs.run(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), b.objects.cronJobs.synced) {
		return
	}
	if b.noCronJobs.Load() {
		b.Logger.Info("the CRD is there now: CronJobs are served")
	}
	b.Metrics.cronJobsServed.Set(1)
	close(b.cronJobs)
}

// awaitKind returns true when the API server has the kind, and false when the context
// is done before.
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

// hasKind asks the API server once.
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

// cronJobsKnown reports whether CronJobs are served, or known not to be.
func (b *Bridge) cronJobsKnown() bool {
	select {
	case <-b.cronJobs:
		return true
	default:
		return b.noCronJobs.Load()
	}
}
