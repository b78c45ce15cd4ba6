package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The comments of types and fields are what kubectl explain prints. It keeps their line
// breaks and breaks lines after 76 characters.

// CronJob runs Jobs on a schedule, as a batch/v1 CronJob does. A durable
// Temporal workflow starts the runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cronjobs,singular=cronjob,scope=Namespaced,shortName=ocj,categories=all
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Timezone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeCount`
// +kubebuilder:printcolumn:name="Last Run",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.lastResult`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.next`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.concurrencyPolicy`,priority=1
// +kubebuilder:printcolumn:name="Queue",type=integer,JSONPath=`.spec.queueLimit`,priority=1
// +kubebuilder:printcolumn:name="Backlog",type=integer,JSONPath=`.status.queued`,priority=1
// +kubebuilder:printcolumn:name="Failures",type=integer,JSONPath=`.status.consecutiveFailures`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="name must be no more than 52 characters: the Jobs' names add 11"
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what runs, and when.
	//
	// +required
	Spec CronJobSpec `json:"spec"`
	// status says what ran, what runs, and what comes next. Ostinato writes it.
	//
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

// QueueConcurrent is the policy under which a run that is due waits its turn while as many
// runs are active as may be.
const QueueConcurrent batchv1.ConcurrencyPolicy = "Queue"

// CatchUpPolicy says which missed scheduled times get their runs afterwards.
type CatchUpPolicy string

// Values of CatchUpPolicy; empty is CatchUpLatest.
const (
	CatchUpNone   CatchUpPolicy = "none"
	CatchUpLatest CatchUpPolicy = "latest"
	CatchUpAll    CatchUpPolicy = "all"
)

// CronJobSpec has the fields of batch/v1 CronJobSpec, with the same defaults.
// Its other fields change nothing unless they are set.
//
// +kubebuilder:validation:XValidation:rule="!self.schedule.contains('TZ')",message="schedule must not set a time zone with TZ or CRON_TZ: use timeZone"
// +kubebuilder:validation:XValidation:rule="!has(self.queueLimit) || has(self.concurrencyPolicy) && self.concurrencyPolicy == 'Queue'",message="queueLimit needs concurrencyPolicy Queue",fieldPath=".queueLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.catchUpLimit) || has(self.catchUp) && self.catchUp == 'all'",message="catchUpLimit needs catchUp all",fieldPath=".catchUpLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.catchUpWindowSeconds) || !has(self.catchUp) || self.catchUp != 'none'",message="catchUpWindowSeconds has no meaning where catchUp is none",fieldPath=".catchUpWindowSeconds"
// +kubebuilder:validation:XValidation:rule="!has(self.catchUp) || self.catchUp != 'all' || !has(self.concurrencyPolicy) || self.concurrencyPolicy != 'Replace'",message="catchUp all can't go with concurrencyPolicy Replace: each run would be replaced by the next",fieldPath=".catchUp"
type CronJobSpec struct {
	// schedule says when runs are due, in cron format. It has five fields: minute,
	// hour, day of the month, month and day of the week. It may also be a
	// descriptor such as @daily, or @every with a duration, such as @every 1h30m.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Schedule string `json:"schedule"`

	// timeZone is the time zone of the schedule. It is an IANA name such as
	// Europe/Paris. The default is the time zone of the worker process.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'local'",message="timeZone must be an explicit IANA name, not Local"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z._0-9+][A-Za-z.\\\\-_0-9+]{0,13}(/[A-Za-z._0-9+][A-Za-z.\\\\-_0-9+]{0,13})*$') && !self.split('/').exists(part, part == '.' || part == '..')",message="timeZone must be an IANA name such as Europe/Paris"
	TimeZone *string `json:"timeZone,omitempty"`

	// startingDeadlineSeconds is the number of seconds after its scheduled time
	// within which a run may start. A run that cannot start by then is skipped,
	// whatever delayed it. By default there is no deadline.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// concurrencyPolicy says what happens to a run that is due while maxConcurrent
	// runs are active. The default is Allow.
	// Allow, Forbid: the run is held back until an active run ends. It is skipped
	// if the next scheduled time comes first.
	// Replace: the oldest active run is deleted.
	// Queue: the run waits its turn.
	//
	// +optional
	// +kubebuilder:default=Allow
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace;Queue
	ConcurrencyPolicy batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// maxConcurrent is the number of runs that may be active at the same time.
	// concurrencyPolicy says what happens to a run beyond that number. By default
	// any number may be active if concurrencyPolicy is Allow, and otherwise 1.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`

	// queueLimit is the number of runs that may wait. If more wait, the oldest of
	// them is skipped. Missed runs that catchUp starts do not count. It needs
	// concurrencyPolicy Queue. The default is 10.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	QueueLimit *int32 `json:"queueLimit,omitempty"`

	// catchUp says which missed scheduled times still get their runs. A scheduled
	// time is missed if it passed while nothing could start, in an outage or a
	// suspension. The default is latest.
	// none: no missed time gets its run.
	// latest: the latest missed time gets its run, as with batch/v1.
	// all: every missed time gets its run, the oldest first, up to catchUpLimit.
	// It cannot be combined with concurrencyPolicy Replace.
	//
	// +optional
	// +kubebuilder:validation:Enum=none;latest;all
	CatchUp CatchUpPolicy `json:"catchUp,omitempty"`

	// catchUpWindowSeconds is the age in seconds up to which a missed scheduled
	// time still gets its run. It cannot be combined with catchUp none. By default
	// there is no such limit.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	CatchUpWindowSeconds *int64 `json:"catchUpWindowSeconds,omitempty"`

	// catchUpLimit is the number of missed scheduled times that get their runs. If
	// more were missed, the latest ones get theirs. It needs catchUp all. The
	// default is 100.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	CatchUpLimit *int32 `json:"catchUpLimit,omitempty"`

	// pauseAfterFailures is the number of failed runs in a row after which the
	// CronJob is suspended. To resume it, set suspend to false: the count then
	// starts again. By default failed runs do not suspend the CronJob.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	PauseAfterFailures *int32 `json:"pauseAfterFailures,omitempty"`

	// suspend stops scheduled runs from starting. Active runs continue, and manual
	// runs can still start. The default is false.
	//
	// +optional
	// +kubebuilder:default=false
	Suspend *bool `json:"suspend,omitempty"`

	// scheduledTimeVariable is the name of an environment variable. Each container
	// and init container of a run gets it. Its value is the scheduled time of the
	// run in UTC, in the form 2006-01-02T15:04:05Z. A container that sets a
	// variable of that name itself keeps its own value. By default no variable is
	// set.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	ScheduledTimeVariable *string `json:"scheduledTimeVariable,omitempty"`

	// jobTemplate describes the Job that each run creates. Its fields are those of
	// the job template of batch/v1.
	//
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`

	// successfulJobsHistoryLimit is the number of successful finished Jobs that
	// are kept. If it is 0, none are kept. The default is 3.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`

	// failedJobsHistoryLimit is the number of failed finished Jobs that are kept.
	// If it is 0, none are kept. The default is 1.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
}

// CronJobStatus has the fields of batch/v1 CronJobStatus. Its other fields are
// what a durable scheduler knows in addition.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.lastScheduleTime) || has(self.lastScheduleTime) && self.lastScheduleTime >= oldSelf.lastScheduleTime",message="lastScheduleTime never falls: the runs of earlier times would start again"
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

	// conditions describe the state of the CronJob. ScheduleValid is False if the
	// schedule or the time zone cannot be used. Suspended is True while no
	// scheduled runs start. TemplateValid is False if the API server would refuse
	// the Job of the next run. Stalled is True if either of them keeps runs from
	// starting. Ready is True if the schedule runs or is suspended.
	// LastRunSucceeded says how the run that ended last has ended.
	// NativeCronJobActive is True while a batch/v1 CronJob of the same name exists
	// and is not suspended.
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
	// through says how a manual run was asked for: by a signal or an update of the
	// workflow, or by a job that somebody created.
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
	// resultReason is the reason of the condition Failed of the Job, such as
	// BackoffLimitExceeded. It is Replaced if another run replaced this one.
	//
	// +optional
	ResultReason string `json:"resultReason,omitempty"`
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
	// ConditionReady is True when the schedule of the observed generation runs or is suspended. Failed runs do not
	// change it.
	ConditionReady = "Ready"
	// ConditionStalled is True when only an edit helps: the schedule, time zone or template can't be used.
	ConditionStalled = "Stalled"
	// ConditionLastRunSucceeded says how the run that ended last has ended. It is absent until a run has ended.
	ConditionLastRunSucceeded = "LastRunSucceeded"
	// ConditionNativeCronJobActive is True while a batch/v1 CronJob of the same name exists and is not suspended. It
	// is absent until that has been so.
	ConditionNativeCronJobActive = "NativeCronJobActive"
	// ConditionWorkflowPaused is True while somebody has paused the CronJob's workflow in Temporal, or pinned it to a
	// build of the worker. It is absent until that has been so.
	ConditionWorkflowPaused = "WorkflowPaused"
)
