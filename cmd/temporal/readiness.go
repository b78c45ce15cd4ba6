package main

import (
	"context"
	"errors"
	"sync/atomic"

	"ostinato.dev/ostinato/internal/temporalserver"
)

// readiness answers probes from the beginning of the process. The zero value says that the server is starting.
type readiness struct {
	server atomic.Pointer[temporalserver.Server]
}

func (r *readiness) started(server *temporalserver.Server) { r.server.Store(server) }

// check reports why no workflow can be used.
func (r *readiness) check(ctx context.Context) error {
	server := r.server.Load()
	if server == nil {
		return errors.New("it is starting")
	}
	return server.Answers(ctx)
}
