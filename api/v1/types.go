package v1

import (
	batchv1 "k8s.io/api/batch/v1"
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

	// stuckAfterSeconds is the number of seconds after which a run is stuck none of
	// whose containers has started. The condition RunStuck and an event say so. By
	// default it is 120 if there is an error, such as an image that cannot be
	// pulled, 300 if no node takes the Pod, and 900 if there is no error. Without
	// an error there is no event.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	StuckAfterSeconds *int64 `json:"stuckAfterSeconds,omitempty"`

	// pendingDeadlineSeconds is the number of seconds within which each container of
	// a Pod has to start once it may: an init container has to end before others may.
	// If one has not, the Pod counts as failed and is deleted. Each run's Job gets it
	// as the annotation ostinato.dev/pending-deadline-seconds. By default containers
	// may wait for ever.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	PendingDeadlineSeconds *int64 `json:"pendingDeadlineSeconds,omitempty"`

	// evidence says what is kept of a run beside what is kept of each Pod that fails.
	//
	// +optional
	Evidence Evidence `json:"evidence,omitzero"`

	// expectedDurationSeconds is the number of seconds that a run may take. A run that
	// takes longer goes on, and is shown as long. The default is three times
	// status.medianDurationSeconds, and a minute at least.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	ExpectedDurationSeconds *int64 `json:"expectedDurationSeconds,omitempty"`

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

// Evidence says what is kept of runs.
type Evidence struct {
	// successes is true to keep the end of the log of Pods that succeeded, too, of
	// five of a Job at most. Each run's Job gets it as the annotation
	// ostinato.dev/evidence-successes. By default nothing is kept of them.
	//
	// +optional
	Successes bool `json:"successes,omitempty"`
}
