package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Create asks for one Pod of the Job. A repeated create meets its own Pod, by the name.
type Create struct {
	Name string `json:"name"`
	// Attempt numbers the Job's Pods, or those of its index, from 1; Name is made from it.
	Attempt int64 `json:"attempt"`
	// Index is the completion index (Indexed Jobs).
	Index *int32 `json:"index,omitempty"`
	// Failures and Ignored go into the Pod's failure count annotations if there is a backoffLimitPerIndex (parity 2.10).
	Failures int32 `json:"failures,omitempty"`
	Ignored  int32 `json:"ignored,omitempty"`
}

// Delete asks for one Pod's deletion. A Pod that no longer exists is a success.
type Delete struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
	// Release asks to remove the finalizer before: the Pod goes uncounted (suspend, scale-down; parity 2.10).
	Release bool `json:"release,omitempty"`
	// Version is the resourceVersion at which a list has just shown a Pod of the Job that is tracked and runs; 0 for none.
	Version int64 `json:"-"`
}

// Release asks to remove the tracking finalizer of a Pod whose outcome is in the State. One that is gone is a success.
type Release struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Phase is the counted phase; empty if the Pod is not known to have ended, and stays watched.
	Phase corev1.PodPhase `json:"phase,omitempty"`
	// Logs asks for the end of the failed Pod's log first (Report.Logs).
	Logs bool `json:"logs,omitempty"`
}

// PodLog is the end of a Pod's log, bounded by its reader.
type PodLog struct {
	UID string `json:"uid"`
	// Lines are the last lines; empty when the container said nothing.
	Lines string `json:"lines,omitempty"`
	// Missing says why there are no lines, in a few words.
	Missing string `json:"missing,omitempty"`
}

// Attempt is the evidence of one Pod that failed. It outlives the Pod.
type Attempt struct {
	Pod   string `json:"pod"`
	UID   string `json:"uid"`
	Index *int32 `json:"index,omitempty"`
	Node  string `json:"node,omitempty"`
	// Container, ExitCode, Signal, Reason and Message are of the container that failed first, or the Pod's own.
	Container string `json:"container,omitempty"`
	ExitCode  int32  `json:"exitCode,omitempty"`
	Signal    int32  `json:"signal,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// Started and Finished are zero where the Pod does not say.
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Ended is why the Pod was ended before it had ended by itself: the reason of the Job's verdict, PendingDeadlineExceeded,
	// EndedPodDeleted or EndedJobDeleted; empty for others. Its log was read while it was being deleted.
	Ended string `json:"ended,omitempty"`
	// Log is the end of the container's log; LogMissing says why there is none.
	Log        string `json:"log,omitempty"`
	LogMissing string `json:"logMissing,omitempty"`
}

// Outcome says how a Job ended: the type of its terminal condition, if it has one.
type Outcome string

const (
	// Complete: the Job has condition Complete.
	Complete Outcome = "Complete"
	// Failed: the Job has condition Failed.
	Failed Outcome = "Failed"
	// Deleted: the Job object went away before the Job finished.
	Deleted Outcome = "Deleted"
	// HandedOver: the Job is another controller's now, before it finished.
	HandedOver Outcome = "HandedOver"
)

// Result is what a Job workflow returns.
type Result struct {
	UID     string  `json:"uid"`
	Outcome Outcome `json:"outcome"`
	// Reason and Message are those of the terminal condition.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Why says in one line why the Job has failed, by what a container has said, with Reason in brackets. It is for people.
	Why            string    `json:"why,omitempty"`
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`
	Succeeded      int32     `json:"succeeded"`
	Failed         int32     `json:"failed"`
	// Attempts are the Pods that failed last, oldest first; AttemptsOmitted counts older ones that are not kept.
	Attempts        []Attempt `json:"attempts,omitempty"`
	AttemptsOmitted int       `json:"attemptsOmitted,omitempty"`
}
