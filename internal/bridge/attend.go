package bridge

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// restartedReason is the reason of the Event on a Job whose workflow had ended.
const restartedReason = "WorkflowRestarted"

// attendRegularly makes rounds over the Jobs under way: a workflow that somebody has
// cancelled or terminated tells nobody. A round writes nothing. It reads the list of
// the workflows that run, and asks for those that are not in it: visibility may be
// behind, so only a description says that a workflow does not run.
func (c *controller) attendRegularly(ctx context.Context) {
	ticker := c.clock.NewTicker(attendPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		begun := c.clock.Now()
		if err := c.attend(ctx); err != nil && ctx.Err() == nil {
			// The others are looked at in the next round.
			c.metrics.errors.WithLabelValues(errorClass(err)).Inc()
			c.logger.Warn("a round over the Jobs under way was cut short", "class", errorClass(err), "error", err)
		}
		c.metrics.attendSeconds.Observe(c.clock.Since(begun).Seconds())
	}
}

// attend makes one round.
func (c *controller) attend(ctx context.Context) error {
	due := map[string]*batchv1.Job{}
	now := c.clock.Now()
	behind := c.behind.worstOf(now)
	c.objects.eachJob(func(object *batchv1.Job) {
		if toAttend(c.objects.owner, object, c.memory.restartsOf(object), behind, now) {
			due[c.messages.cluster.JobWorkflowID(object.Namespace, object.Name)] = object
		}
	})
	round := newAttendance(due)
	if round.wantsPage() {
		c.list(ctx, round)
	}
	var ids []string
	ids, c.attendedUpTo = round.toAsk(c.attendedUpTo)
	for _, id := range ids {
		if err := c.attendLimiter.Wait(ctx); err != nil {
			return err
		}
		if err := c.attendJob(ctx, id, due[id]); err != nil {
			return err
		}
	}
	return nil
}

// list reads which of the Jobs' workflows run, as far as visibility knows. Where it
// does not answer, the workflows are asked for.
func (c *controller) list(ctx context.Context, round *attendance) {
	ctx, cancel := context.WithTimeout(ctx, attendPeriod)
	defer cancel()
	err := c.temporal.Running(ctx, protocol.JobWorkflow, func(page []string) bool {
		for _, id := range page {
			if object := round.due[id]; object != nil {
				c.memory.attended(object)
			}
		}
		round.read(page)
		return round.wantsPage() && c.attendLimiter.Wait(ctx) == nil
	})
	if err != nil {
		c.metrics.errors.WithLabelValues(errorClass(err)).Inc()
		c.logger.Warn("could not list the workflows of Jobs, asking for each", "class", errorClass(err), "error", err)
	}
}

// attendJob asks whether a Job's workflow runs.
func (c *controller) attendJob(ctx context.Context, workflowID string, object *batchv1.Job) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	running, err := c.temporal.Runs(ctx, workflowID)
	switch {
	case err != nil:
		return err
	case running:
		c.memory.attended(object)
	default:
		c.main.Add(key{unattendedJobKind, types.NamespacedName{Namespace: object.Namespace, Name: object.Name}})
	}
	return nil
}

// syncUnattended starts the workflow of a Job anew that no longer has one, when the
// API server confirms that the Job is under way: a workflow that did its work ends
// before the cache says that its Job has.
func (c *controller) syncUnattended(ctx context.Context, name types.NamespacedName) error {
	found, err := c.clients.Kubernetes.BatchV1().Jobs(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Job %s: %w", name, err)
	}
	now := c.clock.Now()
	if !toAttend(c.objects.owner, found, c.memory.restartsOf(found), c.behind.worstOf(now), now) {
		return nil
	}
	running, err := c.temporal.Start(ctx, c.messages.jobStart(found))
	if err != nil {
		return err
	}
	c.metrics.sent("job-start", foundLabel(running))
	if running {
		return nil
	}
	c.memory.restarted(found, c.clock.Now())
	c.memory.putJob(name, &jobMemory{uid: string(found.UID), spec: job.SpecOf(found)})
	c.logger.Warn("Job under way had no workflow, started one", "namespace", name.Namespace, "name", name.Name)
	c.recorder.Event(jobEventReference(found), corev1.EventTypeWarning, restartedReason,
		"The Job's workflow in Temporal had ended before the Job did; started it anew. To stop the Job, suspend or delete it")
	return nil
}
