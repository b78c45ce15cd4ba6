package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServerOptions says what is served where.
type ServerOptions struct {
	// MetricsAddress and HealthAddress are host:port, with port 0 for a free one;
	// an empty address is not served. They may be the same.
	MetricsAddress string
	HealthAddress  string
	// Profiling serves net/http/pprof beside the metrics.
	Profiling bool
	Registry  *prometheus.Registry
	Health    *Health
	Logger    *slog.Logger
}

// Server is the HTTP server for metrics and health.
type Server struct {
	servers []*http.Server
	// MetricsAddress and HealthAddress are those really listened on.
	MetricsAddress string
	HealthAddress  string
}

// Serve listens at once, so that a taken port is an error here, and serves until Close.
func Serve(options ServerOptions) (*Server, error) {
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", promhttp.HandlerFor(options.Registry, promhttp.HandlerOpts{}))
	if options.Profiling {
		metrics.HandleFunc("GET /debug/pprof/", pprof.Index)
		metrics.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		metrics.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		metrics.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	health := http.NewServeMux()
	if options.MetricsAddress == options.HealthAddress {
		health = metrics
	}
	options.Health.register(health)

	server := &Server{}
	var err error
	if server.MetricsAddress, err = server.listen(options.MetricsAddress, metrics, "metrics", options.Logger); err != nil {
		return nil, err
	}
	if options.MetricsAddress == options.HealthAddress {
		server.HealthAddress = server.MetricsAddress
		return server, nil
	}
	if server.HealthAddress, err = server.listen(options.HealthAddress, health, "health", options.Logger); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

func (s *Server) listen(address string, handler http.Handler, purpose string, logger *slog.Logger) (string, error) {
	if address == "" {
		return "", nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for %s: %w", purpose, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	s.servers = append(s.servers, server)
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			logger.Error("HTTP server ended", "purpose", purpose, "error", err)
		}
	}()
	actual := listener.Addr().String()
	logger.Info("listening", "purpose", purpose, "address", actual)
	return actual, nil
}

// Close stops serving; requests in progress get a second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var problems []error
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			problems = append(problems, server.Close())
		}
	}
	return errors.Join(problems...)
}
