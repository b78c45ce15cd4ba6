// Package store is what a Temporal server and the databases behind it know of one another.
package store

import (
	"context"

	"go.temporal.io/server/common/config"
)

// Databases are ready for a server of this build.
type Databases struct {
	// Executions and Visibility are how the server reaches them.
	Executions, Visibility *config.SQL
	// Lost says in words what an earlier database holds and these lack, and where it is. Empty means nothing.
	Lost string
	// Close gives the databases up. The server must have stopped.
	Close func() error
}

// Open makes databases ready. No other server may use them.
type Open = func(ctx context.Context) (Databases, error)
