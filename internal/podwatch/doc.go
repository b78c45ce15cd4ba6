// Package podwatch watches the Pods of Jobs. It signals Job workflows with the facts
// that matter to them, keeps status.ready of their Jobs, and releases Pods that nobody
// will count. It remembers nothing: a watch that takes over lists the Pods, and what is
// not accounted carries the tracking finalizer.
//
// What is owed about a Pod is its state (state.go, a table). What is sent when is
// decided without I/O (job.go, ready.go), whose a Pod is by package claim; the Watcher
// carries it out.
package podwatch
