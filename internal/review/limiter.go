package review

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// perSecond bounds what strangers can have the API server asked, from all addresses.
	perSecond = 50
	hostsKept = 1000 // bounds the addresses that are known apart
)

// Limiter bounds how often the API server is asked, in sum and for one address, so that a caller with random tokens does not use up
// the questions of other callers.
type Limiter struct {
	all     flowcontrol.RateLimiter
	perHost int
	mutex   sync.Mutex
	hosts   *cache.LRUExpireCache
}

// NewLimiter returns a Limiter that allows each address perHost questions a second.
func NewLimiter(perHost int) *Limiter {
	return &Limiter{
		all:     flowcontrol.NewTokenBucketRateLimiter(perSecond, 2*perSecond),
		perHost: perHost,
		hosts:   cache.NewLRUExpireCache(hostsKept),
	}
}

// Take reports whether the API server may be asked about a caller of a host. A known caller does not count in the sum.
func (l *Limiter) Take(host string, known bool) bool {
	return l.host(host).TryAccept() && (known || l.all.TryAccept())
}

func (l *Limiter) host(host string) flowcontrol.RateLimiter {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	found, ok := l.hosts.Get(host)
	if ok {
		return found.(flowcontrol.RateLimiter)
	}
	limiter := flowcontrol.NewTokenBucketRateLimiter(float32(l.perHost), 2*l.perHost)
	l.hosts.Add(host, limiter, time.Minute)
	return limiter
}
