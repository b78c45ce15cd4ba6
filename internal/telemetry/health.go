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

// Ready runs every check at the same time and joins their errors.
func (h *Health) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	h.mu.Lock()
	checks := maps.Clone(h.checks)
	h.mu.Unlock()

	names := slices.Sorted(maps.Keys(checks))
	results := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			if err := checks[name](ctx); err != nil {
				results[i] = &checkError{name, err}
			}
		})
	}
	group.Wait()
	return errors.Join(results...)
}

// register serves the checks. An answer names those that fail; why they do, which may name
// addresses, is logged.
func (h *Health) register(mux *http.ServeMux, logger *slog.Logger) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := h.Ready(r.Context()); err != nil {
			logger.Warn("not ready", "error", err)
			http.Error(w, "not ready: "+strings.Join(failing(err), ", "), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// checkError is why a check fails.
type checkError struct {
	name string
	err  error
}

func (e *checkError) Error() string { return e.name + ": " + e.err.Error() }
func (e *checkError) Unwrap() error { return e.err }

// failing returns the names of the checks that fail.
func failing(err error) (names []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, one := range joined.Unwrap() {
		var failed *checkError
		if errors.As(one, &failed) {
			names = append(names, failed.name)
		}
	}
	return names
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
