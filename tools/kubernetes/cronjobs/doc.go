// Package cronjobs runs upstream's CronJob controller, whole and unchanged, on a simulated clock: the one of testing/synctest,
// on which an hour passes at once. Its test is the program that test/parity/cronjobs runs; it is no test of its own.
package cronjobs
