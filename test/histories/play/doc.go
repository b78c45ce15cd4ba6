// Package play has what histories of workflows are played with: an agenda of what happens when, the part of Temporal, attempts of
// activities that end with the process in which they run, and the play of a history once to its end and once for each loss. It
// knows neither of CronJobs nor of Jobs. All of it runs under testing/synctest, on a simulated clock.
package play
