package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/temporal"
)

// readyTimeout bounds the wait for the frontend and the Web UI to answer.
const readyTimeout = 60 * time.Second

// stopTimeout bounds Stop. What has not ended by then holds no data that is not on disk.
const stopTimeout = 10 * time.Second

// inMemoryServers tells the in-memory databases of one process apart.
var inMemoryServers atomic.Int64

// Server is a running Temporal cluster.
type Server struct {
	options   Options
	ports     ports
	databases databases
	config    *config.Config
	// unlock gives the data directory up; nil where there is none.
	unlock   func()
	temporal temporal.Server
	ui       *uiserver.Server
}

// Start runs a cluster and returns when its frontend answers, its namespace can be used and its Web UI serves. ctx
// bounds the start only. Starting again on the same data directory finds the namespace and its workflows as they were.
//
// Errors name the port that is taken, the directory that cannot be written or is in use by another server, or the
// option that is wrong.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options of the Temporal server: %w", err)
	}
	s := &Server{options: o.withDefaults()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.options.DataDir != "" {
		if s.unlock, err = lockDataDir(s.options.DataDir); err != nil {
			return nil, err
		}
	}
	if s.ports, err = choosePorts(s.options); err != nil {
		return nil, err
	}
	s.databases = databasesOf(s.options, fmt.Sprintf("ostinato-%d-%d", os.Getpid(), inMemoryServers.Add(1)))
	s.config = serverConfig(s.options, s.ports, s.databases)
	for _, d := range []database{s.databases.executions, s.databases.visibility} {
		if err := d.open(ctx, ensureSchema); err != nil {
			return nil, err
		}
	}
	if s.options.LoseTimersOf != "" {
		opened, err := findDatabase(s.databases.executions.name)
		if err == nil {
			err = loseTimers(ctx, opened.db, s.options.LoseTimersOf)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := ensureNamespace(ctx, s.config.Persistence.DataStores[executionStore].SQL, s.options); err != nil {
		return nil, err
	}
	if err := s.startTemporal(); err != nil {
		return nil, err
	}
	if s.ports.ui != 0 {
		s.ui = startUI(s.options, s.ports)
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.waitReady(ready); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) startTemporal() error {
	options := []temporal.ServerOption{
		temporal.WithConfig(s.config),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(s.options, s.ports)),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: s.options.LogLevel, Format: "console"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithDynamicConfigClient(dynamicConfig(s.options.DynamicConfig)),
	}
	if s.ports.metrics == 0 {
		options = append(options, temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler))
	}
	server, err := temporal.NewServer(options...)
	if err != nil {
		return fmt.Errorf("configure Temporal server: %w", err)
	}
	s.temporal = server
	if err := server.Start(); err != nil {
		return fmt.Errorf("start Temporal server: %w", err)
	}
	return nil
}

// FrontendAddress is host:port of the gRPC frontend, for clients and TEMPORAL_ADDRESS.
func (s *Server) FrontendAddress() string { return address(s.options.IP, s.ports.frontend) }

// UIAddress is the URL of the Web UI, empty when there is none.
func (s *Server) UIAddress() string {
	if s.ports.ui == 0 {
		return ""
	}
	return "http://" + address(s.options.IP, s.ports.ui)
}

// Namespace is the namespace that Start registered.
func (s *Server) Namespace() string { return s.options.Namespace }

// Stop ends the server, writes the databases out and releases the data directory. It takes a few seconds at most.
// Stopping twice does nothing the second time.
func (s *Server) Stop() error {
	var problems []error
	if s.ui != nil {
		s.ui.Stop()
		s.ui = nil
	}
	if s.temporal != nil {
		stopped := make(chan error, 1)
		server := s.temporal
		s.temporal = nil
		go func() { stopped <- server.Stop() }()
		select {
		case err := <-stopped:
			if err != nil {
				problems = append(problems, fmt.Errorf("stop Temporal server: %w", err))
			}
		case <-time.After(stopTimeout):
			problems = append(problems, fmt.Errorf("stop Temporal server: still running after %s", stopTimeout))
		}
	}
	problems = append(problems, s.databases.executions.close(), s.databases.visibility.close())
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
	return errors.Join(problems...)
}
