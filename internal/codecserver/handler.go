// Package codecserver serves a payload codec to the Temporal UI and the temporal
// command, by Temporal's protocol for codec servers.
package codecserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rs/cors"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/semaphore"
)

const (
	// maxRequest bounds a request, in bytes: more than the UI asks for at a time, since a page of history has at most 4 MiB.
	maxRequest     = 8 << 20
	maxRequests    = 4                // bounds how many are worked on at a time, which bounds memory
	preflightAge   = 600              // how many seconds a browser may remember what it may ask
	requestTimeout = 30 * time.Second // bounds a request, and its answer
	stopTimeout    = 5 * time.Second  // what requests in progress get at the end
)

// NewHandler serves /encode and /decode, below any path, to pages of the origins and to programs that are no browsers. Pages of
// other origins get nothing, not even by a name that was made to lead here (DNS rebinding): browsers say whose page asks.
func NewHandler(codec converter.PayloadCodec, origins []string) http.Handler {
	crossOrigin := cors.New(cors.Options{
		AllowOriginFunc: func(origin string) bool { return slices.Contains(origins, origin) },
		AllowedMethods:  []string{http.MethodPost},
		// What the UI sends; a token is not read.
		AllowedHeaders: []string{"Content-Type", "X-Namespace", "Authorization", "Authorization-Extras"},
		// The UI's page is from elsewhere, and this server on the person's own machine.
		AllowPrivateNetwork: true,
		MaxAge:              preflightAge,
	})
	return crossOrigin.Handler(fromAllowed(origins, bounded(converter.NewPayloadCodecHTTPHandler(codec))))
}

// fromAllowed refuses what pages of other origins ask.
func fromAllowed(origins []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		for _, origin := range request.Header.Values("Origin") {
			if !slices.Contains(origins, origin) {
				http.Error(writer, fmt.Sprintf("pages of %.200q may not ask; if it is your Temporal UI, add it to --ui-origins", origin), http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(writer, request)
	})
}

// bounded limits what requests may take.
func bounded(next http.Handler) http.Handler {
	slots := semaphore.NewWeighted(maxRequests)
	limited := http.MaxBytesHandler(next, maxRequest)
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if slots.Acquire(request.Context(), 1) == nil {
			defer slots.Release(1)
			limited.ServeHTTP(writer, request)
		}
	})
}

// Serve answers on the listener until the context ends.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       time.Minute,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		stopped <- server.Shutdown(patience)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return <-stopped
}
