package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodFact is what PodWatch reports of one Pod: about 100 bytes, no Pod spec.
// Facts of one Pod form an order (see Observe), so they may arrive late, twice
// or in any order.
type PodFact struct {
	Name string `json:"n"`
	UID  string `json:"u"`
	// Index is the Pod's completion index (Indexed Jobs).
	Index *int32 `json:"i,omitempty"`
	// Version is metadata.resourceVersion as a number (KEP-5504), so that the newer
	// of two facts is known; 0 when it is not a number.
	Version int64 `json:"v,omitempty"`
	// Phase is status.phase.
	Phase corev1.PodPhase `json:"p,omitempty"`
	// Ready is set while the Pod is not terminal and its Ready condition is True.
	Ready bool `json:"r,omitempty"`
	// Deleting is set when the Pod carries a deletionTimestamp.
	Deleting bool `json:"d,omitempty"`
	// Gone is set when the Pod object no longer exists.
	Gone bool `json:"g,omitempty"`
	// Tracked is set while the Pod carries the tracking finalizer.
	Tracked bool `json:"f,omitempty"`
	// Restarts is the sum of restartCount over init and app containers (parity 2.7).
	Restarts int32 `json:"c,omitempty"`
	// Finished is the Pod's finish time by the rule of parity 2.9; zero while it runs.
	Finished time.Time `json:"t,omitzero"`
	// ExitCode, Reason and Message are of the first container that failed.
	ExitCode int32  `json:"x,omitempty"`
	Reason   string `json:"y,omitempty"`
	Message  string `json:"m,omitempty"`
}

// Terminal reports whether the Pod can no longer run: phase Succeeded or
// Failed, or the object is gone.
func (f PodFact) Terminal() bool {
	return f.Gone || f.Phase == corev1.PodSucceeded || f.Phase == corev1.PodFailed
}
