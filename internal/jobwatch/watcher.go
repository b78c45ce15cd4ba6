// Package jobwatch sees new Jobs, makes their first Pods at once, and starts their workflows with these Pods. When a thousand
// Jobs are created together, their workflows begin one after another, and what each does first follows from the Job alone.
//
// It has no say in a Job that a workflow has begun with, which hears only whether creates of its first Pods may land. It remembers
// nothing. A watch that takes over lists the Jobs, and leaves the first Pods of these to their workflows, since the watch before may
// have made them. The bridge does after a minute what the watch misses, as while the API server is away or without the right to watch
// Jobs.
package jobwatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

const (
	// makers bounds the Jobs whose first Pods are being made, starters those whose workflows are being started.
	makers, starters = 32, 16
	// retryAfter is after how long a call that failed is tried again.
	retryAfter = time.Second
)

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
	// Begin makes the first Pods of a Job that was new when it was seen, unless it was listed, and returns the input of its
	// workflow; nil if the Job is new no more. After an error it is called again.
	Begin func(ctx context.Context, job protocol.ObjectReference, listed bool) (*protocol.JobInput, error)
	// Start starts the workflow, unless it runs. After an error it is called again.
	Start func(ctx context.Context, input protocol.JobInput) error
}

// IsNew reports whether the first Pods of a Job are to be made: it is ours, was not edited, and no workflow has begun with it.
// The start of a CronJob's run makes those of its Job itself. A Job that is to be taken over may be the built-in controller's
// yet.
func IsNew(object *batchv1.Job) bool {
	return claim.Ours(object, false) && object.DeletionTimestamp == nil && object.Generation <= 1 && !job.HasStatus(object.Status) &&
		!ptr.Deref(object.Spec.Suspend, false) && !metav1.HasAnnotation(object.ObjectMeta, names.ScheduledTimestampAnnotation) &&
		!metav1.HasAnnotation(object.ObjectMeta, names.StopAnnotation)
}

// Watch is a watch of Jobs. It runs once.
type Watch struct {
	options         Options
	jobs            k8s.Informers
	podless, begins *queue.Queue[protocol.ObjectReference]

	mutex sync.Mutex
	new   newJobs
}

// New returns a watch.
func New(options Options) (*Watch, error) {
	shares := queue.Shares[protocol.ObjectReference]{Namespace: func(job protocol.ObjectReference) string { return job.Namespace }, Weights: options.Weights}
	line := func(name string) *queue.Queue[protocol.ObjectReference] {
		return queue.New(name, retryAfter, retryAfter, shares, options.Clock, nil)
	}
	w := &Watch{options: options, jobs: k8s.Informers{}, podless: line("jobwatch"), begins: line("jobwatch-start"), new: newJobs{}}
	for _, namespace := range k8s.NamespacesToList(options.Namespaces) {
		w.jobs[namespace] = batchinformers.NewJobInformer(options.Kubernetes, namespace, 0, cache.Indexers{})
		err := errors.Join(w.jobs[namespace].SetTransform(trim), w.jobs.Tell(namespace, k8s.HandlerOf(w.see, w.changed, w.begun)))
		if err != nil {
			return nil, fmt.Errorf("set up the Job informer: %w", err)
		}
	}
	return w, nil
}

// Job returns a Job as it was seen last, or nil. It tells whose the Job is, whether it is new or finished, and when it was
// created and started.
func (w *Watch) Job(namespace, name string, uid types.UID) *batchv1.Job {
	if seen, ok := w.jobs.Get(types.NamespacedName{Namespace: namespace, Name: name}).(*batchv1.Job); ok && seen.UID == uid {
		return seen
	}
	return nil
}

// Jobs returns the Jobs as they were seen last. They tell the numbers of their Pods besides.
func (w *Watch) Jobs() iter.Seq[*batchv1.Job] {
	return func(yield func(*batchv1.Job) bool) {
		for _, informer := range w.jobs {
			for _, object := range informer.GetStore().List() {
				if seen, ok := object.(*batchv1.Job); ok && !yield(seen) {
					return
				}
			}
		}
	}
}

// Begins reports whether the watch is to start the workflow of a Job, and has not done so.
func (w *Watch) Begins(namespace, name string, uid types.UID) (begins bool) {
	w.with(func(jobs newJobs, _ time.Time) {
		begins = jobs.has(protocol.ObjectReference{Namespace: namespace, Name: name, UID: string(uid)})
	})
	return begins
}

// Run watches until the context is done.
func (w *Watch) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { w.jobs.Run(ctx) })
	group.Go(func() { w.begins.Run(ctx, starters, w.start) })
	w.podless.Run(ctx, makers, w.make)
}

func (w *Watch) with(do func(jobs newJobs, now time.Time)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	do(w.new, w.options.Clock.Now())
}

func (w *Watch) see(added *batchv1.Job, initial bool) {
	if !IsNew(added) || !names.InShard(string(added.UID), w.options.Shard, w.options.Shards) {
		return
	}
	seen := referenceOf(added)
	w.with(func(jobs newJobs, now time.Time) {
		if !jobs.has(seen) {
			jobs.see(seen, initial, now)
			w.podless.Add(seen)
		}
	})
}

func (w *Watch) changed(before, after *batchv1.Job) {
	if IsNew(before) && !IsNew(after) {
		w.begun(after)
	}
}

// begun has another workflow start in place of that of a Job which is new no more, or is gone.
func (w *Watch) begun(job *batchv1.Job) {
	w.begin(func(jobs newJobs) []protocol.ObjectReference { return jobs.begun(referenceOf(job)) })
}

// begin has the workflows start of Jobs that may begin after what has happened.
func (w *Watch) begin(after func(jobs newJobs) []protocol.ObjectReference) {
	w.with(func(jobs newJobs, _ time.Time) {
		for _, one := range after(jobs) {
			w.begins.Add(one)
		}
	})
}

func referenceOf(job *batchv1.Job) protocol.ObjectReference {
	return protocol.ObjectReference{Namespace: job.Namespace, Name: job.Name, UID: string(job.UID)}
}

// make makes the first Pods of a Job. Its workflow then waits to be started.
func (w *Watch) make(ctx context.Context, seen protocol.ObjectReference) (time.Duration, error) {
	var listed bool
	w.with(func(jobs newJobs, _ time.Time) { listed = jobs.listed(seen) })
	input, err := w.options.Begin(ctx, seen, listed)
	if err != nil && w.isNew(seen) {
		return 0, err
	}
	w.begin(func(jobs newJobs) []protocol.ObjectReference { return jobs.made(seen, input) })
	return 0, nil
}

// start starts the workflow of a Job when its turn has come.
func (w *Watch) start(ctx context.Context, seen protocol.ObjectReference) (again time.Duration, err error) {
	var input *protocol.JobInput
	isNew := w.isNew(seen)
	w.with(func(jobs newJobs, now time.Time) {
		if input, again = jobs.next(seen, now); !isNew {
			again = 0
		}
		if input != nil && again == 0 {
			jobs.begin(seen, now)
		}
	})
	if input == nil || again > 0 {
		return again, nil
	}
	// One that is new no more has a workflow, or gets one from the bridge. It hears from here alone that creates may land, and at once.
	if isNew || input.Late && w.Job(seen.Namespace, seen.Name, types.UID(seen.UID)) != nil {
		err = w.options.Start(ctx, *input)
	}
	isNew = w.isNew(seen)
	w.begin(func(jobs newJobs) []protocol.ObjectReference { return jobs.started(seen, isNew, err) })
	return 0, err
}

// isNew reports whether the watch sees that a Job is new.
func (w *Watch) isNew(job protocol.ObjectReference) bool {
	found := w.Job(job.Namespace, job.Name, types.UID(job.UID))
	return found != nil && IsNew(found)
}

// trim keeps of a Job what IsNew and claim.Finished read, which controller it belongs to, and how many Pods its status counts.
func trim(object any) (any, error) {
	found, ok := object.(*batchv1.Job)
	if !ok {
		return object, nil
	}
	kept := &batchv1.Job{
		ObjectMeta: k8s.TrimMeta(found.ObjectMeta),
		Spec:       batchv1.JobSpec{ManagedBy: found.Spec.ManagedBy, Suspend: found.Spec.Suspend},
		Status:     batchv1.JobStatus{StartTime: found.Status.StartTime, Active: found.Status.Active, Terminating: found.Status.Terminating},
	}
	k8s.KeepAnnotations(&kept.ObjectMeta, found.Annotations, names.ScheduledTimestampAnnotation, names.StopAnnotation)
	for _, condition := range found.Status.Conditions {
		kept.Status.Conditions = append(kept.Status.Conditions, batchv1.JobCondition{Type: condition.Type, Status: condition.Status})
	}
	return kept, nil
}
