package activities

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// eventsPerSecond and eventsBurst bound the Events of a worker. An Event lives in etcd for
	// an hour, and nobody needs one to go on.
	eventsPerSecond, eventsBurst = 50, 500
	// namespacesHeard bounds the namespaces that are known apart.
	namespacesHeard = 1000
)

// eventGate lets the Events of a worker through that it has room for. No namespace takes
// more than half of the room, so that a herd of one silences no other.
type eventGate struct {
	all        *rate.Limiter
	mutex      sync.Mutex
	namespaces *cache.LRUExpireCache
	dropped    prometheus.Counter
}

func newEventGate(registerer prometheus.Registerer) *eventGate {
	gate := &eventGate{
		all:        rate.NewLimiter(eventsPerSecond, eventsBurst),
		namespaces: cache.NewLRUExpireCache(namespacesHeard),
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
	passes := g.of(namespace).Allow() && g.all.Allow()
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

func (g *eventGate) of(namespace string) *rate.Limiter {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if known, ok := g.namespaces.Get(namespace); ok {
		return known.(*rate.Limiter)
	}
	// After the time in which a bucket fills, a new one is as good.
	limiter := rate.NewLimiter(eventsPerSecond/2, eventsBurst/2)
	g.namespaces.Add(namespace, limiter, 2*eventsBurst/eventsPerSecond*time.Second)
	return limiter
}
