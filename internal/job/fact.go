package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodFact is what PodWatch reports of one Pod: few hundred bytes. Facts may come late, twice, in any order (Observe).
type PodFact struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Index is the Pod's completion index (Indexed Jobs).
	Index *int32 `json:"index,omitempty"`
	// Version is metadata.resourceVersion, which orders facts (KEP-5504); 0 when it is not a number.
	Version int64 `json:"version,omitempty"`
	// Phase is status.phase.
	Phase corev1.PodPhase `json:"phase,omitempty"`
	// Ready is set while the Pod is not terminal and its Ready condition is True.
	Ready bool `json:"ready,omitempty"`
	// Deleting is set when the Pod carries a deletionTimestamp.
	Deleting bool `json:"deleting,omitempty"`
	// Gone is set when the Pod object no longer exists.
	Gone bool `json:"gone,omitempty"`
	// Tracked is set while the Pod carries the tracking finalizer.
	Tracked bool `json:"tracked,omitempty"`
	// Restarts is the sum of restartCount over init and app containers (parity 2.7).
	Restarts int32 `json:"restarts,omitempty"`
	// Finished is the Pod's finish time by the rule of parity 2.9; zero while it runs.
	Finished time.Time `json:"finished,omitzero"`
	// Container, ExitCode, Signal, Reason and Message are of the container that failed first, or the Pod's own.
	Container string `json:"container,omitempty"`
	ExitCode  int32  `json:"exitCode,omitempty"`
	Signal    int32  `json:"signal,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// Exits are the containers that failed, app containers before init containers, in the order
	// of their statuses; only of a Pod in phase Failed (podFailurePolicy, parity 2.14).
	Exits []Exit `json:"exits,omitempty"`
	// Conditions are the Pod's conditions as "Type=Status", in their order, of a Pod
	// whose phase is Failed; of one that can still run DisruptionTarget=True only.
	Conditions []string `json:"conditions,omitempty"`
	// Failures and Ignored are the Pod's annotations job-index-failure-count and job-index-ignored-failure-count
	// (backoffLimitPerIndex); 0 where they are missing or no numbers.
	Failures int32 `json:"failures,omitempty"`
	Ignored  int32 `json:"ignored,omitempty"`
	// Node is spec.nodeName.
	Node string `json:"node,omitempty"`
	// Started is when the first app container started; zero before, and where it is not known any more.
	Started time.Time `json:"started,omitzero"`
	// Pending says why a container of the Pod has not started that is to start, and PendingMessage in whose words; empty if each
	// has. PendingSince is since when it could have, where that is not the Pod's creation: an init container had to end before.
	Pending        PendingReason `json:"pending,omitempty"`
	PendingMessage string        `json:"pendingMessage,omitempty"`
	PendingSince   time.Time     `json:"pendingSince,omitzero"`
	// Disowned is set when the Pod exists and is not the Job's any more: its labels
	// do not match the selector, or another controller has it (parity 2.13).
	Disowned bool `json:"disowned,omitempty"`
	// Attempt is the number that Ostinato made Name from, or 0 (names.PodAttempt reads some of others' names too).
	Attempt int64 `json:"attempt,omitempty"`
	// Removed is set when a plan, maybe of a lost workflow task, has removed the Pod uncounted (names.RemovedAnnotation).
	Removed bool `json:"removed,omitempty"`
}

// Exit is how a container ended that failed.
type Exit struct {
	Container string `json:"container"`
	Code      int32  `json:"exitCode"`
}

// PendingReason says why a container of a Pod has not started.
type PendingReason string

const (
	// PendingImagePull: an image can't be pulled (ErrImagePull, ImagePullBackOff, InvalidImageName and the like).
	PendingImagePull PendingReason = "ImagePull"
	// PendingUnschedulable: no node takes the Pod (PodScheduled is False), or none has yet.
	PendingUnschedulable PendingReason = "Unschedulable"
	// PendingConfigError: a container can't be created (CreateContainerConfigError,
	// CreateContainerError, RunContainerError, a volume that can't be mounted and the like).
	PendingConfigError PendingReason = "ConfigError"
	// PendingLost: the Pod has a node, and the node's kubelet says nothing of it.
	PendingLost PendingReason = "Lost"
)

// Ended reports whether the Pod can no longer run: phase Succeeded or Failed, or the object is gone.
func (f PodFact) Ended() bool {
	return f.Gone || f.Phase == corev1.PodSucceeded || f.Phase == corev1.PodFailed
}
