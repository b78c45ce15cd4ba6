package job

import "time"

// Create asks for one Pod of the Job. Its name is deterministic, so a repeated
// create meets its own Pod.
type Create struct {
	Name string `json:"name"`
	// Attempt numbers the Job's Pods from 1; Name is made from it (names.Pod).
	Attempt int64 `json:"attempt"`
	// Index is the completion index (Indexed Jobs).
	Index *int32 `json:"index,omitempty"`
}

// Delete asks for one Pod's deletion. A Pod that no longer exists is a success.
type Delete struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
	// Untrack asks to remove the tracking finalizer before the delete: the Pod
	// is removed without being counted (suspend, scale-down; parity 2.10).
	Untrack bool `json:"untrack,omitempty"`
}

// Release asks to remove the tracking finalizer of a Pod whose outcome is
// recorded in State. A Pod that no longer exists is a success.
type Release struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Outcome says how a Job ended.
type Outcome string

const (
	// Complete: the Job has condition Complete.
	Complete Outcome = "Complete"
	// Failed: the Job has condition Failed.
	Failed Outcome = "Failed"
	// Deleted: the Job object went away before the Job finished.
	Deleted Outcome = "Deleted"
)

// Result is what a Job workflow returns.
type Result struct {
	UID     string  `json:"uid"`
	Outcome Outcome `json:"outcome"`
	// Reason and Message are those of the terminal condition.
	Reason         string    `json:"reason,omitempty"`
	Message        string    `json:"message,omitempty"`
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`
	Succeeded      int32     `json:"succeeded"`
	Failed         int32     `json:"failed"`
}
