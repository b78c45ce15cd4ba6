// Package bridge brings Kubernetes objects to their Temporal workflows: it starts
// and signals CronJob and Job workflows for what is added, edited or deleted,
// and pokes CronJob workflows that are overdue.
//
// What to send for an object is decided by pure functions (rules_*.go) from the
// object and from what was sent before. The object's status is the
// acknowledgement, so a restarted bridge sends again only what was not taken.
// Every call is idempotent and carries the object's UID: two bridges that lead
// at the same time for a moment do no harm.
package bridge
