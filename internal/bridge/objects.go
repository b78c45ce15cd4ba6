package bridge

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/tools/cache"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// ownerIndex indexes Jobs by the UID of the CronJob of ours that controls them.
const ownerIndex = "cronjob-uid"

func each[T any](i k8s.Informers, visit func(T)) {
	for _, informer := range i {
		for _, object := range informer.GetStore().List() {
			if object, ok := object.(T); ok {
				visit(object)
			}
		}
	}
}

// objects are the trimmed CronJobs and Jobs of the namespaces served.
type objects struct {
	owner ownership
	// of has the informers of each kind whose objects are Ostinato's.
	of             map[kind]k8s.Informers
	cronJobs, jobs k8s.Informers
	// nativeCronJobs are those of batch/v1, in the shape of ours, taken over or not: they may be namesakes of ours.
	nativeCronJobs k8s.Informers
}

// newObjects makes the informers; no namespaces means all.
func newObjects(clients *k8s.Clients, owner ownership, namespaces []string) (*objects, error) {
	o := &objects{owner: owner, cronJobs: k8s.Informers{}, nativeCronJobs: k8s.Informers{}, jobs: k8s.Informers{}}
	for _, namespace := range k8s.NamespacesToList(namespaces) {
		o.cronJobs[namespace] = cronJobInformer(clients.CronJobs.CronJobs(namespace))
		o.nativeCronJobs[namespace] = batchinformers.NewCronJobInformer(clients.Kubernetes, namespace, 0, cache.Indexers{})
		o.jobs[namespace] = batchinformers.NewJobInformer(clients.Kubernetes, namespace, 0, cache.Indexers{ownerIndex: owner.indexByOwner})
		err := errors.Join(
			o.cronJobs[namespace].SetTransform(trimCronJob),
			o.nativeCronJobs[namespace].SetTransform(trimNativeCronJob),
			o.jobs[namespace].SetTransform(owner.trimJob),
		)
		if err != nil {
			return nil, fmt.Errorf("set the informers' transforms: %w", err)
		}
	}
	o.of = map[kind]k8s.Informers{cronJobKind: o.cronJobs, jobKind: o.jobs}
	if owner.takeOver.CronJobs {
		o.of[nativeCronJobKind] = o.nativeCronJobs
	}
	return o, nil
}

func cronJobInformer(client k8s.CronJobInterface) cache.SharedIndexInformer {
	watcher := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(watcher, client), &ostinatov1.CronJob{}, 0, cache.Indexers{})
}

func (o ownership) indexByOwner(object any) ([]string, error) {
	if job, ok := object.(*batchv1.Job); ok {
		if owner, owned := o.cronJobOf(job); owned {
			return []string{string(owner.UID)}, nil
		}
	}
	return nil, nil
}

func (o *objects) find(item key) metav1.Object {
	object, _ := o.of[item.kind].Get(item.NamespacedName).(metav1.Object)
	return object
}

func (o *objects) cronJob(item key) *ostinatov1.CronJob {
	cronJob, _ := o.find(item).(*ostinatov1.CronJob)
	return cronJob
}

// namesake returns the batch/v1 CronJob of a name, or nil; known is false until the first list has been read.
func (o *objects) namesake(name types.NamespacedName) (native *ostinatov1.CronJob, known bool) {
	if !o.nativeCronJobs.Synced(name.Namespace) {
		return nil, false
	}
	native, _ = o.nativeCronJobs.Get(name).(*ostinatov1.CronJob)
	return native, true
}

func (o *objects) job(name types.NamespacedName) *batchv1.Job {
	job, _ := o.jobs.Get(name).(*batchv1.Job)
	return job
}

// dueRun returns the Job of the run that the status calls the next one; nil where there is none.
func (o *objects) dueRun(cronJob *ostinatov1.CronJob) *batchv1.Job {
	if cronJob.Status.NextScheduleTime == nil {
		return nil
	}
	found := o.job(dueRunKey(cronJob).NamespacedName)
	if found == nil || !claim.OfCronJob(found, cronJob.Name, cronJob.UID) {
		return nil
	}
	return found
}

// dueRunKey is the key of the Job of the run that the status calls the next one, which it has to name.
func dueRunKey(cronJob *ostinatov1.CronJob) key {
	name := names.ScheduledJob(cronJob.Name, cronJob.Status.NextScheduleTime.Time)
	return keyOf(jobKind, &metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: name})
}

// jobsOf returns the Jobs that a CronJob controls.
func (o *objects) jobsOf(cronJob *ostinatov1.CronJob) []*batchv1.Job {
	// The only error is that of an index that is not there.
	found, _ := o.jobs.Of(cronJob.Namespace).GetIndexer().ByIndex(ownerIndex, string(cronJob.UID))
	var jobs []*batchv1.Job
	for _, object := range found {
		if job, ok := object.(*batchv1.Job); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// eachCronJob calls visit with every CronJob of either group, probes left out, and those of namespaces whose Jobs are not listed.
func (o *objects) eachCronJob(visit func(*ostinatov1.CronJob)) {
	for _, kind := range []kind{cronJobKind, nativeCronJobKind} {
		each(o.of[kind], func(cronJob *ostinatov1.CronJob) {
			if !o.owner.probe(cronJob) && o.jobs.Synced(cronJob.Namespace) {
				visit(cronJob)
			}
		})
	}
}

// eachJob calls visit with every Job that is Ostinato's.
func (o *objects) eachJob(visit func(*batchv1.Job)) {
	each(o.jobs, func(job *batchv1.Job) {
		if o.owner.ours(job) {
			visit(job)
		}
	})
}

// watch puts what changes in a namespace into the queues, and everything there is into the sweep, until the process ends: it
// leads once.
func (c *controller) watch(namespace string) error {
	return errors.Join(
		c.objects.cronJobs.Tell(namespace, k8s.HandlerOf(c.cronJobAdded, c.cronJobUpdated, c.cronJobDeleted)),
		c.objects.nativeCronJobs.Tell(namespace, k8s.HandlerOf(
			func(native *ostinatov1.CronJob, _ bool) { c.namesakeChanged(native) },
			func(_, native *ostinatov1.CronJob) { c.namesakeChanged(native) },
			c.namesakeChanged,
		)),
		c.objects.jobs.Tell(namespace, k8s.HandlerOf(c.jobAdded, c.jobUpdated, c.jobDeleted)),
		c.objects.of[nativeCronJobKind].Tell(namespace, k8s.HandlerOf(c.cronJobAdded, c.nativeCronJobUpdated, c.cronJobDeleted)),
	)
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
	switch {
	case c.objects.owner.probe(cronJob):
	case initial && acknowledgedCronJob(cronJob, c.reference(cronJob)):
		c.sweep.Add(cronJobKey(cronJob))
	default:
		c.main.Add(cronJobKey(cronJob))
	}
}

// cronJobUpdated looks at the generation, which an edit of the spec and a deletion raise, and a write of the status does not.
func (c *controller) cronJobUpdated(before, after *ostinatov1.CronJob) {
	// The namesake may have changed while the cache did not have the condition yet.
	noted := namesakeNoted(before) != namesakeNoted(after) || !readyFollows(after)
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
	if item := cronJobKey(cronJob); !c.objects.owner.probe(cronJob) {
		c.memory.gone.add(item, string(cronJob.UID))
		c.main.Add(item)
	}
}

func (c *controller) jobAdded(job *batchv1.Job, initial bool) {
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
	if owner := c.objects.owner; owner.takeOver.Jobs && owner.ours(after) && builtInWrote(before, after) {
		c.reportRival(jobKind, after, c.Metrics.builtInWrites)
	}
	switch {
	case finished(after) && finished(before):
	case finished(after):
		c.runEnded(after)
	case c.objects.owner.ours(after) && changed(job.SpecOf(before), job.SpecOf(after)):
		c.main.Add(jobKey(after))
	}
}

func (c *controller) jobDeleted(job *batchv1.Job) {
	if item := jobKey(job); c.objects.owner.ours(job) && !finished(job) {
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
