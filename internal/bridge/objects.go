package bridge

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/tools/cache"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// ownerIndex indexes Jobs by the UID of the CronJob of ours that controls them.
const ownerIndex = "cronjob-uid"

// objects are the trimmed CronJobs and Jobs of the namespaces served, by informers.
type objects struct {
	owner      ownership
	namespaces []string
	cronJobs   map[string]cache.SharedIndexInformer
	// nativeCronJobs are those of batch/v1, in the shape of ours; none where they are
	// not taken over.
	nativeCronJobs map[string]cache.SharedIndexInformer
	// namesakes are the CronJobs of batch/v1 whether or not they are taken over; where
	// they are, the same informers.
	namesakes map[string]cache.SharedIndexInformer
	jobs      map[string]cache.SharedIndexInformer
}

// newObjects makes the informers; no namespaces means all.
func newObjects(clients *k8s.Clients, owner ownership, namespaces []string) (*objects, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	o := &objects{
		owner:          owner,
		namespaces:     namespaces,
		cronJobs:       map[string]cache.SharedIndexInformer{},
		nativeCronJobs: map[string]cache.SharedIndexInformer{},
		namesakes:      map[string]cache.SharedIndexInformer{},
		jobs:           map[string]cache.SharedIndexInformer{},
	}
	for _, namespace := range namespaces {
		cronJobs := cronJobInformer(clients.CronJobs.CronJobs(namespace))
		if err := cronJobs.SetTransform(trimCronJob); err != nil {
			return nil, fmt.Errorf("set the CronJob informer's transform: %w", err)
		}
		jobs := batchinformers.NewJobInformer(clients.Kubernetes, namespace, 0, cache.Indexers{ownerIndex: owner.indexByOwner})
		if err := jobs.SetTransform(owner.trimJob); err != nil {
			return nil, fmt.Errorf("set the Job informer's transform: %w", err)
		}
		o.cronJobs[namespace], o.jobs[namespace] = cronJobs, jobs
		if !owner.takeOverCronJobs {
			var err error
			if o.namesakes[namespace], err = namesakeInformer(clients.Kubernetes, namespace); err != nil {
				return nil, err
			}
			continue
		}
		natives := batchinformers.NewCronJobInformer(clients.Kubernetes, namespace, 0, cache.Indexers{})
		if err := natives.SetTransform(trimNativeCronJob); err != nil {
			return nil, fmt.Errorf("set the batch/v1 CronJob informer's transform: %w", err)
		}
		o.nativeCronJobs[namespace], o.namesakes[namespace] = natives, natives
	}
	return o, nil
}

func cronJobInformer(client k8s.CronJobInterface) cache.SharedIndexInformer {
	watcher := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(watcher, client), &ostinatov1.CronJob{}, 0, cache.Indexers{})
}

func (o ownership) indexByOwner(object any) ([]string, error) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return nil, nil
	}
	if owner, owned := o.cronJobOf(job); owned {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

// runInformers runs informers until the context is done.
func runInformers(ctx context.Context, informers map[string]cache.SharedIndexInformer) {
	for _, informer := range informers {
		go informer.RunWithContext(ctx)
	}
}

// informersSynced reports whether each of the informers has its first list.
func informersSynced(informers map[string]cache.SharedIndexInformer) bool {
	for _, informer := range informers {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// serves reports whether the namespace is one of those watched.
func (o *objects) serves(namespace string) bool {
	return o.of(o.cronJobs, namespace) != nil
}

// of returns the informer that holds a namespace, or nil.
func (o *objects) of(informers map[string]cache.SharedIndexInformer, namespace string) cache.SharedIndexInformer {
	if informer, ok := informers[namespace]; ok {
		return informer
	}
	return informers[metav1.NamespaceAll]
}

// cronJob returns a CronJob of the key's kind, or nil.
func (o *objects) cronJob(item key) *ostinatov1.CronJob {
	cronJob, _ := o.find(item).(*ostinatov1.CronJob)
	return cronJob
}

// find returns a key's object, or nil.
func (o *objects) find(item key) metav1.Object {
	informers := o.cronJobs
	switch item.kind {
	case nativeCronJobKind:
		informers = o.nativeCronJobs
	case jobKind:
		informers = o.jobs
	}
	object, _ := o.lookup(informers, item.NamespacedName).(metav1.Object)
	return object
}

// job returns a Job, or nil.
func (o *objects) job(name types.NamespacedName) *batchv1.Job {
	job, _ := o.lookup(o.jobs, name).(*batchv1.Job)
	return job
}

func (o *objects) lookup(informers map[string]cache.SharedIndexInformer, name types.NamespacedName) any {
	informer := o.of(informers, name.Namespace)
	if informer == nil {
		return nil
	}
	object, exists, err := informer.GetStore().GetByKey(name.String())
	if err != nil || !exists {
		return nil
	}
	return object
}

// jobsOf returns the Jobs that a CronJob controls.
func (o *objects) jobsOf(cronJob *ostinatov1.CronJob) []*batchv1.Job {
	informer := o.of(o.jobs, cronJob.Namespace)
	if informer == nil {
		return nil
	}
	found, err := informer.GetIndexer().ByIndex(ownerIndex, string(cronJob.UID))
	if err != nil {
		return nil
	}
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
	for _, informers := range []map[string]cache.SharedIndexInformer{o.cronJobs, o.nativeCronJobs} {
		for _, informer := range informers {
			for _, object := range informer.GetStore().List() {
				if cronJob, ok := object.(*ostinatov1.CronJob); ok && !o.owner.probe(cronJob) {
					visit(cronJob)
				}
			}
		}
	}
}

// eachJob calls visit with every Job.
func (o *objects) eachJob(visit func(*batchv1.Job)) {
	for _, informer := range o.jobs {
		for _, object := range informer.GetStore().List() {
			if job, ok := object.(*batchv1.Job); ok {
				visit(job)
			}
		}
	}
}
