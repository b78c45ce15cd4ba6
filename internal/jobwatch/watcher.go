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
	"k8s.io/apimachinery/pkg/types"
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

// Watch is a watch of Jobs. It runs once.
type Watch struct {
	options Options
	jobs    k8s.Informers
	waiting *queue.Queue[protocol.ObjectReference]
}

// New returns a watch.
func New(options Options) (*Watch, error) {
	shares := queue.Shares[protocol.ObjectReference]{Namespace: func(job protocol.ObjectReference) string { return job.Namespace }, Weights: options.Weights}
	w := &Watch{options: options, jobs: k8s.Informers{}, waiting: queue.New("jobwatch", time.Second, time.Second, shares, options.Clock, nil)}
	for _, namespace := range k8s.NamespacesToList(options.Namespaces) {
		w.jobs[namespace] = batchinformers.NewJobInformer(options.Kubernetes, namespace, 0, cache.Indexers{})
		if err := w.jobs[namespace].SetTransform(trim); err != nil {
			return nil, fmt.Errorf("set the Job informer's transform: %w", err)
		}
	}
	return w, w.jobs.Tell(k8s.HandlerOf(w.see, func(_, _ *batchv1.Job) {}, func(*batchv1.Job) {}))
}

// Job returns a Job as it was seen last, or nil. It tells whose the Job is, whether it is new or finished, and when it was
// created and started.
func (w *Watch) Job(namespace, name string, uid types.UID) *batchv1.Job {
	if seen, ok := w.jobs.Get(types.NamespacedName{Namespace: namespace, Name: name}).(*batchv1.Job); ok && seen.UID == uid {
		return seen
	}
	return nil
}

// Run watches until the context is done.
func (w *Watch) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { w.jobs.Run(ctx) })
	w.waiting.Run(ctx, makers, func(ctx context.Context, job protocol.ObjectReference) (time.Duration, error) {
		w.options.Begin(ctx, job)
		return 0, nil
	})
}

func (w *Watch) see(added *batchv1.Job, _ bool) {
	if IsNew(added) && names.InShard(string(added.UID), w.options.Shard, w.options.Shards) {
		w.waiting.Add(protocol.ObjectReference{Namespace: added.Namespace, Name: added.Name, UID: string(added.UID)})
	}
}

// trim is an informer transform: it keeps new Jobs, and of the others what Watch.Job tells and why they are not new.
func trim(object any) (any, error) {
	found, ok := object.(*batchv1.Job)
	if !ok || IsNew(found) {
		return object, nil
	}
	kept := &batchv1.Job{
		ObjectMeta: k8s.TrimMeta(found.ObjectMeta),
		Spec:       batchv1.JobSpec{ManagedBy: found.Spec.ManagedBy, Suspend: found.Spec.Suspend},
		Status:     batchv1.JobStatus{StartTime: found.Status.StartTime},
	}
	k8s.KeepAnnotations(&kept.ObjectMeta, found.Annotations, names.ScheduledTimestampAnnotation)
	for _, condition := range found.Status.Conditions {
		kept.Status.Conditions = append(kept.Status.Conditions, batchv1.JobCondition{Type: condition.Type, Status: condition.Status})
	}
	return kept, nil
}
