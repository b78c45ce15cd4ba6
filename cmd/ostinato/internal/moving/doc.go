// Package moving decides how a CronJob moves from batch/v1 to batch.ostinato.dev/v1 and back without a time that is missed or
// has two runs: what is to be done next, given both objects, the Jobs and the clock; what the new object is; and which objects
// are not to be written, since Helm or a GitOps tool would write them again. It is pure: the command reads, writes and asks
// again, and a move that was interrupted goes on from what the objects say. docs/move.md has the order of the steps.
package moving
