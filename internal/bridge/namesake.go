package bridge

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// namesakeInformer watches the CronJobs of batch/v1 where those are not taken over. A
// manifest that moves to batch.ostinato.dev leaves its batch/v1 object behind, which goes
// on creating Jobs.
func namesakeInformer(client kubernetes.Interface, namespace string) (cache.SharedIndexInformer, error) {
	informer := batchinformers.NewCronJobInformer(client, namespace, 0, cache.Indexers{})
	if err := informer.SetTransform(trimNamesake); err != nil {
		return nil, fmt.Errorf("set the transform of the informer of namesakes: %w", err)
	}
	return informer, nil
}

// trimNamesake is the transform of that informer: it keeps the name and whether the
// CronJob is suspended, in the shape of ours.
func trimNamesake(object any) (any, error) {
	native, ok := object.(*batchv1.CronJob)
	if !ok {
		// An informer may pass an object that it has transformed before.
		return object, nil
	}
	return &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: native.Namespace, Name: native.Name, UID: native.UID,
			ResourceVersion: native.ResourceVersion, DeletionTimestamp: native.DeletionTimestamp,
		},
		Spec: ostinatov1.CronJobSpec{Suspend: native.Spec.Suspend},
	}, nil
}

// namesake returns the batch/v1 CronJob of a name, nil where there is none; known is false
// until the first list has been read.
func (o *objects) namesake(name types.NamespacedName) (native *ostinatov1.CronJob, known bool) {
	informer := o.of(o.namesakes, name.Namespace)
	if informer == nil || !informer.HasSynced() {
		return nil, false
	}
	native, _ = o.lookup(o.namesakes, name).(*ostinatov1.CronJob)
	return native, true
}

// namesakeChanged queues our CronJob of the name, if there is one.
func (c *controller) namesakeChanged(native *ostinatov1.CronJob) {
	item := keyOf(cronJobKind, native)
	if c.objects.cronJob(item) != nil {
		c.main.Add(item)
	}
}

// watchNamesakes queues our CronJobs whose namesakes change.
func (c *controller) watchNamesakes(namespace string, add func(cache.SharedIndexInformer, cache.ResourceEventHandler) error) error {
	return add(c.objects.namesakes[namespace], handlerOf(
		func(native *ostinatov1.CronJob, _ bool) { c.namesakeChanged(native) },
		func(_, native *ostinatov1.CronJob) { c.namesakeChanged(native) },
		c.namesakeChanged,
	))
}
