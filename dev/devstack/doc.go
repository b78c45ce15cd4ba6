// Package devstack runs the whole of Ostinato on one machine: a Kubernetes
// control plane with a node, a Temporal server with its Web UI, workers and
// bridges, each a process of its own. It serves `make dev`, `make smoke`, the
// tests and the benchmarks.
//
// It composes the packages below it. The Temporal server is linked by the separate
// programs cmd/temporal and dev/cmd/temporalhost only, so that a test can kill them as it
// can any other process.
package devstack
