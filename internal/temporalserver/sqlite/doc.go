// Package sqlite keeps what a Temporal server knows in SQLite files.
//
// There are two databases: one for executions, task queues and namespaces, and one for visibility, so that listing workflows and
// recording them for lists never waits for, or holds up, the writes that move workflows forward.
package sqlite
