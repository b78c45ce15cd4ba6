package activities

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// signalTimeout bounds one signal or write.
	signalTimeout = 10 * time.Second
	// firstRetry and lastRetry bound the back-off of a Job that could not be
	// signalled or looked at.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// watchKey names a Job, or, without a Job, a Pod that no Job controls.
type watchKey struct {
	jobUID    string
	podUID    types.UID
	namespace string
	name      string
}

// podWatcher holds what the watch knows and carries out what watchedJob decides.
type podWatcher struct {
	*Activities
	logger log.Logger
	queue  workqueue.TypedRateLimitingInterface[watchKey]

	mutex sync.Mutex
	jobs  map[string]*watchedJob // by UID

	pods, signals, facts, projections atomic.Int64
	synced                            atomic.Bool
}

func newPodWatcher(activities *Activities, logger log.Logger) *podWatcher {
	return &podWatcher{
		Activities: activities,
		logger:     logger,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[watchKey](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[watchKey]{Name: "podwatch", Clock: activities.Clock},
		),
		jobs: map[string]*watchedJob{},
	}
}

func (w *podWatcher) details() watchDetails {
	w.mutex.Lock()
	jobs := len(w.jobs)
	w.mutex.Unlock()
	w.Metrics.watchedJobs.Set(float64(jobs))
	return watchDetails{
		Synced: w.synced.Load(), Jobs: jobs, Pods: int(w.pods.Load()),
		Signals: w.signals.Load(), Facts: w.facts.Load(), Projections: w.projections.Load(),
	}
}

// start runs the senders until the context ends and the queue is shut down.
func (w *podWatcher) start(ctx context.Context, group *sync.WaitGroup) {
	w.synced.Store(true)
	for range watchSenders {
		group.Go(func() {
			for w.next(ctx) {
			}
		})
	}
}

// handler notes what changed and queues its Job; it does no I/O.
func (w *podWatcher) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if pod, ok := object.(*corev1.Pod); ok {
				w.pods.Add(1)
				w.countTracked(nil, pod)
				w.observe(pod, initial)
			}
		},
		UpdateFunc: func(previous, object any) {
			before, _ := previous.(*corev1.Pod)
			if pod, ok := object.(*corev1.Pod); ok {
				w.countTracked(before, pod)
				if before != nil && jobUID(before) != jobUID(pod) {
					w.remove(before)
				}
				w.observe(pod, false)
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				w.pods.Add(-1)
				w.countTracked(pod, nil)
				w.remove(pod)
			}
		},
	}
}

func jobUID(pod *corev1.Pod) types.UID {
	_, uid, _ := k8s.JobOf(pod)
	return uid
}

func (w *podWatcher) observe(pod *corev1.Pod, initial bool) {
	name, uid, ok := k8s.JobOf(pod)
	if !ok {
		if k8s.Tracked(pod) {
			w.queue.Add(watchKey{podUID: pod.UID, namespace: pod.Namespace, name: pod.Name})
		}
		return
	}
	w.mutex.Lock()
	watched, known := w.jobs[string(uid)]
	if !known {
		watched = newWatchedJob(pod.Namespace, name, string(uid))
		w.jobs[string(uid)] = watched
	}
	watched.observe(k8s.PodFact(pod), pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure, initial, w.Clock.Now())
	w.mutex.Unlock()
	w.queue.Add(watchKey{jobUID: string(uid)})
}

func (w *podWatcher) remove(pod *corev1.Pod) {
	_, uid, ok := k8s.JobOf(pod)
	if !ok {
		return
	}
	w.mutex.Lock()
	if watched, known := w.jobs[string(uid)]; known {
		// The last state may have come with the delete alone.
		if _, known := watched.pods[string(pod.UID)]; known {
			watched.observe(k8s.PodFact(pod), pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure, false, w.Clock.Now())
		}
		watched.remove(string(pod.UID))
	}
	w.mutex.Unlock()
	w.queue.Add(watchKey{jobUID: string(uid)})
}

// countTracked counts Pods that ended with the tracking finalizer, as upstream.
func (w *podWatcher) countTracked(before, after *corev1.Pod) {
	was, is := endedTracked(before), endedTracked(after)
	switch {
	case is && !was:
		w.Metrics.terminatedTracked.WithLabelValues("add").Inc()
	case was && !is:
		w.Metrics.terminatedTracked.WithLabelValues("delete").Inc()
	}
}

func endedTracked(pod *corev1.Pod) bool {
	return pod != nil && k8s.Tracked(pod) && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}

// next does what is due for one Job; false when the watch ends.
func (w *podWatcher) next(ctx context.Context) bool {
	key, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(key)
	again, err := w.serve(ctx, key)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		w.logger.Warn("Pod facts not delivered, will retry", "job", key.jobUID, "pod", key.name, "error", err)
		w.queue.AddRateLimited(key)
	default:
		w.queue.Forget(key)
		if !again.IsZero() {
			w.queue.AddAfter(key, max(0, again.Sub(w.Clock.Now())))
		}
	}
	return true
}

func (w *podWatcher) serve(ctx context.Context, key watchKey) (again time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, signalTimeout)
	defer cancel()
	if key.jobUID == "" {
		return time.Time{}, w.releaseUncontrolled(ctx, key)
	}
	watched, due := w.decide(key.jobUID)
	if watched == nil {
		return time.Time{}, nil
	}
	if due.verify {
		settled, err := w.settleOrphans(ctx, watched)
		if settled || err != nil {
			return due.again, err
		}
	}
	if len(due.facts) > 0 {
		return w.send(ctx, watched, due.facts)
	}
	if due.project {
		return w.project(ctx, watched, due.ready)
	}
	return due.again, nil
}

// decide returns what is due for a Job; nil when it has no Pods left.
func (w *podWatcher) decide(uid string) (*watchedJob, decision) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	watched, known := w.jobs[uid]
	if !known {
		return nil, decision{}
	}
	if len(watched.pods) == 0 {
		delete(w.jobs, uid)
		return nil, decision{}
	}
	return watched, watched.decide(w.Clock.Now())
}

// send signals the Job's workflow, in parts that a signal can hold. What was not
// taken stays to be sent.
func (w *podWatcher) send(ctx context.Context, watched *watchedJob, facts []job.PodFact) (again time.Time, err error) {
	workflowID := w.Cluster.JobWorkflowID(watched.namespace, watched.name)
	for part := range slices.Chunk(facts, protocol.MaxFactsPerSignal) {
		started := w.Clock.Now()
		err := w.Temporal.SignalWorkflow(ctx, workflowID, "", protocol.PodsSignal, protocol.PodFacts{JobUID: watched.uid, Facts: part})
		w.Metrics.watchSignalSeconds.Observe(w.Clock.Since(started).Seconds())
		var notFound *serviceerror.NotFound
		switch {
		case errors.As(err, &notFound):
			w.Metrics.watchSignals.WithLabelValues("not_found").Inc()
			settled, lookErr := w.settleOrphans(ctx, watched)
			switch {
			case lookErr != nil:
				return time.Time{}, lookErr
			case settled:
				return w.soon(), nil
			}
			// The Job runs: the bridge will start its workflow.
			return time.Time{}, err
		case err != nil:
			w.Metrics.watchSignals.WithLabelValues("error").Inc()
			return time.Time{}, err
		}
		w.Metrics.watchSignals.WithLabelValues("sent").Inc()
		w.Metrics.watchFacts.Add(float64(len(part)))
		w.signals.Add(1)
		w.facts.Add(int64(len(part)))
		w.mutex.Lock()
		watched.told(part, w.Clock.Now())
		w.mutex.Unlock()
	}
	return w.soon(), nil
}

func (w *podWatcher) project(ctx context.Context, watched *watchedJob, ready int32) (again time.Time, err error) {
	taken, err := k8s.PatchJobReady(ctx, w.Kubernetes, watched.namespace, watched.name, types.UID(watched.uid), ready)
	if err != nil {
		return time.Time{}, err
	}
	w.Metrics.watchProjections.Inc()
	w.projections.Add(1)
	w.mutex.Lock()
	watched.projected(ready, taken, w.Clock.Now())
	w.mutex.Unlock()
	return w.soon(), nil
}

// soon asks for another decision at once, since something was done.
func (w *podWatcher) soon() time.Time { return w.Clock.Now() }
