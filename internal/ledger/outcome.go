package ledger

// Outcome says what became of a scheduled time or of a trigger: exactly one of the constants below.
type Outcome string

const (
	// Started: the run's Job was created in time.
	Started Outcome = "Started"
	// StartedLate: it was created more than a minute after its time. Reason says why.
	StartedLate Outcome = "StartedLate"
	// SkippedOverlap: another run was active, or too many triggers waited already.
	SkippedOverlap Outcome = "SkippedOverlap"
	// SkippedDeadline: spec.startingDeadlineSeconds had passed before it could start.
	SkippedDeadline Outcome = "SkippedDeadline"
	// SkippedSuspended: the CronJob was suspended.
	SkippedSuspended Outcome = "SkippedSuspended"
	// SkippedSuperseded: a later time, an edited schedule or the CronJob's deletion came before it could start.
	SkippedSuperseded Outcome = "SkippedSuperseded"
	// FailedToCreate: the API server refused the Job while the run was due. Reason and Message are its answer.
	FailedToCreate Outcome = "FailedToCreate"
	// Queued: it waits for other runs to end. Then it has one of the others.
	Queued Outcome = "Queued"
)

// Outcomes are all outcomes.
var Outcomes = []Outcome{
	Started, StartedLate, SkippedOverlap, SkippedDeadline, SkippedSuspended, SkippedSuperseded, FailedToCreate, Queued,
}

// HasJob reports whether the outcome is that the run's Job was created.
func (o Outcome) HasJob() bool { return o == Started || o == StartedLate }

// Reasons of an Entry.
const (
	// ReasonJobAlreadyActive: concurrencyPolicy Forbid and a run was active.
	ReasonJobAlreadyActive = "JobAlreadyActive"
	// ReasonSuspended: the CronJob was suspended.
	ReasonSuspended = "Suspended"
	// ReasonStartingDeadlineExceeded: spec.startingDeadlineSeconds had passed.
	ReasonStartingDeadlineExceeded = "StartingDeadlineExceeded"
	// ReasonOutage: a worker or Temporal was away, or the API server did not answer.
	ReasonOutage = "Outage"
	// ReasonFoundLater: its Job was found, and what held it up is unknown.
	ReasonFoundLater = "FoundLater"
	// ReasonFailedCreate: the API server refused the Job at first; Message says why.
	ReasonFailedCreate = "FailedCreate"
	// ReasonScheduleChanged: the schedule was edited before it could start.
	ReasonScheduleChanged = "ScheduleChanged"
	// ReasonTooManyTriggers: more triggers were waiting than are kept.
	ReasonTooManyTriggers = "TooManyTriggers"
	// ReasonInvalidSignal: the signal that asked for the run is invalid; Message says why.
	ReasonInvalidSignal = "InvalidSignal"
	// ReasonCancelled: the backfill was cancelled.
	ReasonCancelled = "Cancelled"
	// ReasonQueueFull: more runs waited than spec.queueLimit; the oldest goes.
	ReasonQueueFull = "QueueFull"
	// ReasonNotCaughtUp: it passed while nothing could start, and catchUp is none or catchUpWindowSeconds had passed.
	ReasonNotCaughtUp = "NotCaughtUp"
	// ReasonCatchUpLimit: it passed while nothing could start, before the last spec.catchUpLimit that did.
	ReasonCatchUpLimit = "CatchUpLimit"
	// ReasonPolicyChanged: the CronJob was edited, so that only the latest of the runs that waited starts.
	ReasonPolicyChanged = "PolicyChanged"
	// ReasonDeleting: the CronJob is being deleted.
	ReasonDeleting = "Deleting"
)

// Kinds of refusals (protocol.Refusal), which are reasons of FailedToCreate too.
const (
	// Forbidden: quota, admission or authorisation.
	Forbidden = "Forbidden"
	// NamespaceTerminating: the namespace is being deleted.
	NamespaceTerminating = "NamespaceTerminating"
	// ForeignObject: another owner's object has the name.
	ForeignObject = "ForeignObject"
	// NotPrescribed: the object, as it is now, does not ask for the run.
	NotPrescribed = "NotPrescribed"
	// Invalid: the API server can't take the Job from any client.
	Invalid = "Invalid"
	// SignalRefused: an object that takes no triggers refuses a manual run; it is not tried again.
	SignalRefused = "SignalRefused"
	// TooLate: the request came after Start.Before and found no Job.
	TooLate = "TooLate"
	// ServerError: the API server has answered, and left open whether it has made the Job; there is none. Of a Pod it is open.
	ServerError = "ServerError"
	// RefusedOtherwise: any other answer of the API server's.
	RefusedOtherwise = "Refused"
)

// Reasons are all reasons of an Entry but the empty one.
var Reasons = []string{
	ReasonJobAlreadyActive, ReasonSuspended, ReasonStartingDeadlineExceeded, ReasonOutage, ReasonFoundLater,
	ReasonFailedCreate, ReasonScheduleChanged, ReasonTooManyTriggers, ReasonInvalidSignal, ReasonCancelled, ReasonQueueFull,
	ReasonNotCaughtUp, ReasonCatchUpLimit, ReasonPolicyChanged, ReasonDeleting,
	Forbidden, Invalid, NamespaceTerminating, ForeignObject, NotPrescribed, SignalRefused, TooLate, ServerError, RefusedOtherwise,
}

// Result says how a run that was started has ended.
type Result string

const (
	// Complete and Failed are the conditions of the Job.
	Complete Result = "Complete"
	Failed   Result = "Failed"
	// Deleted: the Job went away before it had ended.
	Deleted Result = "Deleted"
)

// Results are all ends of a run.
var Results = []Result{Complete, Failed, Deleted}

// ResultReasonStopped is the reason of Failed where a person has stopped the run: that of its Job's condition (event.Stopped).
const ResultReasonStopped = "Stopped"

// ResultReasonReplaced is the reason of Deleted where the next run replaced it.
const ResultReasonReplaced = "Replaced"
