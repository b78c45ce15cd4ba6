package bridge

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
)

// takenOver does what falls to the bridge, beside its messages, where Jobs are
// taken over. A nil one does nothing.
type takenOver struct {
	owner   ownership
	ttl     *ttlCleaner
	metrics *Metrics
	rivalry *rivalry
}

// newTakenOver returns nil where Jobs are not taken over.
func (b *Bridge) newTakenOver(rivalry *rivalry) *takenOver {
	if !b.objects.owner.takeOverJobs {
		return nil
	}
	return &takenOver{
		owner: b.objects.owner,
		ttl: &ttlCleaner{
			client:  b.options.Clients.Kubernetes,
			find:    b.objects.job,
			queue:   newQueue(ttlQueue, b.options),
			metrics: b.options.Metrics,
			logger:  b.options.Logger,
			clock:   b.options.Clock,
		},
		metrics: b.options.Metrics,
		rivalry: rivalry,
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
		t.metrics.addedFor(name)
	}
}

// updated is told every change of a Job.
func (t *takenOver) updated(before, after *batchv1.Job) {
	if t == nil {
		return
	}
	t.ttl.see(after)
	if t.owner.ours(after) && builtInWrote(before, after) {
		t.rivalry.foughtJob(after)
	}
}
