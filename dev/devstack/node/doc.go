// Package node gives the development stack's control plane a node to run Pods on: a simulated one (kwok) or a real one
// (kubelet, containerd, runc).
//
// The simulated node runs nothing: it plays the stages under stages/ on Pods that are bound to it. Annotations on a Pod
// (in a Job: on its Pod template) say how the Pod fares; see the constants below. Its timing has the resolution of the
// API's times, one second, except that a Pod without annotations ends at once.
//
// The real node lives in name spaces of its own and leaves nothing behind, even when it is killed; see StartReal.
package node

// Annotations of Pods that a simulated node obeys. A real node does not know them.
const (
	// AnnotationRunSeconds is how long the containers run, counted from their start. Default 0.
	AnnotationRunSeconds = "ostinato.dev/test-run-seconds"
	// AnnotationRunUntil is a time (RFC 3339) up to which the containers run, whenever they started; it wins.
	AnnotationRunUntil = "ostinato.dev/test-run-until"
	// AnnotationHoldIndex is a completion index: a Pod of it runs until the annotation of the Pod itself is changed.
	AnnotationHoldIndex = "ostinato.dev/test-hold-index"
	// AnnotationExitCode is the exit code of every container. With restartPolicy Never a code other than 0 fails the
	// Pod; with OnFailure the containers are restarted, a second after each end.
	AnnotationExitCode = "ostinato.dev/test-exit-code"
	// AnnotationFailTimes, with restartPolicy OnFailure, is after how many restarts the containers end with exit code 0;
	// with AnnotationFailEvery after how many failed Pods of their index.
	AnnotationFailTimes = "ostinato.dev/test-fail-times"
	// AnnotationFailEvery, with restartPolicy Never, is a number; the completion index has to be a multiple of it for
	// the exit code to be AnnotationExitCode; that of all other Pods is 0. The failed Pods of an index are known where
	// the Job has a backoffLimitPerIndex.
	AnnotationFailEvery = "ostinato.dev/test-fail-every"
	// AnnotationExitReason and AnnotationExitMessage are what the terminated state of failed containers says. Default
	// Error, as the kubelet has it, and nothing.
	AnnotationExitReason  = "ostinato.dev/test-exit-reason"
	AnnotationExitMessage = "ostinato.dev/test-exit-message"
	// AnnotationPendingSeconds is how long the Pod stays Pending, counted from its creation. Default 0.
	AnnotationPendingSeconds = "ostinato.dev/test-pending-seconds"
	// AnnotationTerminationSeconds is how long the containers of a deleted Pod take to end, at most the Pod's grace
	// period. Default 0.
	AnnotationTerminationSeconds = "ostinato.dev/test-termination-seconds"
)
