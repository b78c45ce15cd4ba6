// Package times computes the times of a schedule: Parse reads one with its time zone, a Calculator says which time comes
// next, and a Line which times have come since a run and how many were missed.
//
// A time is scheduled at every instant at which the zone's clocks show it. What becomes of it is not decided here.
//
// The package is pure. It imports cron alone, so that a command line can use it; a user's mistake is a Problem, not an error.
//
// Words of Ostinato's own are in docs/glossary.md.
package times
