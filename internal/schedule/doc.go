// Package schedule is the decision core of the CronJob workflow: Evaluate says which scheduled times are due, missed and
// to come, Decide turns state and these times into a start, replacements, deletes, ledger entries, Events, a status and
// the next wake.
//
// A round calls Take(Evaluate) while NeedsEvaluation, then Decide, carries out the Plan and calls Apply with its Report,
// until the Plan is idle. What happens in between comes in by Finish, Missing, AddTrigger and SpecChanged. NewState
// begins from the object, State goes on as JSON.
//
// Its words are:
//
//   - The scheduled time of a run is when the schedule says that it starts, whenever it does: that of
//     status.lastScheduleTime and of the annotation batch.kubernetes.io/cronjob-scheduled-timestamp.
//   - A scheduled run is the run of a scheduled time; a manual run is that of a trigger, whose time stands in for it.
//   - A run is due when its scheduled time has come and is not settled. At most one is: the most recent.
//   - A scheduled time, and its run, are settled when the outcome is known: the run started, or never will. The ledger has
//     the outcomes.
//   - Upcoming are the scheduled times that have not come.
//
// The package is pure. It imports API types, package times for what a schedule names, and package ledger for what is
// recorded; it takes no context, clock, logger or client, and a user's mistake is an outcome, not an error. The rules are those of batch/v1 CronJob as
// kube-controller-manager 1.37 applies them, except where docs/compat.md says otherwise.
//
// Words of Ostinato's own are in docs/glossary.md.
package schedule
