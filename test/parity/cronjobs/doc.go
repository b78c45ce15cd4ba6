// Package cronjobs plays scenarios of CronJobs to two controllers on simulated clocks and compares what they do, second by second: the
// Jobs they create and delete, the status they write, the Events they emit.
//
// One is kube-controller-manager's CronJob controller, whole and unchanged, with its informers, its queue and its timers
// (tools/kubernetes/cronjobs). The other is internal/schedule by its front door, with what the workflow and its activities do around it
// (ours_test.go). What upstream did is in testdata/upstream.txt, so that a new release shows what has changed in it; where Ostinato does
// otherwise is in testdata/differences.txt, each under its reason, which is a row of docs/compat.md. A test runs upstream's controller
// and fails where the first of them is out of date. To write both anew:
//
//	make upstream-cases
package cronjobs
