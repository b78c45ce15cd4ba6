// Package histories plays histories of a CronJob to internal/schedule and the activities of a CronJob, on the fake API server of
// internal/k8s/fake and a simulated clock: edits, signals, runs that end, Jobs that others delete, an API server that refuses. Each
// history is played once to its end, and then again for every write to the API server, after which everything is lost that a process
// has in its memory, as when a node goes down between a write and its answer.
//
// What is not lost is Temporal's: the workflow tasks that were completed, and the results of activities that were recorded. The part of
// Temporal is played by package play, that of the workflow, which is a loop around the planner, by workflow_test.go. The planner and
// the activities are the real ones.
package histories
