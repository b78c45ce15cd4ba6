// Package fake has an in-memory CronJob client for unit tests, and what the fake
// Kubernetes client lacks.
package fake

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Become makes the CronJob what is stored of its name, past all reactors.
func (f *CronJobs) Become(cronJob *ostinatov1.CronJob) error {
	return f.tracker.Update(ostinatov1.GroupVersion.WithResource("cronjobs"), cronJob, cronJob.Namespace)
}

// Appear stores a CronJob that is new, past all reactors.
func (f *CronJobs) Appear(cronJob *ostinatov1.CronJob) error {
	return f.tracker.Create(ostinatov1.GroupVersion.WithResource("cronjobs"), cronJob, cronJob.Namespace)
}

// Vanish removes a CronJob, past all reactors.
func (f *CronJobs) Vanish(namespace, name string) error {
	return f.tracker.Delete(ostinatov1.GroupVersion.WithResource("cronjobs"), namespace, name)
}

// NewCronJobs returns a client that holds the given objects. Server-side apply
// works on them; lists are atomic to it, since it has no schema. Resource versions are as
// they are given.
func NewCronJobs(objects ...*ostinatov1.CronJob) *CronJobs {
	scheme := schemeOfCronJobs()
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder()
	return cronJobsOn(clienttesting.NewFieldManagedObjectTracker(scheme, decoder, managedfields.NewDeducedTypeConverter()), objects)
}

// NewUnmanagedCronJobs returns a client that is faster, and leaves managed fields as they are given. Server-side apply does not work on
// its objects.
func NewUnmanagedCronJobs(objects ...*ostinatov1.CronJob) *CronJobs {
	scheme := schemeOfCronJobs()
	return cronJobsOn(clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder()), objects)
}

func schemeOfCronJobs() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	if err := ostinatov1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}

func cronJobsOn(tracker clienttesting.ObjectTracker, objects []*ostinatov1.CronJob) *CronJobs {
	for _, object := range objects {
		if err := tracker.Add(object); err != nil {
			panic(err)
		}
	}
	fake := &CronJobs{tracker: tracker}
	fake.AddReactor("update", "cronjobs", fake.updateStatus)
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

// updateStatus does what the API server does with an update of the status: it takes the
// status alone, where UID and resourceVersion are those of the stored CronJob.
func (f *CronJobs) updateStatus(action clienttesting.Action) (bool, runtime.Object, error) {
	update, ok := action.(clienttesting.UpdateAction)
	if !ok || action.GetSubresource() != "status" {
		return false, nil, nil
	}
	sent, ok := update.GetObject().(*ostinatov1.CronJob)
	if !ok {
		return false, nil, nil
	}
	stored, resource := f.Stored(action.GetNamespace(), sent.Name), ostinatov1.GroupVersion.WithResource("cronjobs").GroupResource()
	if stored == nil {
		return true, nil, apierrors.NewNotFound(resource, sent.Name)
	}
	if sent.UID != "" && sent.UID != stored.UID || sent.ResourceVersion != "" && sent.ResourceVersion != stored.ResourceVersion {
		return true, nil, apierrors.NewConflict(resource, sent.Name, errors.New("the object has been modified"))
	}
	stored = stored.DeepCopy()
	stored.Status = *sent.Status.DeepCopy()
	return true, stored, f.tracker.Update(action.GetResource(), stored, action.GetNamespace())
}
