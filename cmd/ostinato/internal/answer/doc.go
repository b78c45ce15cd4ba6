// Package answer makes the texts with which the ostinato command answers questions about CronJobs: tables, strips of
// outcomes, and the paragraph that says why a time ran or did not. It is pure: what it is given was read by the command.
//
// A row is an outcome as a CronJob's status or its ledger has it (ostinatov1.RecentRun). docs/glossary.md has the words.
package answer
