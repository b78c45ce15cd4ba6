package podwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"ostinato.dev/ostinato/internal/k8s"
)

const (
	errorLogInterval = 30 * time.Second // how often an outage of the API server is logged
	// patience is how long lists and watches may fail, without one success, until the
	// watch gives up: another worker may reach the API server.
	patience = 30 * time.Second
)

// outage is a series of failed lists and watches of one namespace.
type outage struct {
	since time.Time
	last  error
}

// health keeps which namespaces can't be watched, and since when.
type health struct {
	Options
	mutex   sync.Mutex
	outages map[string]outage
	logged  time.Time
}

func (h *health) answer(namespace string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err == nil {
		delete(h.outages, namespace)
		return
	}
	now := h.Clock.Now()
	h.outages[namespace] = outage{since: cmp.Or(h.outages[namespace].since, now), last: err}
	if now.Sub(h.logged) >= errorLogInterval {
		h.logged = now
		h.Logger.Warn("the Pods can't be watched, will retry", "namespace", namespace, "error", err)
	}
}

// last returns the last error of an outage that goes on; nil when there is none.
func (h *health) last() error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, outage := range h.outages {
		return outage.last
	}
	return nil
}

// lost returns an error when none of the namespaces could be watched for too long. If only
// some can't, a right is missing, which every worker lacks.
func (h *health) lost() error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.outages) < len(k8s.NamespacesToList(h.Namespaces)) {
		return nil
	}
	newest := slices.MaxFunc(slices.Collect(maps.Values(h.outages)), func(a, b outage) int { return a.since.Compare(b.since) })
	if lasted := h.Clock.Since(newest.since); lasted >= patience {
		return fmt.Errorf("the Pods could not be watched for %v: %w", lasted.Round(time.Second), newest.last)
	}
	return nil
}
