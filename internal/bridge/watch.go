package bridge

import (
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// watch puts what changes into the queues, from now on, and everything there is into the
// sweep. That ends with the process, which leads once.
func (c *controller) watch() error {
	add := func(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
		_, err := informer.AddEventHandler(handler)
		return err
	}
	for _, namespace := range c.objects.namespaces {
		err := errors.Join(
			add(c.objects.cronJobs[namespace], k8s.HandlerOf(c.cronJobAdded, c.cronJobUpdated, c.cronJobDeleted)),
			add(c.objects.nativeCronJobs[namespace], k8s.HandlerOf(
				func(native *ostinatov1.CronJob, _ bool) { c.namesakeChanged(native) },
				func(_, native *ostinatov1.CronJob) { c.namesakeChanged(native) },
				c.namesakeChanged,
			)),
			add(c.objects.jobs[namespace], k8s.HandlerOf(c.jobAdded, c.jobUpdated, c.jobDeleted)),
		)
		if natives, ok := c.objects.of(nativeCronJobKind)[namespace]; ok {
			err = errors.Join(err, add(natives, k8s.HandlerOf(c.cronJobAdded, c.nativeCronJobUpdated, c.cronJobDeleted)))
		}
		if err != nil {
			return fmt.Errorf("watch for changes: %w", err)
		}
	}
	return nil
}

func cronJobKey(cronJob *ostinatov1.CronJob) key {
	return keyOf(cronJobKindOf(k8s.IsNative(cronJob)), cronJob)
}

func cronJobKindOf(native bool) kind {
	if native {
		return nativeCronJobKind
	}
	return cronJobKind
}

func jobKey(job *batchv1.Job) key { return keyOf(jobKind, job) }

func (c *controller) cronJobAdded(cronJob *ostinatov1.CronJob, initial bool) {
	if c.objects.owner.probe(cronJob) {
		return
	}
	if initial && acknowledgedCronJob(cronJob, c.reference(cronJob)) {
		c.sweep.Add(cronJobKey(cronJob))
		return
	}
	c.main.Add(cronJobKey(cronJob))
}

// cronJobUpdated looks at the generation, which the API server raises for an
// edit of the spec and for a deletion that waits for finalizers, not for a write of the status.
func (c *controller) cronJobUpdated(before, after *ostinatov1.CronJob) {
	// The namesake may have changed while the cache did not have the condition yet.
	noted := namesakeNoted(before) != namesakeNoted(after)
	if noted || before.Generation != after.Generation || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() {
		c.main.Add(cronJobKey(after))
	}
}

// nativeCronJobUpdated also looks at who wrote the status.
func (c *controller) nativeCronJobUpdated(before, after *ostinatov1.CronJob) {
	if c.objects.owner.probe(after) {
		return
	}
	if builtInWrote(before, after) {
		c.reportRival(nativeCronJobKind, after, c.Metrics.builtInCronJobWrites)
	}
	c.cronJobUpdated(before, after)
}

func (c *controller) cronJobDeleted(cronJob *ostinatov1.CronJob) {
	if c.objects.owner.probe(cronJob) {
		return
	}
	item := cronJobKey(cronJob)
	c.memory.gone.add(item, string(cronJob.UID))
	c.main.Add(item)
}

func (c *controller) jobAdded(job *batchv1.Job, initial bool) {
	c.expire(job)
	if name, external := claim.External(job); external && c.objects.owner.takeOver.Jobs {
		c.Metrics.external.WithLabelValues(c.Metrics.controllers.Of("controller_name", name)).Inc()
	}
	if owner, owned := c.objects.owner.cronJobOf(job); owned && (!finished(job) || !ofARun(job)) {
		c.main.AddAfter(ownerKey(job, owner), closedGrace)
	}
	switch {
	case !c.objects.owner.ours(job) || finished(job):
	case initial:
		c.sweep.Add(jobKey(job))
	default:
		c.main.Add(jobKey(job))
	}
}

// jobUpdated looks at all that decides, since an edit of an annotation does not raise the generation.
func (c *controller) jobUpdated(before, after *batchv1.Job) {
	c.expire(after)
	if owner := c.objects.owner; owner.takeOver.Jobs && owner.ours(after) && builtInWrote(before, after) {
		c.reportRival(jobKind, after, c.Metrics.builtInWrites)
	}
	if finished(after) {
		if !finished(before) {
			c.runEnded(after)
		}
		return
	}
	if c.objects.owner.ours(after) && changed(job.SpecOf(before), job.SpecOf(after)) {
		c.main.Add(jobKey(after))
	}
}

func (c *controller) jobDeleted(job *batchv1.Job) {
	if c.objects.owner.ours(job) && !finished(job) {
		item := jobKey(job)
		c.memory.gone.add(item, string(job.UID))
		c.main.Add(item)
	}
	owner, owned := c.objects.owner.cronJobOf(job)
	if condition := claim.Finished(job); owned && condition != nil {
		c.memory.pruned.add(ownerKey(job, owner), pruned{job.Name, job.UID, condition.Type})
	}
	c.runEnded(job)
}

// runEnded queues the Job's CronJob for when its workflow has had time to learn of the end by itself.
func (c *controller) runEnded(job *batchv1.Job) {
	c.memory.jobs.remove(jobKey(job))
	if owner, owned := c.objects.owner.cronJobOf(job); owned {
		c.main.AddAfter(ownerKey(job, owner), closedGraceOf(c.objects.owner, job))
	}
}

func ownerKey(job *batchv1.Job, owner claim.CronJob) key {
	return keyOf(cronJobKindOf(owner.Native), &metav1.ObjectMeta{Namespace: job.Namespace, Name: owner.Name})
}
