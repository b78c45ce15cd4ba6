package k8s

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// persistence says how to go on with a request that the API server could not serve.
//
// A reflector waits longer after each failure, up to a minute, and does not notice
// that the API server is back. One request a second from each watch is a cost that
// nobody sees, and saves that minute.
type persistence struct {
	// report hears of every answer, with nil for a request that was served.
	report   func(error)
	interval time.Duration
}

// persist makes the request until the API server serves it or says something that
// the caller has to act on.
func persist[Result any](ctx context.Context, again *persistence, request func() (Result, error)) (Result, error) {
	for {
		result, err := request()
		if err == nil {
			again.report(nil)
			return result, nil
		}
		if !unserved(err) {
			return result, err
		}
		again.report(err)
		select {
		case <-ctx.Done():
			return result, err
		case <-time.After(wait.Jitter(again.interval, 0.5)):
		}
	}
}

// unserved reports whether the API server was not reached, or does not serve for
// now: it starts, is overloaded, or has not loaded who may do what.
func unserved(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !errors.Is(err, context.Canceled)
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}
