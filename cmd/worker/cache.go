package main

import (
	"context"
	"log/slog"
	"runtime/metrics"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/worker"
	"k8s.io/apimachinery/pkg/util/wait"

	"ostinato.dev/ostinato/internal/telemetry"
)

const (
	cacheLookPeriod = time.Second      // how often the memory is looked at
	maxPurgePause   = 30 * time.Second // bounds the pause between purges that do not help
	// collectionsOfAPurge is how many garbage collections end before what a purge has freed shows: one may have been under way.
	collectionsOfAPurge = 2
)

// memory is what the process holds.
type memory struct {
	inUse       uint64 // the bytes that the last garbage collection found in use, and stacks
	collections uint64 // how many garbage collections have ended
}

// readMemory reads what the process holds. It does not stop it.
func readMemory() memory {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	return memory{inUse: samples[0].Value.Uint64() + samples[1].Value.Uint64(), collections: samples[2].Value.Uint64()}
}

// cacheBound decides when the workflows that sleep are to leave memory. The SDK bounds them by
// number; a few hundred large ones take more than the process may.
type cacheBound struct {
	limit uint64 // in bytes
	// last is the time and collections that of the last purge, pause the least time to the next.
	last        time.Time
	collections uint64
	pause       time.Duration
}

// exceeded reports whether to purge the cache now. It is told once: a purge is judged when its
// effect shows, and what a purge does not help against is purged for ever more rarely.
func (b *cacheBound) exceeded(now time.Time, found memory) bool {
	if found.inUse <= b.limit {
		b.pause = cacheLookPeriod
		return false
	}
	if !b.last.IsZero() {
		if found.collections < b.collections+collectionsOfAPurge || now.Sub(b.last) < b.pause {
			return false
		}
		b.pause = min(2*b.pause, maxPurgePause)
	}
	b.last, b.collections = now, found.collections
	return true
}

// keepCacheBounded purges the cache of sleeping workflows when the process holds more than limit bytes, until the
// context is done. A workflow that was purged is replayed when it has something to do. The SDK evicts each under the
// workflow's own lock, as when the cache is full: a workflow task in progress ends first.
func keepCacheBounded(ctx context.Context, limit uint64, registerer prometheus.Registerer, logger *slog.Logger) {
	purges := telemetry.StickyCachePurges(registerer)
	bound := cacheBound{limit: limit, pause: cacheLookPeriod}
	wait.UntilWithContext(ctx, func(context.Context) {
		if found := readMemory(); bound.exceeded(time.Now(), found) {
			logger.Warn("too much is in use, all sleeping workflows leave memory", "bytes", found.inUse, "stickyCacheMemory", limit)
			worker.PurgeStickyWorkflowCache()
			purges.Inc()
		}
	}, cacheLookPeriod)
}
