// Package devstack runs the whole of Ostinato on one machine: a Kubernetes
// control plane with a node, a Temporal server with its Web UI, workers and
// bridges, each a process of its own. It serves `make dev`, `make smoke`, the
// tests and the benchmarks.
//
// It composes the packages below it. Only devstack/temporal links the Temporal
// server; it runs as the separate program cmd/devserver, so that a test can kill
// it as it can any other process.
package devstack
