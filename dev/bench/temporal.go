package main

import "ostinato.dev/ostinato/dev/devstack"

// describeTemporal says plainly which Temporal server Ostinato ran on, and how far it is from an ordinary one.
func describeTemporal(o options) string {
	if o.temporal == devstack.TemporalPostgres {
		return "a cluster of go.temporal.io/server on PostgreSQL, its roles in separate processes (two history, two matching hosts), with mTLS"
	}
	store := "SQLite files, synchronous=normal: a commit does not wait for the disk"
	if o.inMemory {
		store = "SQLite in memory: nothing is kept"
	}
	return "go.temporal.io/server, unchanged, embedded in one process by this repository (cmd/temporal), not the server of temporalio/cli. " +
		"It is tuned for one machine (internal/temporalserver). Store: " + store + ", 4 history shards, one connection, prepared statements " +
		"kept, visibility in a database of its own with 2 of 58 indexes whose writes are committed together. Settings: rates that protect " +
		"a shared cluster lifted, one partition for each task queue, no scanners and no health statistics. Garbage collector at GOGC=400. " +
		"What that gains: go test ./internal/temporalserver -run '^$' -bench Runs"
}
