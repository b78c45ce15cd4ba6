// Package event holds the plain-data form of a Kubernetes Event, so that the decision cores can ask for one without a recorder.
package event

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// Event asks for one Kubernetes Event on the object that is being reconciled. Reasons and messages are upstream's where
// the meaning is the same (parity 1.9 and 2.16).
type Event struct {
	// Type is Normal or Warning (k8s.io/api/core/v1 EventTypeNormal, EventTypeWarning).
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Normal returns an Event of type Normal.
func Normal(reason, message string) Event {
	return Event{Type: "Normal", Reason: reason, Message: message}
}

// Warning returns an Event of type Warning.
func Warning(reason, message string) Event {
	return Event{Type: "Warning", Reason: reason, Message: message}
}

// Reasons of the Events that activities emit by themselves, since only they learn the API server's answer (parity 1.9 and 2.16).
const (
	SuccessfulCreate   = "SuccessfulCreate"
	SuccessfulDelete   = "SuccessfulDelete"
	FailedCreate       = "FailedCreate"
	FailedDelete       = "FailedDelete"
	FailedUpdateStatus = "FailedUpdateStatus"
	SignalTaken        = "SignalTaken"
	SignalUnread       = "SignalArgumentUnread"
	SignalRefused      = "SignalRefused"
	SignalUnknown      = "SignalUnknown"
	InvalidTemplate    = "InvalidTemplate"
)

// UnknownReason is the reason of the Event on a Job that another controller has failed for a reason that no plan knows,
// and stands for that reason in the Job's condition, whose message holds it.
const UnknownReason = "UnknownReason"

// Stopped is the reason of the Event on a Job that a person has stopped, of its conditions FailureTarget and Failed, and of its run's end.
const Stopped = "Stopped"

// WorkflowCancelled is the reason of the Event on a CronJob whose workflow was cancelled.
const WorkflowCancelled = "WorkflowCancelled"

const (
	// StatusOvertaken is the reason of the Event on a CronJob whose workflow has found a later state in its status, and has begun
	// anew from it.
	StatusOvertaken = "StatusOvertaken"
	// StatusContested is that of one whose workflow finds so again and again, and of its condition Stalled.
	StatusContested = "StatusContested"
)

// Reasons of the Events that the bridge emits, all of them warnings.
const (
	RunOverdue          = "RunOverdue"
	WorkflowRestarted   = "WorkflowRestarted"
	WorkflowReplaced    = "WorkflowReplaced"
	WorkflowPaused      = "WorkflowPaused"
	NativeCronJobActive = "NativeCronJobActive"
	RunStuck            = "RunStuck"
	// TemporalDataLost is on the bridge's lease; all others are on CronJobs and Jobs.
	TemporalDataLost = "TemporalDataLost"
)

// OfBridge are these reasons. No plan asks for one.
var OfBridge = []string{RunOverdue, WorkflowRestarted, WorkflowReplaced, WorkflowPaused, NativeCronJobActive, RunStuck, TemporalDataLost}

// MaxPerRequest bounds the Events that one request asks for. Upstream's limit lets 25 pass in a
// row, and an activity emits up to three of its own.
const MaxPerRequest = 22

// MaxMessage bounds the message of an Event, in bytes: the API server's own bound of those of events.k8s.io/v1.
const MaxMessage = 1024

// reasons are all reasons of Events, by type. What a plan asks for and a request carries has one of
// them, and nothing else is emitted.
var reasons = map[string][]string{
	"Normal": {
		SuccessfulCreate, SuccessfulDelete, SignalTaken,
		"Completed", "Suspended", "Resumed",
		"JobAlreadyActive", "MissingJob", "SawCompletedJob",
	},
	"Warning": {
		FailedCreate, FailedDelete, FailedUpdateStatus, SignalUnread, SignalRefused, SignalUnknown, InvalidTemplate, WorkflowCancelled,
		batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonDeadlineExceeded, batchv1.JobReasonFailedIndexes,
		batchv1.JobReasonMaxFailedIndexesExceeded, batchv1.JobReasonPodFailurePolicy,
		Stopped, UnknownReason, "PendingDeadlineExceeded", "TooManySucceededPods", "UnknownCompletionMode", "InvalidAnnotation",
		"UnparseableSchedule", "UnknownTimeZone", "NeverFires", "UnsupportedSchedule",
		"TriggerRefused", "TooManyMissedTimes", "MissSchedule", "UnexpectedJob", "PausedAfterFailures", "FailedUpdate",
		StatusOvertaken, StatusContested,
	},
}

// Reasons returns the reasons of the Events of a type, Normal or Warning.
func Reasons(kind string) []string { return slices.Clone(reasons[kind]) }

// Validate reports whether all Events are such as a plan asks for: anybody who may write to Temporal may have asked for
// them. The length of a message is bounded when it is emitted.
func Validate(events []Event) error {
	for _, e := range events {
		if !slices.Contains(reasons[e.Type], e.Reason) {
			return fmt.Errorf("an Event of type %.16q with the reason %.64q: Ostinato emits none", e.Type, e.Reason)
		}
	}
	return nil
}
