// Package temporal runs a whole Temporal cluster inside one process, on SQLite, for development and for tests.
//
// It is the only package of the project that imports the Temporal server and its Web UI; neither the worker nor the
// bridge may depend on it. The devserver command wraps it as a process of its own, so that a test can kill it.
//
// Two databases are kept: one for executions, task queues and namespaces, and one for visibility, so that listing
// workflows and recording them for lists never waits for, or holds up, the writes that move workflows forward.
package temporal
