package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// ttlQueue is the name upstream's TTL controller gives its queue.
	ttlQueue = "ttl_jobs_to_delete"
	// ttlWorkers is how many Jobs are looked at at a time, as upstream.
	ttlWorkers = 5
)

// expire queues a Job that is added or changed and that has a TTL. All that there is to know of it is in the object, so
// a new leader goes on where another stopped, and one more beside it does no harm.
func (c *controller) expire(job *batchv1.Job) {
	if c.expiring != nil && hasTTL(job) {
		c.expiring.Add(jobKey(job))
	}
}

func (c *controller) handleExpiring(ctx context.Context, item key) (again time.Duration, err error) {
	// A call in progress when the process is told to stop may end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	again, err = c.syncExpiring(ctx, item.NamespacedName)
	if err != nil {
		c.Logger.Warn("finished Job not cleaned up, will be repeated", "namespace", item.Namespace, "name", item.Name,
			"failures", c.expiring.Failures(item)+1, "error", err)
	}
	return again, err
}

// syncExpiring deletes a Job whose time is over, or returns when to look again.
func (c *controller) syncExpiring(ctx context.Context, name types.NamespacedName) (time.Duration, error) {
	cached := c.objects.job(name)
	if cached == nil {
		return 0, nil
	}
	if decision, err := c.decideTTL(cached); err != nil || decision.expired.IsZero() {
		return decision.again, err
	}
	// The TTL may have been changed, or the Job be another one, since.
	live, err := c.liveJob(ctx, name)
	if err != nil || live == nil {
		return 0, err
	}
	decision, err := c.decideTTL(live)
	if err != nil || decision.expired.IsZero() {
		return decision.again, err
	}
	return 0, c.deleteExpired(ctx, live, decision.expired)
}

func (c *controller) decideTTL(job *batchv1.Job) (ttlDecision, error) {
	decision, err := decideTTL(job, c.Clock.Now())
	if decision.skewed {
		c.Logger.Warn("Job has finished in the future, so clocks differ; it is cleaned up later", "namespace", job.Namespace, "name", job.Name)
	}
	return decision, err
}

func (c *controller) deleteExpired(ctx context.Context, job *batchv1.Job, expired time.Time) error {
	err := c.Clients.Kubernetes.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationForeground),
		Preconditions:     metav1.NewUIDPreconditions(string(job.UID)),
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete Job %s/%s of UID %s: %w", job.Namespace, job.Name, job.UID, err)
	}
	c.Metrics.ttlDeletion.Observe(c.Clock.Since(expired).Seconds())
	c.Logger.Debug("deleted a Job whose TTL was over", "namespace", job.Namespace, "name", job.Name, "uid", job.UID)
	return nil
}

// builtInLogPeriod is the shortest time between two lines about the built-in controllers' writes.
const builtInLogPeriod = time.Minute

// reportRival reports that a built-in controller has written the status of a Job or CronJob
// that is taken over. The probe at start may have come before that controller was started.
func (c *controller) reportRival(kind kind, object metav1.Object, writes prometheus.Counter) {
	writes.Inc()
	if c.rivalLog.TryAccept() {
		name := strings.ToLower(kind.word())
		c.Logger.Error(fmt.Sprintf("kube-controller-manager wrote the status of a %s taken over, so its %s controller runs too; "+
			"run it with --controllers=*,-%s-controller (docs/takeover.md), or bridge and workers without --takeover=%ss", kind.word(), name, name, name),
			"namespace", object.GetNamespace(), "name", object.GetName())
	}
}
