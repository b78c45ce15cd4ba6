package bridge

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/keymutex"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/queue"
)

const (
	// callTimeout bounds the calls for one object.
	callTimeout = 10 * time.Second
	// A failed object is tried again after firstRetry, doubling up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// slowWorkers is how many objects the sweep handles at a time, and so the reminders.
	slowWorkers = 4
	// locks is how many locks the objects share. Two objects with the same one wait for each other, which costs time only.
	locks = 1024
)

type kind string

const (
	cronJobKind       kind = "CronJob"
	nativeCronJobKind kind = "batch/v1 CronJob"
	jobKind           kind = "Job"
)

// word is the kind without its group.
func (k kind) word() string { return strings.TrimPrefix(string(k), "batch/v1 ") }

type task string

const (
	follow      task = "follow"                      // send the object's workflow what it needs to hear
	scan        task = "scan for orphaned workflows" // find workflows of a kind whose object is gone or another controller's; no name
	endOrphan   task = "end orphaned workflow"       // the workflow's object seems to be gone
	endForeign  task = "end foreign workflow"        // another controller has the workflow's object
	lookAtStart task = "look what keeps a Job from starting"
	restart     task = "restart workflow" // the object's workflow has ended, or another runs in its place
)

type key struct {
	kind kind
	types.NamespacedName
	task task
}

// keyOf is the key by which an object is followed.
func keyOf(kind kind, object metav1.Object) key {
	return key{kind: kind, NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, task: follow}
}

// to is the key of the same object for another task.
func (k key) to(task task) key {
	k.task = task
	return k
}

// controller acts while this process leads. Three queues hold what is to be looked at: main for what changed, sweep for
// everything, slowly, and reminders for CronJobs whose workflow is late with something. Each handles a key once at a
// time; busy keeps them from handling one object at the same time.
type controller struct {
	*Bridge

	sweepLimiter, ensureLimiter, remindLimiter flowcontrol.RateLimiter
	// cronJobsUpTo and jobsUpTo are where the rounds over listed workflows are.
	cronJobsUpTo, jobsUpTo string

	main, sweep, reminders *queue.Queue[key]
	busy                   keymutex.KeyMutex
	// rivalLog bounds the lines about the built-in controllers' writes.
	rivalLog flowcontrol.PassiveRateLimiter

	memory memory
}

func newQueue(name string, options Options) *queue.Queue[key] {
	// The scans have no namespace.
	shares := queue.Shares[key]{Namespace: func(item key) string { return item.Namespace }, Weights: options.Config.Weights}
	return queue.New(name, firstRetry, lastRetry, shares, options.Clock, options.Metrics.queues)
}

// run acts until the context is done, then lets calls in progress end.
func (c *controller) run(ctx context.Context) {
	c.Logger.Info("leading")
	c.Metrics.leading.Set(1)
	defer c.Metrics.leading.Set(0)

	var group sync.WaitGroup
	for namespace := range c.objects.jobs {
		group.Go(func() { c.serve(ctx, namespace) })
	}
	group.Go(func() { c.main.Run(ctx, c.Config.Workers, c.handler(c.main)) })
	group.Go(func() { c.sweep.Run(ctx, slowWorkers, c.handler(c.sweep)) })
	group.Go(func() { c.reminders.Run(ctx, slowWorkers, c.handler(c.reminders)) })
	group.Go(func() { c.watchdog(ctx) })
	group.Go(func() { c.every(ctx, ensurePeriod, c.makeRound) })
	if c.Config.SweepInterval > 0 {
		group.Go(func() { c.every(ctx, c.Config.SweepInterval, c.sweepAll) })
	}
	group.Wait()
}

// serve has what there is in a namespace looked at, and what changes, when the namespace is listed.
func (c *controller) serve(ctx context.Context, namespace string) {
	filled := func() bool { return c.filled(namespace) }
	if !cache.WaitForCacheSync(ctx.Done(), filled) || c.watch(namespace) != nil { // The caches have stopped, as the process does.
		return
	}
	c.Logger.Info("serving", "namespace", namespace)
	c.sweep.Add(key{kind: jobKind, task: scan})
	c.sweep.Add(key{kind: nativeCronJobKind, task: scan})
	if cache.WaitForCacheSync(ctx.Done(), c.objects.cronJobs.Of(namespace).HasSynced) {
		c.sweep.Add(key{kind: cronJobKind, task: scan})
	}
}

func (c *controller) every(ctx context.Context, period time.Duration, do func(context.Context)) {
	ticker := c.Clock.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			do(ctx)
		}
	}
}

// handler handles the items of a queue, one at a time for each object. What is to be looked at again goes to the main queue.
func (c *controller) handler(lane *queue.Queue[key]) queue.Handler[key] {
	return func(ctx context.Context, item key) (time.Duration, error) {
		if lane == c.sweep {
			if err := c.sweepLimiter.Wait(ctx); err != nil {
				return 0, err
			}
		}
		c.busy.LockKey(item.String())
		defer c.busy.UnlockKey(item.String())
		// A call in progress when the process is told to stop may end.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		again, err := c.sync(ctx, lane, item)
		if err != nil {
			c.failed(err, "will be repeated", "task", item.task, "kind", item.kind, "namespace", item.Namespace, "name", item.Name,
				"failures", lane.Failures(item)+1)
		} else if again > 0 {
			c.main.AddAfter(item, again)
		}
		return 0, err
	}
}

func (c *controller) failed(err error, message string, about ...any) {
	class := errorClass(err)
	c.Metrics.errors.WithLabelValues(class).Inc()
	c.Logger.Warn(message, append(about, "class", class, "error", err)...)
}

// sync does what is to be done for one item, and returns when to look again at the latest; 0 means at the next change.
func (c *controller) sync(ctx context.Context, lane *queue.Queue[key], item key) (time.Duration, error) {
	ofJob := item.kind == jobKind
	switch {
	case item.task == scan:
		return 0, c.scan(ctx, item.kind)
	case item.task == endOrphan:
		return 0, c.syncOrphan(ctx, item)
	case item.task == endForeign && ofJob:
		return c.syncForeignJob(ctx, item)
	case item.task == endForeign:
		return 0, c.syncForeignCronJob(ctx, item)
	case item.task == lookAtStart:
		return 0, c.lookAtStart(ctx, item)
	case item.task == restart:
		return 0, c.restart(ctx, item)
	case ofJob:
		return c.syncJob(ctx, item, lane == c.sweep)
	}
	var turn turn
	if lane == c.reminders {
		turn.limiter = c.remindLimiter
	}
	again, err := c.syncCronJob(ctx, item, lane == c.sweep, &turn)
	if turn.wanted {
		c.reminders.Add(item)
	}
	return again, err
}

func (c *controller) workflowID(item key) string {
	if item.kind == jobKind {
		return c.Config.Cluster.JobWorkflowID(item.Namespace, item.Name)
	}
	cronJob := protocol.ObjectReference{Namespace: item.Namespace, Name: item.Name, Native: item.kind == nativeCronJobKind}
	return cronJob.CronJobWorkflowID(c.Config.Cluster)
}

// sayGone tells the workflow that objects of these UIDs are gone. Where none runs, none needs to know.
func (c *controller) sayGone(ctx context.Context, item key, uids ...string) error {
	for _, uid := range uids {
		if _, err := c.signal(ctx, item, Signal{protocol.DeletedSignal, protocol.Deleted{UID: uid}}); err != nil {
			return err
		}
	}
	return nil
}

// forget forgets an object that is gone or over, once its workflow was told which ones are gone.
func (c *controller) forget(ctx context.Context, item key, gone []string) error {
	if err := c.sayGone(ctx, item, gone...); err != nil {
		return err
	}
	c.memory.gone.done(item, gone)
	c.memory.cronJobs.remove(item)
	c.memory.pruned.remove(item)
	c.memory.jobs.remove(item)
	return nil
}

// signal signals the workflow of an object, where one runs, and counts the message.
func (c *controller) signal(ctx context.Context, item key, signal Signal) (found bool, err error) {
	found, err = c.Temporal.Signal(ctx, c.workflowID(item), signal)
	if err == nil {
		c.Metrics.sent(signal.Name, foundLabel[found])
	}
	return found, err
}

// Component is the source of the bridge's Events.
const Component = "ostinato-bridge"

// warn emits a Warning Event on a CronJob or a Job.
func (c *controller) warn(object metav1.Object, reason, message string) {
	kind := batchv1.SchemeGroupVersion.WithKind("Job")
	if cronJob, ok := object.(*ostinatov1.CronJob); ok {
		kind = k8s.CronJobKindOf(cronJob)
	}
	reference := &corev1.ObjectReference{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}
	reference.SetGroupVersionKind(kind)
	c.Recorder.Event(reference, corev1.EventTypeWarning, reason, message)
}

// memory is what the controller remembers of objects while it leads.
type memory struct {
	cronJobs table[cronJobMemory]
	jobs     table[jobMemory]
	restarts table[restarts]
	// paused says whether an object's workflow was last seen paused; "" means that it was not looked at yet.
	paused table[metav1.ConditionStatus]
	// foreign are Jobs to be handed back, with what each was last seen to wait for.
	foreign table[string]
	// looks are those at Jobs that may be stuck.
	looks table[look]
	// pruned holds the finished Jobs of each CronJob seen deleted, until its workflow may have been asked to look.
	pruned backlog[pruned]
	// gone holds the UIDs of objects seen deleted, until that was sent.
	gone backlog[string]
}

// table holds a value for each of some objects. Several goroutines may use it.
type table[V any] struct {
	mu      sync.Mutex
	entries map[key]V
}

// with calls do with the entries, which no other goroutine uses meanwhile.
func (t *table[V]) with(do func(entries map[key]V)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries == nil {
		t.entries = map[key]V{}
	}
	do(t.entries)
}

func (t *table[V]) get(item key) (value V) {
	t.with(func(entries map[key]V) { value = entries[item] })
	return value
}

// put sets the value of an object and returns the one before.
func (t *table[V]) put(item key, value V) (before V) {
	t.with(func(entries map[key]V) { before, entries[item] = entries[item], value })
	return before
}

// remove forgets an object; known reports whether there was anything to forget.
func (t *table[V]) remove(item key) (known bool) {
	t.with(func(entries map[key]V) {
		_, known = entries[item]
		delete(entries, item)
	})
	return known
}

// forget drops the objects that are over.
func (t *table[V]) forget(over func(key, V) bool) {
	t.with(func(entries map[key]V) { maps.DeleteFunc(entries, over) })
}

func (t *table[V]) len() (count int) {
	t.with(func(entries map[key]V) { count = len(entries) })
	return count
}

// backlog holds what is still to be sent for each object.
type backlog[V comparable] struct{ table[[]V] }

func (b *backlog[V]) add(item key, value V) {
	b.with(func(entries map[key][]V) { entries[item] = append(entries[item], value) })
}

// done forgets these values. One that was added since stays.
func (b *backlog[V]) done(item key, values []V) {
	b.with(func(entries map[key][]V) {
		left := slices.DeleteFunc(slices.Clone(entries[item]), func(value V) bool { return slices.Contains(values, value) })
		if entries[item] = left; len(left) == 0 {
			delete(entries, item)
		}
	})
}
