// Package podwatch watches the Pods of Jobs. It signals Job workflows with the facts that matter to
// them, keeps status.ready of their Jobs, and releases Pods that will not be counted. It remembers
// nothing: a watch that takes over lists the Pods, and what is not accounted carries the finalizer.
//
// What is owed about a Pod is its state (state.go, a table). What is sent when is decided without
// I/O (job.go, ready.go), whose a Pod is by package claim; the Watcher carries it out.
package podwatch

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/log"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/queue"
)

const (
	reportInterval = 2 * time.Second  // how often Options.Report is called
	senders        = 16               // bounds the Jobs whose workflows are told, and those about which the API server is asked
	serveTimeout   = 10 * time.Second // bounds what is done for one Job at a time
	orphanInterval = time.Second      // the least time between two looks at a Pod without a controller
	// firstRetry and lastRetry bound the back-off of a Job that could not be signalled or looked at.
	firstRetry = time.Second
	lastRetry  = 10 * time.Second
)

// Signaller is the part of the Temporal client that the watch uses.
type Signaller interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// Options are what a Watcher works with.
type Options struct {
	Kubernetes kubernetes.Interface
	// Temporal signals Job workflows.
	Temporal Signaller
	// Cluster is the optional name of the Kubernetes cluster.
	Cluster names.Cluster
	// Namespaces are those that are watched; none means all.
	Namespaces []string
	// Shard of Shards says which Pods are watched, by names.WatchBucketLabel.
	Shard, Shards int
	// Attempt is the number of the activity's attempt, from 1.
	Attempt int32
	// Weights are the shares of namespaces where Jobs wait to be served.
	Weights order.Weights
	// TakeOverJobs makes Jobs of the built-in controller Ostinato's too (claim.Ours).
	TakeOverJobs bool
	// Job returns a Job as the worker sees it, or nil where it is not seen (jobwatch.Watch.Job).
	Job func(namespace, name string, uid types.UID) *batchv1.Job
	// Jobs are the Jobs that the worker sees (jobwatch.Watch.Jobs).
	Jobs func() iter.Seq[*batchv1.Job]
	// Begins reports whether the workflow of a Job is to be started by this process (jobwatch.Watch.Begins).
	Begins  func(namespace, name string, uid types.UID) bool
	Metrics *Metrics
	Logger  log.Logger
	Clock   clock.WithTicker
	// Report is called every two seconds, and when the first list of a namespace is complete.
	Report func(Details)
}

// Details say how a watch is getting on, for people to read. No watch needs them.
type Details struct {
	Jobs int   `json:"jobs"`
	Pods int64 `json:"pods"`
	// Failing says why Pods can't be watched now.
	Failing string `json:"failing,omitempty"`
}

// key names what is to be served: a Job, or, with orphan, a Pod without a controller.
type key struct {
	orphan bool
	jobKey
}

// Watcher holds what the watch knows and carries out what watchedJob decides.
type Watcher struct {
	Options
	selector labels.Selector
	// tells has the Jobs whose workflows are to be told, asks those about which the API server is to be asked first: no fact waits
	// for its answers.
	tells, asks *queue.Queue[key]

	mutex    sync.Mutex
	jobs     map[jobKey]*watchedJob
	listings map[string]*listing // by namespace

	pods atomic.Int64
}

// New returns a Watcher. An impossible shard is an error.
func New(options Options) (*Watcher, error) {
	selector, err := k8s.ShardSelector(options.Shard, options.Shards)
	if err != nil {
		return nil, err
	}
	shares := queue.Shares[key]{Namespace: func(k key) string { return k.namespace }, Weights: options.Weights}
	line := func(name string) *queue.Queue[key] {
		return queue.New(name, firstRetry, lastRetry, shares, options.Clock, nil)
	}
	w := &Watcher{
		Options:  options,
		selector: selector,
		tells:    line("podwatch"),
		asks:     line("podwatch-asks"),
		jobs:     map[jobKey]*watchedJob{},
		listings: map[string]*listing{},
	}
	for _, namespace := range k8s.NamespacesToList(options.Namespaces) {
		w.listings[namespace] = &listing{held: sets.Set[key]{}, since: options.Clock.Now()}
	}
	return w, nil
}

// Run watches until the context is done, whose error it then returns, or until no namespace's Pods could be watched for too
// long. A Watcher runs once.
func (w *Watcher) Run(ctx context.Context) error {
	running, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for namespace := range w.listings {
		informer, listed, err := k8s.NewPodInformer(w.Kubernetes, k8s.PodInformerOptions{
			Namespace: namespace, Selector: w.selector, OnAnswer: func(err error) { w.answered(namespace, err) },
		}, w.handler())
		if err != nil {
			return fmt.Errorf("make the Pod informer of watch shard %d: %w", w.Shard, err)
		}
		group.Go(func() { informer.RunWithContext(running) })
		group.Go(func() {
			select {
			case <-running.Done():
			case <-listed:
				w.listed(running, namespace)
			}
		})
	}
	group.Go(func() { w.tells.Run(running, senders, w.limited(w.tell)) })
	group.Go(func() { w.asks.Run(running, senders, w.limited(w.ask)) })
	group.Go(func() { w.compare(running) })
	ticker := w.Clock.NewTicker(reportInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C():
			if err := w.lost(); err != nil {
				return err
			}
			w.Report(w.details())
		}
	}
}

func (w *Watcher) details() Details {
	details := Details{Pods: w.pods.Load()}
	w.change(func(time.Time) {
		details.Jobs = len(w.jobs)
		for _, listing := range w.listings {
			if listing.last != nil {
				details.Failing = clip.Message(listing.last.Error())
			}
		}
	})
	w.Metrics.jobs.Set(float64(details.Jobs))
	return details
}

func (w *Watcher) change(do func(now time.Time)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	do(w.Clock.Now())
}
