// Package histories plays histories of a CronJob to its workflow and its activities, on the fake API server of internal/testing/fake and a
// simulated clock: edits, signals, runs that end, Jobs that others delete, and what goes wrong: an API server that refuses, answers
// late or not at all, Temporal or etcd restored, workers that stand still. Each history is played once to its end, and then again for
// writes to the API server, after which everything is lost that a process has in its memory, as when a node goes down between a write
// and its answer.
//
// What is not lost is Temporal's: the workflow tasks that were completed, and the results of activities that were recorded. The part of
// Temporal is played by package play, that of the bridge by bridge_test.go. Workflow and activities are the real ones. What must hold
// is judged by the API server's objects and by what the workflow answers (outcomes_test.go, holds_test.go): also whom rows and conditions
// name (names_test.go, suspensions_test.go).
package histories
