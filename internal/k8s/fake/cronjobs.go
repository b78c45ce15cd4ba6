// Package fake has an in-memory CronJob client for unit tests, and what the fake
// Kubernetes client lacks.
package fake

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// CronJobs is a k8s.CronJobsGetter on an object tracker. The embedded Fake
// records the actions and takes reactors.
type CronJobs struct {
	clienttesting.Fake
	tracker clienttesting.ObjectTracker
}

// Stored returns a CronJob as it is stored, past all reactors; nil when there is none.
func (f *CronJobs) Stored(namespace, name string) *ostinatov1.CronJob {
	object, err := f.tracker.Get(ostinatov1.GroupVersion.WithResource("cronjobs"), namespace, name)
	if err != nil {
		return nil
	}
	cronJob, _ := object.(*ostinatov1.CronJob)
	return cronJob
}

// NewCronJobs returns a client that holds the given objects. Server-side apply
// works on them; lists are atomic to it, since it has no schema.
func NewCronJobs(objects ...*ostinatov1.CronJob) *CronJobs {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	if err := ostinatov1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder()
	tracker := clienttesting.NewFieldManagedObjectTracker(scheme, decoder, managedfields.NewDeducedTypeConverter())
	for _, object := range objects {
		if err := tracker.Add(object); err != nil {
			panic(err)
		}
	}
	fake := &CronJobs{tracker: tracker}
	fake.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	fake.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		var options metav1.ListOptions
		if watching, ok := action.(clienttesting.WatchActionImpl); ok {
			options = watching.ListOptions
		}
		stream, err := tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		return err == nil, stream, err
	})
	return fake
}

// CronJobs implements k8s.CronJobsGetter.
func (f *CronJobs) CronJobs(namespace string) k8s.CronJobInterface {
	return gentype.NewFakeClientWithList(
		&f.Fake, namespace,
		ostinatov1.GroupVersion.WithResource("cronjobs"), ostinatov1.CronJobKind,
		func() *ostinatov1.CronJob { return &ostinatov1.CronJob{} },
		func() *ostinatov1.CronJobList { return &ostinatov1.CronJobList{} },
		func(to, from *ostinatov1.CronJobList) { to.ListMeta = from.ListMeta },
		func(list *ostinatov1.CronJobList) []*ostinatov1.CronJob { return gentype.ToPointerSlice(list.Items) },
		func(list *ostinatov1.CronJobList, items []*ostinatov1.CronJob) {
			list.Items = gentype.FromPointerSlice(items)
		},
	)
}
