package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/temporal"

	"ostinato.dev/ostinato/internal/temporalserver/store"
)

// readyTimeout bounds the wait for the frontend and the Web UI to answer.
const readyTimeout = 60 * time.Second

// stopTimeout bounds Stop. What has not ended by then holds no data that is not on disk.
const stopTimeout = 10 * time.Second

// Server is a running Temporal cluster.
type Server struct {
	options   Options
	endpoints endpoints
	inner     inner
	databases store.Databases
	temporal  temporal.Server
	ui        *uiserver.Server
}

// Start runs a cluster and returns when its frontend answers, its namespace can be used and its Web UI serves. ctx
// bounds the start only. Starting again on the same databases finds the namespace and its workflows as they were.
//
// Errors name the port that is taken, what is wrong with the databases, or the option that is wrong.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	o = o.withDefaults()
	err = o.validate()
	if err != nil {
		return nil, fmt.Errorf("options of the Temporal server: %w", err)
	}
	s := &Server{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	s.endpoints, err = chooseEndpoints(o)
	if err != nil {
		return nil, err
	}
	if o.Door != nil {
		s.inner, err = newInner()
		if err != nil {
			return nil, err
		}
	}
	s.databases, err = o.Open(ctx)
	if err != nil {
		return nil, err
	}
	err = EnsureNamespace(ctx, s.databases, o)
	if err != nil {
		return nil, err
	}
	err = s.startTemporal()
	if err != nil {
		return nil, err
	}
	if s.endpoints.ui.port != 0 {
		s.ui = startUI(o, s.endpoints)
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err = s.waitReady(ready)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) startTemporal() error {
	format := "console"
	if s.options.LogJSON {
		format = "json"
	}
	options := []temporal.ServerOption{
		temporal.WithConfig(serverConfig(s.options, s.endpoints, s.databases)),
		temporal.ForServices(s.endpoints.services()),
		temporal.WithStaticHosts(staticHosts(s.endpoints)),
		temporal.WithLogger(doorLog{log.NewZapLogger(log.BuildZapLogger(log.Config{Level: s.options.LogLevel, Format: format}))}),
		temporal.WithDynamicConfigClient(dynamicConfig(s.options.Door.dynamicOverrides(s.options.DynamicConfig))),
	}
	options = append(options, s.options.Door.options(s.inner)...)
	if s.endpoints.metrics.port == 0 {
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

// FrontendAddress is host:port of the gRPC frontend, for clients of this machine and TEMPORAL_ADDRESS.
func (s *Server) FrontendAddress() string { return s.endpoints.frontend.dialled() }

// UIAddress is the URL of the Web UI, empty when there is none.
func (s *Server) UIAddress() string {
	if s.endpoints.ui.port == 0 {
		return ""
	}
	return "http://" + s.endpoints.ui.dialled()
}

// Lost says in words what earlier databases held and these lack, empty where nothing is lost.
func (s *Server) Lost() string { return s.databases.Lost }

// Namespace is the namespace that Start registered.
func (s *Server) Namespace() string { return s.options.Namespace }

// Stop ends the server, and gives the databases up. It takes a few seconds at most.
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
	if s.databases.Close != nil {
		problems = append(problems, s.databases.Close())
		s.databases.Close = nil
	}
	return errors.Join(problems...)
}
