package bridge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/claim"
)

// builtInLogPeriod is the shortest time between two lines about the built-in
// controller's writes.
const builtInLogPeriod = time.Minute

// takenOver does what falls to the bridge, beside its messages, where Jobs are
// taken over. A nil one does nothing.
type takenOver struct {
	owner   ownership
	ttl     *ttlCleaner
	metrics *Metrics
	logger  *slog.Logger
	clock   clock.WithTicker

	mu     sync.Mutex
	logged time.Time
}

// newTakenOver returns nil where Jobs are not taken over.
func (b *Bridge) newTakenOver() *takenOver {
	if !b.objects.owner.takeOverJobs {
		return nil
	}
	return &takenOver{
		owner: b.objects.owner,
		ttl: &ttlCleaner{
			client:  b.options.Clients.Kubernetes,
			find:    b.objects.job,
			queue:   newQueue(ttlQueue, b.options.Metrics, b.options.Clock),
			metrics: b.options.Metrics,
			logger:  b.options.Logger,
			clock:   b.options.Clock,
		},
		metrics: b.options.Metrics,
		logger:  b.options.Logger,
		clock:   b.options.Clock,
	}
}

// run works until the context is done.
func (t *takenOver) run(ctx context.Context) {
	if t != nil {
		t.ttl.run(ctx)
	}
}

// added is told every Job that is new here, again after leader start.
func (t *takenOver) added(job *batchv1.Job) {
	if t == nil {
		return
	}
	t.ttl.see(job)
	if name, ok := claim.External(job); ok {
		t.metrics.external.WithLabelValues(name).Inc()
	}
}

// updated is told every change of a Job.
func (t *takenOver) updated(before, after *batchv1.Job) {
	if t == nil {
		return
	}
	t.ttl.see(after)
	if t.owner.ours(after) && builtInWrote(before, after) {
		t.fought(after)
	}
}

// fought reports that the built-in controller has written the status of a Job
// that is ours. The probe at start may have come before it was started.
func (t *takenOver) fought(job *batchv1.Job) {
	t.metrics.builtInWrites.Inc()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); now.Sub(t.logged) >= builtInLogPeriod {
		t.logged = now
		t.logger.Error("kube-controller-manager wrote the status of a Job taken over, so its job controller runs too; "+
			"run it with --controllers=*,-job-controller (docs/takeover.md), or bridge and workers without --takeover=jobs",
			"namespace", job.Namespace, "name", job.Name)
	}
}
