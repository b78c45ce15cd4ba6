// Package job is upstream's integration suite of the Job controller (k8s.io/kubernetes/test/integration/job) with a worker and a bridge of
// Ostinato in place of that controller. The suite itself is not here: test/upstream takes it from the module cache, leaves out the functions
// that start the built-in controller, and lays the rest over this folder when it builds it. What is here are those functions. It is no test
// of its own.
package job
