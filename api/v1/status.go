package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJobStatus has the fields of batch/v1 CronJobStatus. Its other fields are
// what a durable scheduler knows in addition.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.lastScheduleTime) || has(self.lastScheduleTime) && self.lastScheduleTime >= oldSelf.lastScheduleTime",message="lastScheduleTime never falls: the runs of earlier times would start again"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.revision) || has(self.revision) && self.revision >= oldSelf.revision",message="revision never falls: an older status would take the place of a newer one"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.revision) || !has(self.revision) || self.revision - oldSelf.revision <= 1000000",message="revision counts writes: it rises by 1000000 at most"
type CronJobStatus struct {
	// active lists the Jobs that are running, in the order of their start: the
	// last 1000, if there are more.
	//
	// +optional
	// +listType=atomic
	Active []corev1.ObjectReference `json:"active,omitempty"`

	// activeCount is the number of Jobs that are running.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ActiveCount int32 `json:"activeCount"`

	// lastScheduleTime is the scheduled time of the latest run whose Job was
	// created. Skipped runs and manual runs do not change it.
	//
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// lastSuccessfulTime is the time when a run last completed successfully.
	//
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`

	// observedGeneration is the latest metadata.generation that the workflow has
	// taken over.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// nextScheduleTime is the scheduled time of the next run. It is absent while
	// the CronJob is suspended, and while it has no valid schedule.
	//
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// next is nextScheduleTime, or one word that says why there is none, such as
	// Suspended or UnknownTimeZone. It is InvalidTemplate where the API server would
	// refuse the run, and - if no time is known.
	//
	// +optional
	Next string `json:"next,omitempty"`

	// accountedUntil is the time up to which every scheduled time has an outcome.
	// It is updated only together with other fields of the status.
	//
	// +optional
	AccountedUntil *metav1.Time `json:"accountedUntil,omitempty"`

	// queued is the number of runs that wait for other runs to end.
	//
	// +optional
	Queued int32 `json:"queued,omitempty"`

	// recentRuns lists the outcomes of the latest scheduled times and manual runs,
	// newest first. It has at most ten entries. Successive scheduled times that
	// were not started for the same reason share an entry. A time that was skipped
	// is added when another field of the status is updated.
	//
	// +optional
	// +listType=atomic
	RecentRuns []RecentRun `json:"recentRuns,omitempty"`

	// lastOutcome is the outcome of the newest entry of recentRuns.
	//
	// +optional
	LastOutcome string `json:"lastOutcome,omitempty"`

	// lastResult says how the run that started last has ended: Complete, Failed or
	// Deleted. It is Running until the run ends, and - before the first run.
	// Several failed runs in a row are counted, as in Failed x2.
	//
	// +optional
	LastResult string `json:"lastResult,omitempty"`

	// lastFailureTime is the time when a run last failed.
	//
	// +optional
	LastFailureTime *metav1.Time `json:"lastFailureTime,omitempty"`

	// consecutiveFailures is the number of runs that have failed since a run last
	// completed successfully.
	//
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`

	// medianDurationSeconds is the median of how long the last twenty runs took that
	// completed successfully. It is absent until ten have.
	//
	// +optional
	MedianDurationSeconds int64 `json:"medianDurationSeconds,omitempty"`

	// conditions describe the state of the CronJob. ScheduleValid is False if the
	// schedule or the time zone cannot be used. Suspended is True while no
	// scheduled runs start. TemplateValid is False if the API server would refuse
	// the Job of the next run. Stalled is True if either of them keeps runs from
	// starting. Ready is True if the schedule runs or is suspended, and the
	// workflow is not paused in Temporal.
	// LastRunSucceeded says how the run that ended last has ended.
	// NativeCronJobActive is True while a batch/v1 CronJob of the same name exists
	// and is not suspended. RunStuck is True while no container of a run starts.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// workflow is the Temporal workflow that runs the CronJob.
	//
	// +optional
	Workflow *WorkflowReference `json:"workflow,omitempty"`

	// revision counts the writes of the status by the workflow. A workflow whose own
	// count is lower has an older state, and begins anew from the object.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000
	Revision int64 `json:"revision,omitempty"`

	// planDigest identifies the plan that the workflow wrote this revision for.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	PlanDigest string `json:"planDigest,omitempty"`
}

// RecentRun is the outcome of a scheduled time, of several successive ones, or
// of a manual run.
type RecentRun struct {
	// scheduledTime is the scheduled time, or the first one if the entry stands
	// for several. For a run that was triggered it is the time of the trigger. For
	// a backfilled run it is the scheduled time that is backfilled.
	ScheduledTime metav1.Time `json:"scheduledTime"`
	// until is the last scheduled time. It is set only if the entry stands for
	// several.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// count is the number of scheduled times. It is set only if the entry stands
	// for several. It may be an estimate if there are many.
	//
	// +optional
	Count int64 `json:"count,omitempty"`
	// outcome says what became of the scheduled time.
	// Started: the Job was created at most a minute after its time.
	// StartedLate: the Job was created later, or only after the bridge found the
	// run overdue.
	// Queued: the run waits for other runs to end.
	// SkippedOverlap: other runs were active, or too many runs waited.
	// SkippedDeadline: startingDeadlineSeconds had passed, or catchUp or
	// catchUpWindowSeconds excluded the run.
	// SkippedSuspended: the CronJob was suspended.
	// SkippedSuperseded: something else took its place before it could start.
	// FailedToCreate: the API server refused the Job, or the request for a manual
	// run was refused.
	Outcome string `json:"outcome"`
	// reason is one word that says why the run waits, was late or did not start,
	// such as JobAlreadyActive.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
	// message gives details for people, such as the answer of the API server.
	//
	// +optional
	Message string `json:"message,omitempty"`
	// manual is true for runs that were triggered or backfilled.
	//
	// +optional
	Manual bool `json:"manual,omitempty"`
	// by is the name of the person who asked for a manual run, as claimed.
	//
	// +optional
	By string `json:"by,omitempty"`
	// user is the name of that person as the API server knows it. It is absent where
	// nothing proves it.
	//
	// +optional
	User string `json:"user,omitempty"`
	// through says how a manual run was asked for: by a signal or an update of the
	// workflow, or by a job that a person created.
	//
	// +optional
	Through string `json:"through,omitempty"`
	// changed says in what a manual run is not as the spec prescribes it.
	//
	// +optional
	Changed string `json:"changed,omitempty"`
	// jobName is the name of the Job of the run. It is absent if none was created.
	//
	// +optional
	JobName string `json:"jobName,omitempty"`
	// startTime is the time when the Job was created.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// result says how the run ended: Complete, Failed or Deleted. It is absent
	// until the run ends.
	//
	// +optional
	Result string `json:"result,omitempty"`
	// resultReason says why the run failed, in the words of its container, with
	// the reason of the condition Failed of the Job in brackets, such as
	// "exit 137 OOMKilled (BackoffLimitExceeded)", or Stopped. It is for people. It
	// is Replaced if another run replaced this one.
	//
	// +optional
	ResultReason string `json:"resultReason,omitempty"`
	// stopped says who stopped the run, and why, such as by ada (claimed): it hangs.
	//
	// +optional
	Stopped string `json:"stopped,omitempty"`
	// endTime is the time when the run ended.
	//
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// failedAttempts is the number of Pods of the run that failed. It is set when
	// the run ends.
	//
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`
}

// WorkflowReference names a Temporal workflow.
type WorkflowReference struct {
	// namespace is the Temporal namespace of the workflow.
	Namespace string `json:"namespace"`
	// id is the workflow ID.
	ID string `json:"id"`
}

// Condition types of a CronJob.
const (
	// ConditionScheduleValid is False when the schedule or time zone can't be used.
	ConditionScheduleValid = "ScheduleValid"
	// ConditionSuspended is True while no scheduled run starts. Its message says who suspended the CronJob.
	ConditionSuspended = "Suspended"
	// ConditionTemplateValid is False when the API server refuses the Job of the next run. Each generation is judged
	// once, by a dry run.
	ConditionTemplateValid = "TemplateValid"
	// ConditionReady is True when the schedule of the observed generation runs or is suspended, and its workflow is not
	// paused. Failed runs do not change it.
	ConditionReady = "Ready"
	// ConditionStalled is True when the schedule, time zone or template can't be used, which only an edit ends, or when others write the status.
	ConditionStalled = "Stalled"
	// ConditionLastRunSucceeded says how the run that ended last has ended. It is absent until a run has ended.
	ConditionLastRunSucceeded = "LastRunSucceeded"
	// ConditionNativeCronJobActive is True while a batch/v1 CronJob of the same name exists and is not suspended. It
	// is absent until that has been so.
	ConditionNativeCronJobActive = "NativeCronJobActive"
	// ConditionRunStuck is True while a run waits for its containers to start for longer than spec.stuckAfterSeconds. Its
	// message names the Job and says what keeps it. It is absent until that has been so.
	ConditionRunStuck = "RunStuck"
	// ConditionWorkflowPaused is True while the CronJob's workflow is paused in Temporal, or pinned to a build of the
	// worker. It is absent until that has been so.
	ConditionWorkflowPaused = "WorkflowPaused"
)
