package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
)

// Plan is what Decide wants done, in the order of its fields. Carrying it out is idempotent; Apply takes the result in.
type Plan struct {
	// List asks for a list of the Job's Pods before anything else (Listed), and with Rebuild
	// for the Job's spec and status to start over from (Reconstruct).
	List, Rebuild bool
	// Terminate asks to end all running Pods and to list them then, before anything else (Terminated).
	Terminate Termination
	// Judge are the completed indexes by which to evaluate spec.successPolicy first; if they
	// meet a rule, nothing else is carried out (Matched). Empty for none.
	Judge Indexes
	// Creates and Deletes are never both set. With Terminate, Deletes are Pods that count as failed since they have not started.
	Creates []Create
	Deletes []Delete
	// Status is the complete status to write; nil when nothing in it changed. With Terminate it is what the verdict rests on, and is
	// not written.
	Status *batchv1.JobStatus
	// Counted are the Pods that Status counts and that no other did, or that carry the finalizer.
	Counted []Counted
	// Releases follow the status: their Pods' fate is recorded in Next.
	Releases []Release
	// Handled counts the Pods among Releases that a rule of podFailurePolicy matches, by its action.
	Handled map[batchv1.PodFailurePolicyAction]int32
	// Events are about the whole Job. Those about single Pods (SuccessfulCreate, say) come from the activities.
	Events []event.Event
	// Wake is when to plan again if nothing happens; a zero At means never.
	Wake Wake
	// Deadline is when activeDeadlineSeconds ends, and the plan gives way; zero for never.
	Deadline time.Time
	// Waiting says in words what the Job waits for.
	Waiting string
	// Finished is set once a terminal condition is written and nothing is left to do.
	Finished *Result
	// Next is the State with the decisions made and nothing carried out: the new one of an idle Plan.
	Next State

	before State
	// podRetryCap bounds the delay of what fails for a single Pod, whose trouble may last.
	podRetryCap time.Duration
}

// Wake is a time at which to plan again, and why.
type Wake struct {
	At     time.Time
	Reason WakeReason
}

// WakeReason says what a Wake is for.
type WakeReason string

const (
	// WakeBackoff: a Pod is due after failures (parity 2.9).
	WakeBackoff WakeReason = "back-off"
	// WakeDeadline: spec.activeDeadlineSeconds ends.
	WakeDeadline WakeReason = "deadline"
	// WakeCreateRetry and WakeStatusRetry: a create or the status was refused, or had no answer.
	WakeCreateRetry WakeReason = "create retry"
	WakeStatusRetry WakeReason = "status retry"
	// WakeErrorRetry: an error kept a plan from being carried out.
	WakeErrorRetry WakeReason = "error retry"
	// WakePending: a Pod has not started for too long (PendingDeadlineSeconds).
	WakePending WakeReason = "pending deadline"
	// WakePodRetry: a delete or release of a Pod failed.
	WakePodRetry WakeReason = "pod retry"
	// WakeRest: more Pods have ended than one plan counts.
	WakeRest WakeReason = "more Pods have ended"
	// WakeList: the Pods are to be listed.
	WakeList WakeReason = "pod list"
)

// Idle reports whether there is nothing to carry out.
func (p Plan) Idle() bool {
	return !p.List && p.Terminate == "" && p.Judge.IsZero() && len(p.Creates) == 0 && len(p.Deletes) == 0 && p.Status == nil &&
		len(p.Releases) == 0 && len(p.Events) == 0
}
