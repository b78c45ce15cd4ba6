// Package schedule is the decision core of the CronJob workflow: Evaluate says which scheduled times are due, missed and to come,
// Decide turns state and these times into a start, replacements, deletes, ledger entries, Events, a status and the next wake.
//
// A round calls Take(Evaluate) while NeedsEvaluation, then Decide, carries out the Plan and calls Apply with its Report,
// until the Plan is idle. What happens in between comes in: to runs by Finish, Missing and RecoverJobs, to the CronJob by
// SpecChanged, from people by AddTrigger, AddBackfill and CancelBackfills, from the bridge by StatusUnknown, and what
// becomes of a suspension after failures by Paused and PauseRefused. NewState begins from the object; State goes on as JSON,
// which Resume takes over.
//
// A scheduled run is the run of a scheduled time; a manual run is that of a trigger, whose time stands in for it. At most
// one run is due: that of the most recent time that has come and is not settled, which is to say has no outcome.
//
// Exported functions are on values: they return what the state becomes. Within, one pass changes a copy. Decide's is the
// list steps, each with the reason why it stands there.
//
// The package is pure. It imports API types, package times for what a schedule names, and package ledger for what is
// recorded; it takes no context, clock, logger or client, and a user's mistake is an outcome, not an error. The rules are
// those of batch/v1 CronJob as kube-controller-manager 1.37 applies them, except where docs/compat.md says otherwise.
//
// Words of Ostinato's own are in docs/glossary.md.
package schedule
