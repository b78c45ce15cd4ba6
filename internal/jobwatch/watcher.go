// Package jobwatch sees new Jobs, so that their first Pods are made at once. When a thousand Jobs are created together,
// their workflows begin one after another, and what each does first follows from the Job alone.
//
// It has no say in a Job that a workflow has begun with. It remembers and retries nothing: what it misses, as while the
// API server is away or without the right to watch Jobs, the Job's workflow does.
package jobwatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/queue"
)

// makers bounds the Jobs whose first Pods are being made.
const makers = 32

// Options are what a watch works with.
type Options struct {
	Kubernetes kubernetes.Interface
	// Namespaces are those that are watched; none means all.
	Namespaces []string
	// Shard of Shards says which Jobs are watched, as PodWatch's does.
	Shard, Shards int
	// Weights are the shares of namespaces where Jobs wait.
	Weights order.Weights
	Clock   clock.WithTicker
	// Begin makes the first Pods of a Job that was new when it was seen.
	Begin func(ctx context.Context, job protocol.ObjectReference)
}

// IsNew reports whether the first Pods of a Job are to be made: it is ours, and no workflow has begun with it. The start
// of a CronJob's run makes those of its Job itself. A Job that is to be taken over may be the built-in controller's yet.
func IsNew(object *batchv1.Job) bool {
	return claim.Ours(object, false) && object.DeletionTimestamp == nil && !job.HasStatus(object.Status) &&
		!ptr.Deref(object.Spec.Suspend, false) && !metav1.HasAnnotation(object.ObjectMeta, names.ScheduledTimestampAnnotation)
}

// Run watches until the context is done.
func Run(ctx context.Context, options Options) error {
	shares := queue.Shares[protocol.ObjectReference]{Namespace: func(job protocol.ObjectReference) string { return job.Namespace }, Weights: options.Weights}
	waiting := queue.New("jobwatch", time.Second, time.Second, shares, options.Clock, nil)
	see := func(added *batchv1.Job, _ bool) {
		if IsNew(added) && names.InShard(string(added.UID), options.Shard, options.Shards) {
			waiting.Add(protocol.ObjectReference{Namespace: added.Namespace, Name: added.Name, UID: string(added.UID)})
		}
	}
	var group sync.WaitGroup
	defer group.Wait()
	for _, namespace := range k8s.NamespacesToList(options.Namespaces) {
		informer := batchinformers.NewJobInformer(options.Kubernetes, namespace, 0, cache.Indexers{})
		if err := informer.SetTransform(trim); err != nil {
			return fmt.Errorf("set the Job informer's transform: %w", err)
		}
		if _, err := informer.AddEventHandler(k8s.HandlerOf(see, func(_, _ *batchv1.Job) {}, func(*batchv1.Job) {})); err != nil {
			return fmt.Errorf("handle Job events: %w", err)
		}
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	waiting.Run(ctx, makers, func(ctx context.Context, job protocol.ObjectReference) (time.Duration, error) {
		options.Begin(ctx, job)
		return 0, nil
	})
	return nil
}

// trim is an informer transform: it keeps new Jobs, and the names of the others.
func trim(object any) (any, error) {
	found, ok := object.(*batchv1.Job)
	if !ok || IsNew(found) {
		return object, nil
	}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: found.Namespace, Name: found.Name, UID: found.UID, ResourceVersion: found.ResourceVersion,
	}}, nil
}
