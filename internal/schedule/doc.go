// Package schedule is the decision core of the CronJob workflow: Evaluate
// computes due times from a schedule, Decide turns state and due times into a
// start, replacements, deletes, ledger entries, Events, a status and the next
// wake.
//
// One round is: Take(Evaluate) while NeedsEvaluation, Decide, carry the Plan out,
// Apply the Report of what came of it, until the Plan is idle. What happens in between
// comes in by Finish, Missing, AddTrigger and SpecChanged. NewState begins from
// the object, State goes on as JSON.
//
// The package is pure. It imports API types, cron and time; it takes no
// context, clock, logger or client, and a user's mistake is an outcome, not an
// error. The rules are those of batch/v1 CronJob as kube-controller-manager
// 1.37 applies them, except where docs/compat.md says otherwise.
package schedule
