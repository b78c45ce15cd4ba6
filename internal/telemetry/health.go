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

// Health answers /readyz by named checks and /healthz by being there. The zero value is ready.
type Health struct {
	checks sync.Map // a Check by its name
}

// Add adds a readiness check, or replaces the one of that name.
func (h *Health) Add(name string, check Check) { h.checks.Store(name, check) }

// failing runs every check at the same time. It returns the names of those that fail, and why.
func (h *Health) failing(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var mutex sync.Mutex
	problems := map[string]error{}
	var group sync.WaitGroup
	for name, check := range h.checks.Range {
		group.Go(func() {
			if problem := check.(Check)(ctx); problem != nil {
				mutex.Lock()
				defer mutex.Unlock()
				problems[name.(string)] = problem
			}
		})
	}
	group.Wait()
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		names, err = append(names, name), errors.Join(err, fmt.Errorf("%s: %w", name, problems[name]))
	}
	return names, err
}

// register serves the checks. An answer names those that fail; why they do, which may name addresses, is logged.
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

// Cached returns a check that asks check again only after the time given, so that frequent probes cost the other side little.
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
