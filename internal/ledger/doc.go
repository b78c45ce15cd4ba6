// Package ledger holds what became of a CronJob's scheduled times: an Entry for each outcome, or for a stretch that shares
// one, in a Ledger that bounds and merges them, in the rows of the status, and in Pages.
//
// What an outcome is, package schedule decides. The package is pure and imports API types alone.
//
// Words of Ostinato's own are in docs/glossary.md.
package ledger
