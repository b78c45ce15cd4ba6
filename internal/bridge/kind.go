package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

const (
	// kindPoll is how often the API server is asked for the kind CronJob while it
	// does not have it.
	kindPoll = 5 * time.Second
	// kindTimeout bounds one such question.
	kindTimeout = 10 * time.Second
	// kindResource is the kind's name in the API.
	kindResource = "cronjobs"
)

// cronJobKindWatch runs the informers of CronJobs from the moment on at which the API
// server has the kind. Jobs need no CRD, so nothing else waits for it.
type cronJobKindWatch struct {
	discovery discovery.ServerResourcesInterfaceWithContext
	informers map[string]cache.SharedIndexInformer
	metrics   *Metrics
	logger    *slog.Logger
	clock     clock.WithTicker

	missing atomic.Bool
	// served is closed when the informers have their first lists.
	served chan struct{}
}

// run asks until the kind is there, then runs the informers until the context is
// done.
func (w *cronJobKindWatch) run(ctx context.Context) {
	if !w.await(ctx) {
		return
	}
	runInformers(ctx, w.informers)
	if !cache.WaitForCacheSync(ctx.Done(), func() bool { return informersSynced(w.informers) }) {
		return
	}
	if w.missing.Load() {
		w.logger.Info("the CRD is there now: CronJobs are served")
	}
	w.metrics.cronJobsServed.Set(1)
	close(w.served)
}

// await returns true when the API server has the kind, and false when the context
// is done before.
func (w *cronJobKindWatch) await(ctx context.Context) bool {
	ticker := w.clock.NewTicker(kindPoll)
	defer ticker.Stop()
	for {
		there, err := w.ask(ctx)
		switch {
		case there, apierrors.IsForbidden(err):
			// Where the question is not allowed, the lists will tell.
			return true
		case ctx.Err() != nil:
			return false
		case err != nil:
			w.logger.Warn("can't tell whether CronJobs are to be served, will ask again", "error", err)
		case !w.missing.Swap(true):
			w.logger.Warn("CronJobs are not served: the API server does not have the kind CronJob of "+ostinatov1.GroupVersion.String()+
				"; Jobs are. Apply the CRD (deploy/crd) when CronJobs are wanted, it is taken up without a restart", "within", kindPoll)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C():
		}
	}
}

// ask asks the API server once.
func (w *cronJobKindWatch) ask(ctx context.Context) (there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	resources, err := w.discovery.ServerResourcesForGroupVersionWithContext(ctx, ostinatov1.GroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for the resources of %s: %w", ostinatov1.GroupVersion, err)
	}
	return slices.ContainsFunc(resources.APIResources, func(resource metav1.APIResource) bool { return resource.Name == kindResource }), nil
}

// known reports whether CronJobs are served, or known not to be.
func (w *cronJobKindWatch) known() bool {
	select {
	case <-w.served:
		return true
	default:
		return w.missing.Load()
	}
}
