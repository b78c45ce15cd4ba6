package bridge

import (
	"context"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// sweepRegularly puts every object into the sweep again from time to time: a
// workflow may have been terminated by hand or lost with Temporal's data.
func (c *controller) sweepRegularly(ctx context.Context) {
	if c.sweepInterval == 0 {
		return
	}
	ticker := c.clock.NewTicker(c.sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			c.forgetWhatIsOver()
			c.objects.eachCronJob(func(cronJob *ostinatov1.CronJob) { c.sweep.Add(cronJobKey(cronJob)) })
			c.objects.eachJob(func(job *batchv1.Job) {
				if c.objects.owner.ours(job) && !finished(job) {
					c.sweep.Add(jobKey(job))
				}
			})
		}
	}
}

// forgetWhatIsOver forgets Jobs that ended while a message for them was under way, and
// CronJobs that are gone.
func (c *controller) forgetWhatIsOver() {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	maps.DeleteFunc(c.memory.jobs, func(name types.NamespacedName, _ jobMemory) bool { return !c.underWay(key{jobKind, name}) })
	maps.DeleteFunc(c.memory.restarts, func(item key, _ restarts) bool { return !c.underWay(item) })
}

// underWay reports whether the object is a CronJob that is there, or a Job that has not finished.
func (c *controller) underWay(item key) bool {
	if item.kind == jobKind {
		job := c.objects.job(item.NamespacedName)
		return job != nil && !finished(job)
	}
	return c.objects.cronJob(item) != nil
}

// scanCronJobs and scanJobs find running workflows whose object went away, or to
// another controller, while nobody led, once for every leader.
func (c *controller) scanCronJobs(ctx context.Context) error {
	return c.eachRunning(ctx, protocol.CronJobWorkflow, func(workflowID string) {
		namespace, name, ok := c.messages.cluster.ParseCronJobWorkflowID(workflowID)
		if full := (types.NamespacedName{Namespace: namespace, Name: name}); ok && nameable(full) && c.objects.serves(namespace) && c.objects.cronJob(key{cronJobKind, full}) == nil {
			c.sweep.Add(key{orphanCronJobKind, full})
		}
	})
}

func (c *controller) scanJobs(ctx context.Context) error {
	return c.eachRunning(ctx, protocol.JobWorkflow, func(workflowID string) {
		namespace, name, ok := c.messages.cluster.ParseJobWorkflowID(workflowID)
		full := types.NamespacedName{Namespace: namespace, Name: name}
		if !ok || !nameable(full) || !c.objects.serves(namespace) {
			return
		}
		switch found := c.objects.job(full); {
		case found == nil:
			c.sweep.Add(key{orphanJobKind, full})
		case strayJob(c.objects.owner, found):
			c.handBack(full)
		}
	})
}

// scanNativeCronJobs is the same for CronJobs of batch/v1. Where those are not taken
// over, their workflows are to end.
func (c *controller) scanNativeCronJobs(ctx context.Context) error {
	return c.eachRunning(ctx, protocol.CronJobWorkflow, func(workflowID string) {
		namespace, name, ok := c.messages.cluster.ParseNativeCronJobWorkflowID(workflowID)
		full := types.NamespacedName{Namespace: namespace, Name: name}
		switch {
		case !ok || !nameable(full) || !c.objects.serves(namespace):
		case !c.objects.owner.takeOverCronJobs:
			c.sweep.Add(key{strayCronJobKind, full})
		case c.objects.cronJob(key{nativeCronJobKind, full}) == nil:
			c.sweep.Add(key{orphanNativeCronJobKind, full})
		}
	})
}

// eachRunning calls visit with the ID of every running workflow of a type.
func (c *controller) eachRunning(ctx context.Context, workflowType string, visit func(workflowID string)) error {
	return c.temporal.Running(ctx, workflowType, func(page []string) bool {
		for _, workflowID := range page {
			visit(workflowID)
		}
		return true
	})
}

// syncOrphan tells a workflow that its object is gone, when the API server
// confirms it. Visibility and the cache may both be behind. The workflow is asked
// for its object's UID, since nothing else knows it.
func (c *controller) syncOrphan(ctx context.Context, item key) error {
	var workflowID string
	var exists bool
	var err error
	switch item.kind {
	case orphanCronJobKind:
		workflowID = c.messages.cluster.CronJobWorkflowID(item.Namespace, item.Name)
		exists, err = c.cronJobExists(ctx, k8s.OwnCronJobs(c.clients.CronJobs), item.NamespacedName)
	case orphanNativeCronJobKind:
		workflowID = c.messages.cluster.NativeCronJobWorkflowID(item.Namespace, item.Name)
		exists, err = c.cronJobExists(ctx, k8s.NativeCronJobs(c.clients.Kubernetes), item.NamespacedName)
	default:
		workflowID = c.messages.cluster.JobWorkflowID(item.Namespace, item.Name)
		exists, err = c.jobExists(ctx, item.Namespace, item.Name, "")
	}
	if err != nil || exists {
		return err
	}
	uid, found, err := c.temporal.ObjectUID(ctx, workflowID)
	if err != nil || !found {
		return err
	}
	c.logger.Info("object of a running workflow is gone", "workflow", workflowID, "uid", uid)
	return c.sayGone(ctx, workflowID, []string{uid})
}

func (c *controller) cronJobExists(ctx context.Context, store k8s.CronJobStore, name types.NamespacedName) (bool, error) {
	_, err := store.Get(ctx, name.Namespace, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get CronJob %s: %w", name, err)
	}
	return true, nil
}
