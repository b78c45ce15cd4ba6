package protocol

import (
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// Names of activities, with what they take and answer.
const (
	StartRunActivity       = "StartRun"       // StartRunRequest -> StartRunResult
	WriteStatusActivity    = "WriteStatus"    // WriteStatusRequest -> WriteStatusResult
	FindRunsActivity       = "FindRuns"       // FindRunsRequest -> FindRunsResult
	SetSuspendActivity     = "SetSuspend"     // SetSuspendRequest -> SetSuspendResult
	CarryOutActivity       = "CarryOut"       // JobRequest -> JobResult
	ReleaseOrphansActivity = "ReleaseOrphans" // ReleaseOrphansRequest -> ReleaseOrphansResult
	ListPodsActivity       = "ListPods"       // ListPodsRequest -> PodList
	TerminatePodsActivity  = "TerminatePods"  // TerminatePodsRequest -> PodList
	WatchPodsActivity      = "WatchPods"      // PodWatchInput -> error only; runs until cancelled
)

// Activities are the names of all activities.
var Activities = []string{
	StartRunActivity, WriteStatusActivity, FindRunsActivity, SetSuspendActivity,
	CarryOutActivity, ReleaseOrphansActivity, ListPodsActivity, TerminatePodsActivity,
	WatchPodsActivity,
}

// InvalidRequestErrorType is that of the final error of an activity that was asked for what no workflow of ours asks for.
const InvalidRequestErrorType = "InvalidRequest"

// MaxLooks is how many runs one FindRunsRequest names at most.
const MaxLooks = 50

// Refusal says that the API server answered and refused: a quota, an invalid object, a terminating namespace; or that Ostinato
// refused, or that a create of many had no answer. It is an outcome to plan with, not an error: an outage is an error, and is
// retried by Temporal.
type Refusal struct {
	// Reason is one of package ledger's, which show in the history of runs.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// JobRequest is carried out in the order of its fields. Every step is idempotent, so the whole may be repeated.
type JobRequest struct {
	Job     ObjectReference `json:"job"`
	Creates []job.Create    `json:"creates,omitempty"`
	Deletes []job.Delete    `json:"deletes,omitempty"`
	// Status is applied to the Job; nil leaves it as it is. Conditions of types that are not Ostinato's are kept by the
	// activity. It is not applied when a create was refused.
	Status *batchv1.JobStatus `json:"status,omitempty"`
	// Digest is job.Spec.Digest of the spec that was planned with. A Job whose spec has
	// another one is left as it is, and answered with CurrentSpec.
	Digest string `json:"digest,omitempty"`
	// Judge are completed indexes. If they meet a rule of spec.successPolicy, nothing is done, and the answer is Matched.
	Judge job.Indexes `json:"judge,omitzero"`
	// Counted are the Pods that Status counts beside the Job's own, and those that are not released yet. Nothing is done where
	// one that the Job does not note yet (names.CountedAnnotation) is not so.
	Counted []job.Counted `json:"counted,omitempty"`
	// Base is what was known of the status when the request was planned. A Job whose Pods another writer has counted
	// since (job.Overtaken) is left as it is, and answered with Current and CurrentSpec.
	Base *job.Base `json:"base,omitempty"`
	// Releases follow the status, and only when it was applied.
	Releases []job.Release `json:"releases,omitempty"`
	// Handled is added to the metric of handled Pod failures, where there is a Status when it was applied.
	Handled map[batchv1.PodFailurePolicyAction]int32 `json:"handled,omitempty"`
	// Events are emitted with the status, unless it is found written already.
	Events []event.Event `json:"events,omitempty"`
}

// JobResult reports what a JobRequest did.
type JobResult struct {
	// Gone: the Job does not exist or has another UID; no Pod was created.
	Gone bool `json:"gone,omitempty"`
	// Matched is the rule of spec.successPolicy that the indexes of Judge meet; nothing was done then.
	Matched *int32 `json:"matched,omitempty"`
	job.Report
	// Refused says why Creates after the Created ones were not carried out.
	Refused *Refusal `json:"refused,omitempty"`
	// Foreign: the Job is another controller's; nothing was done.
	Foreign bool `json:"foreign,omitempty"`
	// Unplanned: the Job's spec is not the planned one, but CurrentSpec, or
	// its status not the one of Base, but Current; nothing was done.
	Unplanned bool `json:"unplanned,omitempty"`
	// Current and CurrentSpec are the Job's as read after the refusal of Status or
	// Creates, or when Unplanned, so that the next plan starts from what the API server has.
	Current     *batchv1.JobStatus `json:"current,omitempty"`
	CurrentSpec *job.Spec          `json:"currentSpec,omitempty"`
}

// ReleaseOrphansRequest asks to remove the tracking finalizer of every Pod of a Job that is gone or being deleted.
type ReleaseOrphansRequest struct {
	Job ObjectReference `json:"job"`
	// Evidence asks for what is to be remembered of them first.
	Evidence bool `json:"evidence,omitempty"`
}

// ReleaseOrphansResult counts the Pods that were released.
type ReleaseOrphansResult struct {
	Released int `json:"released"`
	// Ended are the newest of the Pods that were ended with the Job, or had failed, and Logs the ends of their logs.
	Ended []job.PodFact `json:"ended,omitempty"`
	Logs  []job.PodLog  `json:"logs,omitempty"`
}

// ListPodsRequest asks for the Pods of a Job that carry PodWatch's label, and for those that it names. Orphans among them that
// match the Job's selector are adopted, and Pods that no longer match it are let go (parity 2.13).
type ListPodsRequest struct {
	Job ObjectReference `json:"job"`
	// Undecided are the Pods whose end the caller does not know yet. Of the Pods that ended and were released only these
	// are read, so that a list costs no more than the Pods there are to decide about, however many the Job has had.
	Undecided []job.PodName `json:"undecided,omitempty"`
	// Rebuild asks for all Pods that match the selector: orphans that PodWatch does not see are adopted, and failed Pods
	// with a failure count annotation are listed, from which the failures of an index are counted anew; the newest of
	// each index is enough.
	Rebuild bool `json:"rebuild,omitempty"`
}

// TerminatePodsRequest asks to end all Pods of a Job that have not ended, and for a list of its Pods as they are then.
type TerminatePodsRequest struct {
	Job ObjectReference `json:"job"`
	// Digest is as in a JobRequest. A Job that is edited while its Pods are being ended keeps those that are left.
	Digest string `json:"digest,omitempty"`
	// Judge is as in a JobRequest.
	Judge job.Indexes `json:"judge,omitzero"`
	// Termination says how the Pods are ended.
	Termination job.Termination `json:"termination"`
	// Verdict is the verdict, and Status, Counted and Deletes, as in a JobRequest, what it rests on. Nothing is done unless it is so, or the
	// Job's status has a verdict.
	Verdict job.Verdict        `json:"verdict,omitzero"`
	Status  *batchv1.JobStatus `json:"status,omitempty"`
	Counted []job.Counted      `json:"counted,omitempty"`
	Deletes []job.Delete       `json:"deletes,omitempty"`
	// Undecided is as in a ListPodsRequest.
	Undecided []job.PodName `json:"undecided,omitempty"`
	// Deleting are those of them that were being deleted when the caller heard of the suspension, null where it does
	// not know. The others are removed uncounted even if they have been deleted by now.
	Deleting []string `json:"deleting"`
}

// PodList is the answer to ListPodsRequest and TerminatePodsRequest.
type PodList struct {
	// Gone: the Job does not exist or has another UID; the list is empty.
	Gone bool `json:"gone,omitempty"`
	job.List
	// Foreign: the Job is another controller's; nothing was listed.
	Foreign bool `json:"foreign,omitempty"`
	// Matched is the rule of spec.successPolicy that the indexes of Judge meet; Pods were neither ended nor listed then.
	Matched *int32 `json:"matched,omitempty"`
	// Refuted says what is not so of the verdict; Pods were neither ended nor listed then.
	Refuted *job.Report `json:"refuted,omitempty"`
	// Unplanned: the Job's spec is not the one planned with, but Spec; Pods may have been ended, and were not listed.
	Unplanned bool `json:"unplanned,omitempty"`
	// Spec and Status are the Job's as read before the Pods, where Rebuild asked for them.
	Spec   *job.Spec          `json:"spec,omitempty"`
	Status *batchv1.JobStatus `json:"status,omitempty"`
}

// SetSuspendRequest writes spec.suspend of a CronJob or Job, with who, when and note as annotations; or, of a Job, that it is stopped.
type SetSuspendRequest struct {
	// Kind is CronJobKind or JobKind.
	Kind   string          `json:"kind"`
	Object ObjectReference `json:"object"`
	// AfterFailures: no signal asks for it, but the CronJob itself, by pauseAfterFailures.
	AfterFailures bool `json:"afterFailures,omitempty"`
	// Basis is the status of a CronJob that its workflow rests on: if there is a later one, nothing is done.
	Basis schedule.Basis `json:"basis,omitzero"`
	Wish
}

// Kinds of objects that can be suspended.
const (
	CronJobKind = "CronJob"
	JobKind     = "Job"
)

// SetSuspendResult carries the object's spec after the write.
type SetSuspendResult struct {
	// Gone: the object does not exist or has another UID. Foreign: it is another controller's.
	Gone    bool `json:"gone,omitempty"`
	Foreign bool `json:"foreign,omitempty"`
	// Overtaken: the CronJob has a later status than the workflow knows.
	Overtaken bool `json:"overtaken,omitempty"`
	// Suspender is set if the request has suspended a CronJob that was not suspended.
	Suspender   *schedule.Suspender `json:"suspender,omitempty"`
	CronJobSpec *schedule.Spec      `json:"cronJobSpec,omitempty"`
	JobSpec     *job.Spec           `json:"jobSpec,omitempty"`
}
