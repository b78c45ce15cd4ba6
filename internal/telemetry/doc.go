// Package telemetry holds what makes a running process observable: structured logs, Prometheus metrics of the Temporal
// SDK, of client-go and of our own, and the HTTP server for metrics, health and profiles.
//
// Words of Ostinato's own are in docs/glossary.md.
package telemetry
