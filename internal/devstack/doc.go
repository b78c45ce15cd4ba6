// Package devstack runs the whole of Ostinato on one machine: a Kubernetes
// control plane with a node, a Temporal server with its Web UI, workers and
// bridges, each a process of its own. It serves `make dev`, `make smoke`, the
// tests and the benchmarks.
//
// It composes the packages below it. Only devstack/temporal and
// devstack/temporalcluster/host link the Temporal server; they run as the separate
// programs cmd/devserver and cmd/temporalhost, so that a test can kill them as it
// can any other process.
package devstack
