package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJob runs Jobs on a schedule, as batch/v1 CronJob does, by a durable
// Temporal workflow.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cronjobs,singular=cronjob,scope=Namespaced,categories=all
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Timezone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active[*].name`
// +kubebuilder:printcolumn:name="Last Schedule",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Last Outcome",type=string,JSONPath=`.status.lastOutcome`
// +kubebuilder:printcolumn:name="Next Run",type=string,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="name must be no more than 52 characters: the Jobs' names add 11"
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec CronJobSpec `json:"spec"`
	// +optional
	Status CronJobStatus `json:"status,omitempty,omitzero"`
}

// CronJobList is a list of CronJobs.
//
// +kubebuilder:object:root=true
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CronJob `json:"items"`
}

// QueueConcurrent has a run that is due while another is active wait its turn.
const QueueConcurrent batchv1.ConcurrencyPolicy = "Queue"

// CatchUpPolicy says which missed scheduled times get their runs afterwards.
type CatchUpPolicy string

// Values of CatchUpPolicy; empty is CatchUpLatest.
const (
	CatchUpNone   CatchUpPolicy = "none"
	CatchUpLatest CatchUpPolicy = "latest"
	CatchUpAll    CatchUpPolicy = "all"
)

// CronJobSpec has the fields of batch/v1 CronJobSpec, with the same defaults, and some that
// change nothing where they are not set.
//
// +kubebuilder:validation:XValidation:rule="!self.schedule.contains('TZ')",message="schedule must not set a time zone with TZ or CRON_TZ: use timeZone"
// +kubebuilder:validation:XValidation:rule="!has(self.queueLimit) || has(self.concurrencyPolicy) && self.concurrencyPolicy == 'Queue'",message="queueLimit needs concurrencyPolicy Queue",fieldPath=".queueLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.catchUpLimit) || has(self.catchUp) && self.catchUp == 'all'",message="catchUpLimit needs catchUp all",fieldPath=".catchUpLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.catchUpWindowSeconds) || !has(self.catchUp) || self.catchUp != 'none'",message="catchUpWindowSeconds has no meaning where catchUp is none",fieldPath=".catchUpWindowSeconds"
// +kubebuilder:validation:XValidation:rule="!has(self.catchUp) || self.catchUp != 'all' || !has(self.concurrencyPolicy) || self.concurrencyPolicy != 'Replace'",message="catchUp all can't go with concurrencyPolicy Replace: each run would be replaced by the next",fieldPath=".catchUp"
type CronJobSpec struct {
	// Schedule in cron format: five fields, a descriptor such as @daily, or "@every <duration>".
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Schedule string `json:"schedule"`

	// TimeZone is an IANA name; unset means the zone of the worker process.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'local'",message="timeZone must be an explicit IANA name, not Local"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z._0-9+][A-Za-z.\\\\-_0-9+]{0,13}(/[A-Za-z._0-9+][A-Za-z.\\\\-_0-9+]{0,13})*$') && !self.split('/').exists(part, part == '.' || part == '..')",message="timeZone must be an IANA name such as Europe/Paris"
	TimeZone *string `json:"timeZone,omitempty"`

	// StartingDeadlineSeconds is how late a run may start; a run that is later is missed.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// ConcurrencyPolicy says what happens when a run is due while another is active.
	//
	// +optional
	// +kubebuilder:default=Allow
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace;Queue
	ConcurrencyPolicy batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// MaxConcurrent is how many runs may be active at once: by default any number under
	// Allow, and 1 under Forbid, Replace and Queue. Where so many are, Allow and Forbid
	// hold the run back, Replace deletes the oldest, and Queue has the run wait its turn.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`

	// QueueLimit is how many runs may wait under concurrencyPolicy Queue, 10 by default. Of
	// more the oldest is skipped.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	QueueLimit *int32 `json:"queueLimit,omitempty"`

	// CatchUp says which of the scheduled times that passed while nothing could start, in
	// an outage or a suspension, get their runs afterwards: none, the latest as batch/v1
	// has it, or all of them in their order.
	//
	// +optional
	// +kubebuilder:validation:Enum=none;latest;all
	CatchUp CatchUpPolicy `json:"catchUp,omitempty"`

	// CatchUpWindowSeconds is how long ago a scheduled time may have passed to be caught
	// up; any time ago by default.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	CatchUpWindowSeconds *int64 `json:"catchUpWindowSeconds,omitempty"`

	// CatchUpLimit is how many runs are caught up where catchUp is all, the latest ones;
	// 100 by default.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	CatchUpLimit *int32 `json:"catchUpLimit,omitempty"`

	// PauseAfterFailures suspends the CronJob when so many runs in a row have failed. It
	// goes on when suspend is set to false.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	PauseAfterFailures *int32 `json:"pauseAfterFailures,omitempty"`

	// Suspend stops new runs; those active go on.
	//
	// +optional
	// +kubebuilder:default=false
	Suspend *bool `json:"suspend,omitempty"`

	// ScheduledTimeVariable is the name of an environment variable that each run's containers
	// and init containers get: the run's scheduled time in UTC, as 2006-01-02T15:04:05Z. A
	// container that has a variable of that name keeps its own. Unset means none.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	ScheduledTimeVariable *string `json:"scheduledTimeVariable,omitempty"`

	// JobTemplate is the Job that a run creates.
	//
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`

	// SuccessfulJobsHistoryLimit is how many successful finished Jobs are kept.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`

	// FailedJobsHistoryLimit is how many failed finished Jobs are kept.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
}

// CronJobStatus has the fields of batch/v1 CronJobStatus and what a durable
// scheduler can say in addition.
type CronJobStatus struct {
	// Active lists the running Jobs in start order.
	//
	// +optional
	// +listType=atomic
	Active []corev1.ObjectReference `json:"active,omitempty"`

	// LastScheduleTime is the scheduled time of the last run that was created.
	//
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// LastSuccessfulTime is when a run last completed successfully.
	//
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`

	// ObservedGeneration is the generation that the workflow took over.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// NextScheduleTime is the scheduled time of the next run; absent while
	// suspended or without a valid schedule.
	//
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// AccountedUntil is the time up to which every scheduled time has its outcome.
	//
	// +optional
	AccountedUntil *metav1.Time `json:"accountedUntil,omitempty"`

	// Queued is how many runs wait for others to end.
	//
	// +optional
	Queued int32 `json:"queued,omitempty"`

	// RecentRuns says of the last ten scheduled times and triggers, or stretches of times
	// that share it, what became of them, newest first. It comes up to date with the other
	// fields: a time that was skipped since is in it with the next write.
	//
	// +optional
	// +listType=atomic
	RecentRuns []RecentRun `json:"recentRuns,omitempty"`

	// LastOutcome is the outcome of the first of recentRuns.
	//
	// +optional
	LastOutcome string `json:"lastOutcome,omitempty"`

	// LastFailureTime is when a run last ended as Failed.
	//
	// +optional
	LastFailureTime *metav1.Time `json:"lastFailureTime,omitempty"`

	// ConsecutiveFailures is how many runs have failed since one was Complete.
	//
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`

	// Conditions are ScheduleValid, Suspended and TemplateValid.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// Workflow says where to find the CronJob's workflow.
	//
	// +optional
	Workflow *WorkflowReference `json:"workflow,omitempty"`
}

// RecentRun says what became of a scheduled time, of a stretch of them, or of a trigger.
type RecentRun struct {
	// ScheduledTime is the scheduled time; of a stretch the first; of a manual run the time
	// of the trigger, or that which a backfill runs.
	ScheduledTime metav1.Time `json:"scheduledTime"`
	// Until is the last scheduled time of a stretch.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// Count is the number of scheduled times of a stretch.
	//
	// +optional
	Count int64 `json:"count,omitempty"`
	// Outcome is Started, StartedLate, SkippedOverlap, SkippedDeadline, SkippedSuspended,
	// SkippedSuperseded, FailedToCreate or, until it is one of these, Queued.
	Outcome string `json:"outcome"`
	// Reason says in a word why it was late or did not start.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message says more, such as the answer of the API server.
	//
	// +optional
	Message string `json:"message,omitempty"`
	// Manual is set for a trigger and for what is backfilled.
	//
	// +optional
	Manual bool `json:"manual,omitempty"`
	// JobName is the run's Job, StartTime when that was created.
	//
	// +optional
	JobName string `json:"jobName,omitempty"`
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// Result is Complete, Failed or Deleted; absent while the run goes on.
	//
	// +optional
	Result string `json:"result,omitempty"`
	// ResultReason is that of the Job's condition Failed, or Replaced.
	//
	// +optional
	ResultReason string `json:"resultReason,omitempty"`
	// EndTime is when the run ended.
	//
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// FailedAttempts is the number of the run's Pods that failed.
	//
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`
}

// WorkflowReference names a Temporal workflow.
type WorkflowReference struct {
	// Namespace is the Temporal namespace.
	Namespace string `json:"namespace"`
	// ID is the workflow ID.
	ID string `json:"id"`
}

// Condition types of a CronJob.
const (
	// ConditionScheduleValid is False when the schedule or time zone can't be used.
	ConditionScheduleValid = "ScheduleValid"
	// ConditionSuspended is True while no new runs start.
	ConditionSuspended = "Suspended"
	// ConditionTemplateValid is False when the API server would refuse the Job of the
	// next run, as a dry run at each new generation shows.
	ConditionTemplateValid = "TemplateValid"
)
