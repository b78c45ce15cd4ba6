// Package upstream runs upstream's own integration suite of the Job controller, k8s.io/kubernetes/test/integration/job, against a worker and
// a bridge. Each of its tests starts an API server in the suite's process, plays the kubelet and starts and stops the controller; here the
// controller is a worker and a bridge, which are started and stopped for it as processes of their own.
//
//	make trial-upstream-job
//
// The suite is taken from the module cache and rewritten as little as can be (rewrite_test.go says all that is): an edit whose text
// upstream no longer has fails. It is built together with tools/kubernetes/jobs, where the functions are that take the place of those
// that start the built-in controller. What of the suite is not judged, and why, is in docs/upstream-job-suite.md.
package upstream
