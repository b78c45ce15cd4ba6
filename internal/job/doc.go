// Package job is the decision core of the Job workflow: Observe merges Pod facts into durable state, Decide turns state
// into Pod creates, deletes and finalizer releases, a status, Events and the next wake.
//
// The package is pure. It imports API types and time; it takes no context, clock, logger or client, and a user's
// mistake is an outcome, not an error. The rules are those of batch/v1 as kube-controller-manager 1.37 applies them.
//
// Words of Ostinato's own are in docs/glossary.md.
package job
