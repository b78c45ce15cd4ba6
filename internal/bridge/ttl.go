package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/queue"
)

const (
	// ttlQueue is the name upstream's TTL controller gives its queue.
	ttlQueue = "ttl_jobs_to_delete"
	// ttlWorkers is how many Jobs are looked at at a time, as upstream.
	ttlWorkers = 5
)

// ttlCleaner deletes finished Jobs when their spec.ttlSecondsAfterFinished is
// over. All it needs to know is in the object, so it goes on where another
// stopped, and one more beside it does no harm.
type ttlCleaner struct {
	client  kubernetes.Interface
	find    func(types.NamespacedName) *batchv1.Job
	queue   *queue.Queue[key]
	metrics *Metrics
	logger  *slog.Logger
	clock   clock.WithTicker
}

// see is told every Job that is added or changed.
func (c *ttlCleaner) see(job *batchv1.Job) {
	if hasTTL(job) {
		c.queue.Add(jobKey(job))
	}
}

// run works until the context is done and what is in progress has ended.
func (c *ttlCleaner) run(ctx context.Context) { c.queue.Run(ctx, ttlWorkers, c.handle) }

func (c *ttlCleaner) handle(ctx context.Context, item key) (again time.Duration, err error) {
	// A call in progress when the process is told to stop may end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	again, err = c.sync(ctx, item.NamespacedName)
	if err != nil {
		c.logger.Warn("finished Job not cleaned up, will be repeated", "namespace", item.Namespace, "name", item.Name,
			"failures", c.queue.Failures(item)+1, "error", err)
	}
	return again, err
}

// sync deletes the Job when its time is over, and returns when to look again.
func (c *ttlCleaner) sync(ctx context.Context, name types.NamespacedName) (time.Duration, error) {
	cached := c.find(name)
	if cached == nil {
		return 0, nil
	}
	if decision, err := c.decide(cached); err != nil || decision.expired.IsZero() {
		return decision.again, err
	}
	// The TTL may have been changed, or the Job be another one, since.
	live, err := c.client.BatchV1().Jobs(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get Job %s: %w", name, err)
	}
	decision, err := c.decide(live)
	if err != nil || decision.expired.IsZero() {
		return decision.again, err
	}
	return 0, c.delete(ctx, live, decision.expired)
}

func (c *ttlCleaner) decide(job *batchv1.Job) (ttlDecision, error) {
	decision, err := decideTTL(job, c.clock.Now())
	if decision.skewed {
		c.logger.Warn("Job has finished in the future, so clocks differ; it is cleaned up later", "namespace", job.Namespace, "name", job.Name)
	}
	return decision, err
}

func (c *ttlCleaner) delete(ctx context.Context, job *batchv1.Job, expired time.Time) error {
	foreground := metav1.DeletePropagationForeground
	err := c.client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: &foreground,
		Preconditions:     &metav1.Preconditions{UID: &job.UID},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete Job %s/%s of UID %s: %w", job.Namespace, job.Name, job.UID, err)
	}
	c.metrics.ttlDeletion.Observe(c.clock.Since(expired).Seconds())
	c.logger.Debug("deleted a Job whose TTL was over", "namespace", job.Namespace, "name", job.Name, "uid", job.UID)
	return nil
}
