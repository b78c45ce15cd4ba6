package bridge

import (
	"cmp"
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
	"ostinato.dev/ostinato/internal/k8s"
)

// ownerIndex indexes Jobs by the UID of the CronJob of ours that controls them.
const ownerIndex = "cronjob-uid"

// informers are those of one kind, by namespace: that of NamespaceAll holds every one.
type informers map[string]cache.SharedIndexInformer

func (i informers) run(ctx context.Context) {
	for _, informer := range i {
		go informer.RunWithContext(ctx)
	}
}

func (i informers) synced() bool {
	for _, informer := range i {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// of returns the informer that holds a namespace, or nil.
func (i informers) of(namespace string) cache.SharedIndexInformer {
	return cmp.Or(i[namespace], i[metav1.NamespaceAll])
}

func (i informers) get(name types.NamespacedName) any {
	informer := i.of(name.Namespace)
	if informer == nil {
		return nil
	}
	// The item is nil where there is none; an informer's store has no errors.
	object, _, _ := informer.GetStore().GetByKey(name.String())
	return object
}

func each[T any](i informers, visit func(T)) {
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
	owner      ownership
	namespaces []string
	cronJobs   informers
	// nativeCronJobs are those of batch/v1, in the shape of ours, whether or not they are taken
	// over: they may be namesakes of ours.
	nativeCronJobs informers
	jobs           informers
}

// newObjects makes the informers; no namespaces means all.
func newObjects(clients *k8s.Clients, owner ownership, namespaces []string) (*objects, error) {
	o := &objects{
		owner: owner, namespaces: k8s.NamespacesToList(namespaces),
		cronJobs: informers{}, nativeCronJobs: informers{}, jobs: informers{},
	}
	for _, namespace := range o.namespaces {
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

// of returns the informers of a kind, none where its objects are not Ostinato's.
func (o *objects) of(kind kind) informers {
	switch {
	case kind == jobKind:
		return o.jobs
	case kind == cronJobKind:
		return o.cronJobs
	case o.owner.takeOver.CronJobs:
		return o.nativeCronJobs
	}
	return nil
}

func (o *objects) find(item key) metav1.Object {
	object, _ := o.of(item.kind).get(item.NamespacedName).(metav1.Object)
	return object
}

func (o *objects) cronJob(item key) *ostinatov1.CronJob {
	cronJob, _ := o.find(item).(*ostinatov1.CronJob)
	return cronJob
}

// namesake returns the batch/v1 CronJob of a name, nil where there is none; known is false
// until the first list has been read.
func (o *objects) namesake(name types.NamespacedName) (native *ostinatov1.CronJob, known bool) {
	informer := o.nativeCronJobs.of(name.Namespace)
	if informer == nil || !informer.HasSynced() {
		return nil, false
	}
	native, _ = o.nativeCronJobs.get(name).(*ostinatov1.CronJob)
	return native, true
}

func (o *objects) job(name types.NamespacedName) *batchv1.Job {
	job, _ := o.jobs.get(name).(*batchv1.Job)
	return job
}

// jobsOf returns the Jobs that a CronJob controls.
func (o *objects) jobsOf(cronJob *ostinatov1.CronJob) []*batchv1.Job {
	// The only error is that of an index that is not there.
	found, _ := o.jobs.of(cronJob.Namespace).GetIndexer().ByIndex(ownerIndex, string(cronJob.UID))
	var jobs []*batchv1.Job
	for _, object := range found {
		if job, ok := object.(*batchv1.Job); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// eachCronJob calls visit with every CronJob of either group, probes left out.
func (o *objects) eachCronJob(visit func(*ostinatov1.CronJob)) {
	for _, kind := range []kind{cronJobKind, nativeCronJobKind} {
		each(o.of(kind), func(cronJob *ostinatov1.CronJob) {
			if !o.owner.probe(cronJob) {
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
