package schedule

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

const (
	// ThroughUpdate is Asked.Through where an update has asked for the run, as ThroughSignal is
	// where a signal has.
	ThroughUpdate = "update"
	// ThroughJob: somebody has made the run's Job.
	ThroughJob = "job"
)

// Throughs are all that a row of the ledger may name.
var Throughs = []string{ThroughSignal, ThroughUpdate, ThroughJob}

// Asked says who has asked for a run that the schedule did not. Nothing proves it.
type Asked struct {
	// By is the name that the sender has claimed; empty where he has not.
	By string `json:"by,omitempty"`
	// Through is one of Throughs; empty for a scheduled run.
	Through string `json:"through,omitempty"`
	// Changed says in what the run is not as the CronJob prescribes it; empty for nothing.
	Changed string `json:"changed,omitempty"`
}

// bounded returns it with texts that people can read and a state can carry.
func (a Asked) bounded() Asked {
	a.By, a.Changed = bounded(a.By), bounded(a.Changed)
	if !slices.Contains(Throughs, a.Through) {
		a.Through = ""
	}
	return a
}

// changing returns it with what an overlap changes.
func (a Asked) changing(overlap batchv1.ConcurrencyPolicy) Asked {
	if overlap != "" {
		a.Changed = "concurrencyPolicy " + string(overlap)
	}
	return a
}

// TriggerRequest asks for one manual run.
type TriggerRequest struct {
	Asked
	// Note is the sender's.
	Note string
	// Overlap is the concurrency policy that the sender asks for; empty for the CronJob's.
	Overlap batchv1.ConcurrencyPolicy
}
