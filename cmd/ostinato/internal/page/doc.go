// Package page is what the page of `ostinato ui` shows, without a server: a grid with a row for each CronJob and a column for
// each stretch of time, a run with its reason and evidence, a CronJob with its durations, and what an action would do. It is
// pure, and takes its words from package answer. docs/glossary.md has the words.
package page
