package activities

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
)

// Recorders emit Events, asynchronously: a slow API server loses Events rather than delays a run. An attempt emits Events
// for what it has done, and not for what it finds done: the Event of a write whose answer never came is lost. The writes of a
// Job's plan wait for their answers (write).
type Recorders struct {
	CronJobs record.EventRecorder
	Jobs     record.EventRecorder
	// gate bounds them; nil does not.
	gate *eventGate
}

// StartEvents returns recorders that write to the API server with upstream's aggregation and limits, with one
// difference: the limit of 25 Events in a row on one object is for each reason, so that the Events about a Job's many
// Pods don't hide how the Job ended. What is beyond a worker's room is dropped and counted in the registerer's metrics.
// stop writes what is queued and ends them.
func StartEvents(ctx context.Context, client kubernetes.Interface, registerer prometheus.Registerer) (recorders Recorders, stop func()) {
	limits := record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: func(event *corev1.Event) string {
		return event.Source.Component + "/" + string(event.InvolvedObject.UID) + "/" + event.Reason
	}})
	// The source components are upstream's own (parity 0.9), so that what reads Events by source goes on working.
	cronJobs, stopCronJobs := k8s.StartEvents(ctx, client, "cronjob-controller", limits)
	jobs, stopJobs := k8s.StartEvents(ctx, client, "job-controller", limits)
	return Recorders{CronJobs: cronJobs, Jobs: jobs, gate: newEventGate(registerer)}, func() {
		stopCronJobs()
		stopJobs()
	}
}

// keptForWarnings is how many of an announcer's Events are warnings: that many deletes go well must not hide that one does not.
const keptForWarnings = 3

// announcer emits the Events of one activity about the many Pods of a Job, or the many Jobs of a
// CronJob. They must not fill the queue in which those of other objects wait.
type announcer struct {
	recorders Recorders
	mutex     sync.Mutex
	left      int
	// noWarnings leaves warnings to the next attempt.
	noWarnings bool
}

// besides returns the announcer of an activity that emits so many requested Events too.
func (r Recorders) besides(requested int) *announcer {
	return &announcer{recorders: r, left: event.MaxPerRequest - requested}
}

func (a *announcer) on(owner subject, event event.Event) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	warning := event.Type == corev1.EventTypeWarning
	if warning && (a.noWarnings || a.left <= 0) || !warning && a.left <= keptForWarnings {
		return
	}
	a.left--
	a.recorders.on(owner, event)
}

// on emits Events on an object. Without a recorder it does nothing.
func (r Recorders) on(object subject, events ...event.Event) {
	recorder, kind := r.CronJobs, ostinatov1.CronJobKind
	switch {
	case object.job:
		recorder, kind = r.Jobs, batchv1.SchemeGroupVersion.WithKind("Job")
	case object.Native:
		kind = batchv1.SchemeGroupVersion.WithKind(kind.Kind)
	}
	if recorder == nil {
		return
	}
	reference := &corev1.ObjectReference{Namespace: object.Namespace, Name: object.Name, UID: types.UID(object.UID)}
	reference.SetGroupVersionKind(kind)
	for _, one := range events {
		if r.gate.pass(object.Namespace) {
			recorder.Event(reference, one.Type, one.Reason, clip.Text(one.Message, event.MaxMessage))
		}
	}
}

const (
	// eventsPerSecond and eventsBurst bound the Events of a worker. An Event lives in etcd for an hour, and nothing
	// waits for one.
	eventsPerSecond, eventsBurst = 50, 500
	// namespacesHeard bounds the namespaces that are known apart.
	namespacesHeard = 1000
	// namespaceHeard is for how long a namespace counts after its last Event: as long as a bucket takes to fill.
	namespaceHeard = eventsBurst / eventsPerSecond * time.Second
)

// eventGate lets the Events of a worker through that it has room for. Half of the burst is kept for namespaces that
// keep to an equal share, with one share left free: a herd of one, or herds of many, silence no other.
type eventGate struct {
	all        *rate.Limiter
	mutex      sync.Mutex
	namespaces map[string]*eventShare
	// shared is when the room was divided.
	shared  time.Time
	dropped prometheus.Counter
	now     func() time.Time
}

// eventShare is the room of one namespace.
type eventShare struct {
	limiter *rate.Limiter
	// heard is when its last Event came.
	heard time.Time
}

func newEventGate(registerer prometheus.Registerer) *eventGate {
	return &eventGate{
		now:        time.Now,
		all:        rate.NewLimiter(eventsPerSecond, eventsBurst),
		namespaces: map[string]*eventShare{},
		dropped: promauto.With(registerer).NewCounter(prometheus.CounterOpts{
			Subsystem: "ostinato", Name: "events_dropped_total",
			Help: "The number of Events that were not emitted, since there were too many at a time",
		}),
	}
}

// pass reports whether there is room for an Event in a namespace. A nil gate has room for all.
func (g *eventGate) pass(namespace string) bool {
	if g == nil {
		return true
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := g.now()
	kept := g.of(namespace, now).AllowN(now, 1)
	if (kept || g.all.TokensAt(now) > eventsBurst/2) && g.all.AllowN(now, 1) {
		return true
	}
	g.dropped.Inc()
	return false
}

// of returns the limiter of a namespace. Those beyond what can be known apart share one.
func (g *eventGate) of(namespace string, now time.Time) *rate.Limiter {
	share, known := g.namespaces[namespace]
	if !known && len(g.namespaces) >= namespacesHeard {
		namespace = ""
		share, known = g.namespaces[namespace]
	}
	if !known {
		share = &eventShare{limiter: rate.NewLimiter(0, eventsBurst)}
		g.namespaces[namespace] = share
	}
	share.heard = now
	if !known || now.Sub(g.shared) > time.Second {
		g.share(now)
	}
	return share.limiter
}

// share divides what is kept among the namespaces that have Events, and one more.
func (g *eventGate) share(now time.Time) {
	maps.DeleteFunc(g.namespaces, func(_ string, share *eventShare) bool { return now.Sub(share.heard) > namespaceHeard })
	g.shared = now
	shares := len(g.namespaces) + 1
	limit, burst := rate.Limit(eventsPerSecond)/rate.Limit(shares), max(eventsBurst/2/shares, 1)
	for _, share := range g.namespaces {
		share.limiter.SetLimitAt(now, limit)
		share.limiter.SetBurstAt(now, burst)
	}
}
