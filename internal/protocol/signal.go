package protocol

import (
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// Signals between Ostinato's own processes. Each carries the UID it is meant
// for, so that one meant for a deleted object of the same name does nothing.
const (
	// CronJobSpecSignal brings a CronJob's scheduling fields, or says that a run is overdue.
	CronJobSpecSignal = "cronjob-spec"
	// JobSpecSignal brings a Job's spec.
	JobSpecSignal = "job-spec"
	// DeletedSignal says that the object no longer exists.
	DeletedSignal = "deleted"
	// JobSeenSignal names a Job of the CronJob that the workflow may not know, or whose end or deletion it may not know.
	JobSeenSignal = "job-seen"
	// PodsSignal reports what has become of Pods.
	PodsSignal = "pods"
)

// CronJobSpec brings a CronJob's scheduling fields to its workflow, as a reason to look at the object where they differ from
// those that are known or are of another UID. Those that are known make the workflow write its status anew and look at the clock.
type CronJobSpec struct {
	CronJob ObjectReference `json:"cronJob"`
	Spec    schedule.Spec   `json:"spec"`
	// Overdue is set by the bridge's watchdog: the next run's time has passed without a run.
	Overdue bool `json:"overdue,omitempty"`
}

// JobSpec brings a Job's spec to its workflow. A workflow of another UID ends its tracking and starts over with it.
type JobSpec struct {
	Input JobInput `json:"input"`
}

// Deleted says that the object with this UID is gone.
type Deleted struct {
	UID string `json:"uid"`
}

// JobClosing is what a CronJob's workflow reads of the result of a Job's workflow (job.Result),
// which names evidence, too. Anybody who may write to Temporal may have completed that one.
type JobClosing struct {
	UID            string      `json:"uid"`
	Outcome        job.Outcome `json:"outcome"`
	Reason         string      `json:"reason,omitempty"`
	Why            string      `json:"why,omitempty"`
	StartTime      time.Time   `json:"startTime,omitzero"`
	CompletionTime time.Time   `json:"completionTime,omitzero"`
	Failed         int32       `json:"failed"`
}

// JobSeen asks a CronJob's workflow to look at a Job.
type JobSeen struct {
	CronJobUID string `json:"cronJobUID"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// PodFacts reports Pods of one Job; at most 500 facts.
type PodFacts struct {
	JobUID string        `json:"job"`
	Facts  []job.PodFact `json:"pods,omitempty"`
	// Differ: the watch sees other Pods than the Job's status counts, so the workflow is to list them.
	Differ bool `json:"differ,omitempty"`
}

// MaxFactsPerSignal bounds PodFacts.Facts (upstream's MaxUncountedPods).
const MaxFactsPerSignal = 500
