package activities

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				w.observe(nil, pod, initial)
			}
		},
		UpdateFunc: func(previous, object any) {
			before, _ := previous.(*corev1.Pod)
			if pod, ok := object.(*corev1.Pod); ok {
				w.countTracked(before, pod)
				w.observe(before, pod, false)
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				w.pods.Add(-1)
				w.countTracked(pod, nil)
				w.remove(pod, false)
			}
		},
	}
}

// observe takes a Pod as it now is; before is what it was, nil when it is new.
func (w *podWatcher) observe(before, pod *corev1.Pod, initial bool) {
	name, uid, ok := k8s.JobOf(pod)
	var looked bool
	if before != nil {
		if _, was, ok := k8s.JobOf(before); ok && was != uid {
			looked = w.remove(before, true)
		}
	}
	if !ok {
		// One that a Job has lost just now is looked up for that Job.
		if !looked && metav1.GetControllerOfNoCopy(pod) == nil {
			w.queue.Add(watchKey{podUID: pod.UID, namespace: pod.Namespace, name: pod.Name})
		}
		return
	}
	fact := k8s.PodFact(pod)
	w.mutex.Lock()
	watched, known := w.jobs[string(uid)]
	if !known {
		watched = newWatchedJob(pod.Namespace, name, string(uid))
		w.jobs[string(uid)] = watched
	}
	met := watched.pods[fact.UID] != nil
	adopted := before != nil && metav1.GetControllerOfNoCopy(before) == nil
	watched.observe(fact, restartable(pod), initial, watched.matches(pod), w.Clock.Now())
	if !met && (adopted || k8s.MadeElsewhere(pod)) {
		watched.introduce(fact.UID)
	}
	w.mutex.Unlock()
	w.queue.Add(watchKey{jobUID: string(uid)})
}

// remove takes that a Pod is not seen as its Job's any more; it reports whether it
// is to be looked up.
func (w *podWatcher) remove(pod *corev1.Pod, exists bool) (look bool) {
	_, uid, ok := k8s.JobOf(pod)
	if !ok {
		return false
	}
	fact := k8s.PodFact(pod)
	w.mutex.Lock()
	if watched, known := w.jobs[string(uid)]; known {
		// The last state may have come with the delete alone.
		if known := watched.pods[fact.UID]; known != nil && !known.fact.Disowned {
			watched.observe(fact, restartable(pod), false, true, w.Clock.Now())
		}
		watched.remove(fact.UID, exists)
		look = watched.missing[fact.UID] != nil
	}
	w.mutex.Unlock()
	w.queue.Add(watchKey{jobUID: string(uid)})
	return look
}

func restartable(pod *corev1.Pod) bool {
	return pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
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
	return pod != nil && k8s.Tracked(pod) && k8s.Ended(pod)
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
		return time.Time{}, w.claimOrphan(ctx, key)
	}
	watched, due := w.decide(key.jobUID)
	if watched == nil {
		return time.Time{}, nil
	}
	var lookErr error
	if len(due.look) > 0 {
		if lookErr = w.look(ctx, watched, due.look); lookErr == nil {
			due.again = w.soon()
		}
	}
	if due.verify {
		settled, err := w.settleOrphans(ctx, watched)
		if settled || err != nil {
			return due.again, errors.Join(lookErr, err)
		}
	}
	if len(due.facts) > 0 {
		again, err := w.send(ctx, watched, due.facts)
		return again, errors.Join(lookErr, err)
	}
	if due.project {
		again, err := w.project(ctx, watched, due.ready)
		return again, errors.Join(lookErr, err)
	}
	return due.again, lookErr
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
	for part := range parts(facts) {
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

// signalBytes is about how much one signal holds at most: Temporal warns of events
// of 512 KiB.
const signalBytes = 256 * 1024

// parts cuts facts into parts that a signal can hold.
func parts(facts []job.PodFact) iter.Seq[[]job.PodFact] {
	return func(yield func([]job.PodFact) bool) {
		begin, size := 0, 0
		for i, fact := range facts {
			if i-begin == protocol.MaxFactsPerSignal || size > 0 && size+weight(fact) > signalBytes {
				if !yield(facts[begin:i]) {
					return
				}
				begin, size = i, 0
			}
			size += weight(fact)
		}
		if begin < len(facts) {
			yield(facts[begin:])
		}
	}
}

// weight is about how many bytes a fact takes in a signal.
func weight(fact job.PodFact) int {
	const names = 150
	size := names + len(fact.Name) + len(fact.UID) + len(fact.Node) + len(fact.Container) +
		len(fact.Reason) + len(fact.Message) + len(fact.PendingMessage)
	for _, exit := range fact.Exits {
		size += len(exit.Container) + 20
	}
	for _, condition := range fact.Conditions {
		size += len(condition) + 3
	}
	return size
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
