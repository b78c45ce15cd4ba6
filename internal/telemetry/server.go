package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
)

// ServerOptions says what is served where.
type ServerOptions struct {
	// MetricsAddress and HealthAddress are host:port, with port 0 for a free one;
	// an empty address is not served. They may be the same.
	MetricsAddress string
	HealthAddress  string
	// Profiling serves net/http/pprof beside the metrics.
	Profiling bool
	// MetricsTLS serves what is at MetricsAddress by TLS (ServerTLS); nil does not.
	MetricsTLS *tls.Config
	// MetricsAccess says who may read metrics and profiles; nil lets anybody.
	MetricsAccess *Access
	Registry      *prometheus.Registry
	Health        *Health
	Logger        *slog.Logger
}

// Bounds of what callers may hold: a caller needs no token to connect.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	// writeTimeout is longer than a profile of a minute takes.
	writeTimeout = 90 * time.Second
	idleTimeout  = 2 * time.Minute
	maxHeader    = 32 << 10
	// scrapesAtATime and scrapeTimeout bound the metrics that are written at a time.
	scrapesAtATime = 10
	scrapeTimeout  = 30 * time.Second
)

// Server is the HTTP server for metrics and health.
type Server struct {
	servers []*http.Server
	// MetricsAddress and HealthAddress are those really listened on.
	MetricsAddress string
	HealthAddress  string
}

// Serve listens at once, so that a taken port is an error here, and serves until Close.
func Serve(options ServerOptions) (_ *Server, err error) {
	metrics := http.NewServeMux()
	handle := func(pattern string, handler http.Handler) {
		if options.MetricsAccess != nil {
			handler = options.MetricsAccess.Protect(handler)
		}
		metrics.Handle(pattern, handler)
	}
	handle("GET /metrics", promhttp.HandlerFor(options.Registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesAtATime, Timeout: scrapeTimeout,
	}))
	if options.Profiling {
		handle("GET /debug/pprof/", http.HandlerFunc(pprof.Index))
		handle("GET /debug/pprof/profile", http.HandlerFunc(pprof.Profile))
		handle("GET /debug/pprof/symbol", http.HandlerFunc(pprof.Symbol))
		handle("GET /debug/pprof/trace", http.HandlerFunc(pprof.Trace))
	}
	health := http.NewServeMux()
	if options.MetricsAddress == options.HealthAddress {
		health = metrics
	}
	options.Health.register(health, options.Logger)

	server := &Server{}
	if server.MetricsAddress, err = server.listen(options.MetricsAddress, options.MetricsTLS, metrics, "metrics", options.Logger); err != nil {
		return nil, err
	}
	if options.MetricsAddress == options.HealthAddress {
		server.HealthAddress = server.MetricsAddress
		return server, nil
	}
	if server.HealthAddress, err = server.listen(options.HealthAddress, nil, health, "health", options.Logger); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

func (s *Server) listen(address string, secure *tls.Config, handler http.Handler, purpose string, logger *slog.Logger) (string, error) {
	if address == "" {
		return "", nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for %s: %w", purpose, err)
	}
	actual := listener.Addr().String()
	listener = &boundedListener{Listener: listener, open: map[string][]*boundedConnection{}}
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
	}
	s.servers = append(s.servers, server)
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			logger.Error("HTTP server ended", "purpose", purpose, "error", err)
		}
	}()
	logger.Info("listening", "purpose", purpose, "address", actual, "tls", secure != nil)
	return actual, nil
}

// Close stops serving; requests in progress get a second.
func (s *Server) Close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, server := range s.servers {
		if server.Shutdown(ctx) != nil {
			err = errors.Join(err, server.Close())
		}
	}
	return err
}

// selfSignedFor is longer than any process lives.
const selfSignedFor = 10 * 365 * 24 * time.Hour

// ServerTLS returns the configuration of a TLS server with the certificate and key in two files, which are read for
// every connection and so may be renewed at any time. Without files the certificate is self-signed and lasts as long as
// the process: a client can then not tell the server, but no third party reads along.
func ServerTLS(certificateFile, keyFile string) (*tls.Config, error) {
	load := func() (*tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(certificateFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("load the certificate %s and its key %s: %w", certificateFile, keyFile, err)
		}
		return &certificate, nil
	}
	if certificateFile == "" && keyFile == "" {
		load = sync.OnceValues(selfSigned)
	}
	// A file that can't be read is an error at once.
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
	}, nil
}

func selfSigned() (*tls.Certificate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("make a self-signed certificate: %w", err)
	}
	certificatePEM, keyPEM, err := certutil.GenerateSelfSignedCertKeyWithOptions(certutil.SelfSignedCertKeyOptions{Host: host, MaxAge: selfSignedFor})
	if err != nil {
		return nil, fmt.Errorf("make a self-signed certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(certificatePEM, keyPEM)
	return &certificate, err
}
