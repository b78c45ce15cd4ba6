package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"ostinato.dev/ostinato/internal/temporalserver/store"
)

// Synchronous says when SQLite asks the operating system to put writes on disk.
type Synchronous string

const (
	// SynchronousOff never waits for the disk. A killed process loses nothing; a crashed machine may lose or damage
	// the databases. For tests.
	SynchronousOff Synchronous = "off"
	// SynchronousNormal waits for the disk at checkpoints. A killed process loses nothing; a crashed machine may
	// lose the last transactions and never damages the databases.
	SynchronousNormal Synchronous = "normal"
	// SynchronousFull waits for the disk at every commit.
	SynchronousFull Synchronous = "full"
)

// Options say where databases are, and how safely they are written. All are required.
type Options struct {
	// Dir holds a folder of databases and a lock file; it is created when missing.
	Dir         string
	Synchronous Synchronous
	// Logger is told when databases are set aside.
	Logger *slog.Logger
}

// inMemory tells the databases in memory of one process apart.
var inMemory atomic.Int64

// InMemory opens databases in memory: everything is gone when they are closed.
func InMemory(ctx context.Context) (store.Databases, error) {
	name := fmt.Sprintf("ostinato-%d-%d", os.Getpid(), inMemory.Add(1))
	return open(ctx, database{name: name + "-executions", inMemory: true}, database{name: name + "-visibility", inMemory: true})
}

// Open opens the databases in a folder, and makes them where they are missing. Databases with another schema than the server's are
// set aside before: Lost tells what they hold, as long as they are in the folder.
//
// Errors name the folder that can't be written or is in use by another server.
func Open(ctx context.Context, o Options) (_ store.Databases, err error) {
	unlock, err := lockFolder(o.Dir)
	if err != nil {
		return store.Databases{}, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	err = setAside(ctx, o, time.Now())
	if err != nil {
		return store.Databases{}, err
	}
	lost, err := whatWasLost(o.Dir)
	if err != nil {
		return store.Databases{}, err
	}
	folder := filepath.Join(o.Dir, databaseFolder)
	err = os.MkdirAll(folder, 0o700)
	if err != nil {
		return store.Databases{}, fmt.Errorf("create the folder of databases: %w", err)
	}
	opened, err := open(ctx, databaseIn(folder, executionsFile, o.Synchronous), databaseIn(folder, visibilityFile, o.Synchronous))
	if err != nil {
		return store.Databases{}, err
	}
	closeDatabases := opened.Close
	opened.Lost = lost
	opened.Close = func() error {
		defer unlock()
		return closeDatabases()
	}
	return opened, nil
}

// open opens databases with the server's schema.
func open(ctx context.Context, executions, visibility database) (store.Databases, error) {
	closeBoth := func() error { return errors.Join(executions.close(), visibility.close()) }
	for _, d := range []database{executions, visibility} {
		err := d.open(ctx, ensureSchema)
		if err != nil {
			return store.Databases{}, errors.Join(err, closeBoth())
		}
	}
	return store.Databases{Executions: sqlConfig(executions), Visibility: sqlConfig(visibility), Close: closeBoth}, nil
}
