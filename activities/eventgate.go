package activities

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

const (
	// eventsPerSecond and eventsBurst bound the Events of a worker. An Event lives in etcd for
	// an hour, and nobody needs one to go on.
	eventsPerSecond, eventsBurst = 50, 500
	// namespacesHeard bounds the namespaces that are known apart.
	namespacesHeard = 1000
	// namespaceHeard is for how long a namespace counts after its last Event: as long as a
	// bucket takes to fill.
	namespaceHeard = eventsBurst / eventsPerSecond * time.Second
)

// eventGate lets the Events of a worker through that it has room for. Half of the burst is kept
// for namespaces that keep to an equal share, with one share left free: a herd of one, or herds
// of many, silence no other.
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
	gate := &eventGate{
		now:        time.Now,
		all:        rate.NewLimiter(eventsPerSecond, eventsBurst),
		namespaces: map[string]*eventShare{},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Subsystem: "ostinato", Name: "events_dropped_total",
			Help: "The number of Events that were not emitted, since there were too many at a time",
		}),
	}
	registerer.MustRegister(gate.dropped)
	return gate
}

// pass reports whether there is room for an Event in a namespace. A nil gate has room for all.
func (g *eventGate) pass(namespace string) bool {
	if g == nil {
		return true
	}
	passes := g.take(namespace, g.now())
	if !passes {
		g.dropped.Inc()
	}
	return passes
}

// drop counts Events that are not emitted for another reason.
func (g *eventGate) drop(count int) {
	if g != nil {
		g.dropped.Add(float64(count))
	}
}

func (g *eventGate) take(namespace string, now time.Time) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	kept := g.of(namespace, now).AllowN(now, 1)
	return (kept || g.all.TokensAt(now) > eventsBurst/2) && g.all.AllowN(now, 1)
}

// of returns the limiter of a namespace. Those beyond what can be known apart share one.
func (g *eventGate) of(namespace string, now time.Time) *rate.Limiter {
	share, known := g.namespaces[namespace]
	if !known && len(g.namespaces) >= namespacesHeard {
		namespace = ""
		share, known = g.namespaces[namespace]
	}
	if !known {
		share = &eventShare{}
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
		if share.limiter == nil {
			share.limiter = rate.NewLimiter(limit, burst)
			continue
		}
		share.limiter.SetLimitAt(now, limit)
		share.limiter.SetBurstAt(now, burst)
	}
}
