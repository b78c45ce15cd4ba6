package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Check reports why a part of the process is not ready, or nil.
type Check func(ctx context.Context) error

// checkTimeout bounds one round of checks, below a probe's usual patience.
const checkTimeout = 3 * time.Second

// Health answers /readyz by named checks and /healthz by being there. The zero
// value is ready.
type Health struct {
	mu     sync.Mutex
	checks map[string]Check
}

// Add adds a readiness check, or replaces the one of that name.
func (h *Health) Add(name string, check Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checks == nil {
		h.checks = map[string]Check{}
	}
	h.checks[name] = check
}

// failing runs every check at the same time. It returns the names of those that fail, and why.
func (h *Health) failing(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	h.mu.Lock()
	checks := maps.Clone(h.checks)
	h.mu.Unlock()

	var group sync.WaitGroup
	var mutex sync.Mutex
	problems := map[string]error{}
	for name, check := range checks {
		group.Go(func() {
			if err := check(ctx); err != nil {
				mutex.Lock()
				defer mutex.Unlock()
				problems[name] = fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	group.Wait()
	names = slices.Sorted(maps.Keys(problems))
	for _, name := range names {
		err = errors.Join(err, problems[name])
	}
	return names, err
}

// register serves the checks. An answer names those that fail; why they do, which may name
// addresses, is logged.
func (h *Health) register(mux *http.ServeMux, logger *slog.Logger) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if names, err := h.failing(r.Context()); err != nil {
			logger.Warn("not ready", "error", err)
			http.Error(w, "not ready: "+strings.Join(names, ", "), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// Cached returns a check that asks check again only after the time given, so
// that frequent probes cost the other side little.
func Cached(check Check, every time.Duration) Check {
	var mu sync.Mutex
	var last time.Time
	var result error
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if last.IsZero() || time.Since(last) >= every {
			result = check(ctx)
			last = time.Now()
		}
		return result
	}
}
