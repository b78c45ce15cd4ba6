package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

// Spec holds the fields of a CronJobSpec that decide when runs start and which are kept. It holds no Job template: what
// runs is read from the CronJob object by the activity that creates the Job, never from Temporal.
type Spec struct {
	// Generation is the CronJob's metadata.generation the other fields were read at.
	Generation int64 `json:"generation"`
	// These are the fields of the CronJob's spec by the same name, with the API's defaults. Of those that have none, nil and
	// 0 stand for one that is not set. CatchUp is empty for latest.
	Schedule                   string                    `json:"schedule"`
	TimeZone                   *string                   `json:"timeZone,omitempty"`
	StartingDeadlineSeconds    *int64                    `json:"startingDeadlineSeconds,omitempty"`
	ConcurrencyPolicy          batchv1.ConcurrencyPolicy `json:"concurrencyPolicy"`
	Suspend                    bool                      `json:"suspend,omitempty"`
	SuccessfulJobsHistoryLimit int32                     `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     int32                     `json:"failedJobsHistoryLimit"`
	MaxConcurrent              int32                     `json:"maxConcurrent,omitempty"`
	QueueLimit                 int32                     `json:"queueLimit,omitempty"`
	CatchUp                    ostinatov1.CatchUpPolicy  `json:"catchUp,omitempty"`
	CatchUpWindowSeconds       *int64                    `json:"catchUpWindowSeconds,omitempty"`
	CatchUpLimit               int32                     `json:"catchUpLimit,omitempty"`
	PauseAfterFailures         int32                     `json:"pauseAfterFailures,omitempty"`
	// Deleting: the CronJob has a deletionTimestamp; only its status is maintained (parity 1.6 step 5).
	Deleting bool `json:"deleting,omitempty"`
}

// SpecOf extracts the Spec of a CronJob, with the API's defaults (parity 1.1).
func SpecOf(cronJob *ostinatov1.CronJob) Spec {
	spec := Spec{
		Generation:                 cronJob.Generation,
		Schedule:                   cronJob.Spec.Schedule,
		TimeZone:                   cronJob.Spec.TimeZone,
		StartingDeadlineSeconds:    cronJob.Spec.StartingDeadlineSeconds,
		ConcurrencyPolicy:          cmp.Or(cronJob.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent),
		Suspend:                    ptr.Deref(cronJob.Spec.Suspend, false),
		SuccessfulJobsHistoryLimit: ptr.Deref(cronJob.Spec.SuccessfulJobsHistoryLimit, 3),
		FailedJobsHistoryLimit:     ptr.Deref(cronJob.Spec.FailedJobsHistoryLimit, 1),
		MaxConcurrent:              ptr.Deref(cronJob.Spec.MaxConcurrent, 0),
		QueueLimit:                 ptr.Deref(cronJob.Spec.QueueLimit, 0),
		CatchUp:                    cronJob.Spec.CatchUp,
		CatchUpWindowSeconds:       cronJob.Spec.CatchUpWindowSeconds,
		CatchUpLimit:               ptr.Deref(cronJob.Spec.CatchUpLimit, 0),
		PauseAfterFailures:         ptr.Deref(cronJob.Spec.PauseAfterFailures, 0),
		Deleting:                   cronJob.DeletionTimestamp != nil,
	}
	if spec.CatchUp == ostinatov1.CatchUpLatest {
		spec.CatchUp = ""
	}
	return spec
}

// Validate reports whether the Spec, which may be forged, can be a CronJob's.
func (s Spec) Validate() error {
	switch {
	case len(s.Schedule) > maxText:
		return fmt.Errorf("schedule of %d bytes, want %d at most", len(s.Schedule), maxText)
	case s.TimeZone != nil && len(*s.TimeZone) > maxText:
		return fmt.Errorf("time zone of %d bytes, want %d at most", len(*s.TimeZone), maxText)
	case s.StartingDeadlineSeconds != nil && *s.StartingDeadlineSeconds < 0:
		return fmt.Errorf("startingDeadlineSeconds is %d, want 0 or more", *s.StartingDeadlineSeconds)
	case s.SuccessfulJobsHistoryLimit < 0 || s.FailedJobsHistoryLimit < 0:
		return fmt.Errorf("history limits are %d and %d, want 0 or more", s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit)
	case s.MaxConcurrent < 0 || s.QueueLimit < 0 || s.CatchUpLimit < 0 || s.PauseAfterFailures < 0:
		return fmt.Errorf("maxConcurrent, queueLimit, catchUpLimit and pauseAfterFailures are %d, %d, %d and %d, want 0 or more",
			s.MaxConcurrent, s.QueueLimit, s.CatchUpLimit, s.PauseAfterFailures)
	case s.CatchUpWindowSeconds != nil && *s.CatchUpWindowSeconds < 0:
		return fmt.Errorf("catchUpWindowSeconds is %d, want 0 or more", *s.CatchUpWindowSeconds)
	case !slices.Contains([]ostinatov1.CatchUpPolicy{"", ostinatov1.CatchUpNone, ostinatov1.CatchUpLatest, ostinatov1.CatchUpAll}, s.CatchUp):
		return fmt.Errorf("catchUp is %.70q", s.CatchUp)
	case !slices.Contains(policies, s.ConcurrencyPolicy):
		return fmt.Errorf("concurrencyPolicy is %.70q", s.ConcurrencyPolicy)
	}
	return nil
}

// runsAt reports whether the spec has this schedule and time zone.
func (s Spec) runsAt(schedule string, timeZone *string) bool {
	return s.Schedule == schedule && ptr.Equal(s.TimeZone, timeZone)
}

// Digest returns a short hash of what the CronJob object says. Two Specs of one digest prescribe the same.
//
//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func (s Spec) Digest() string { return digestOf(s) }

//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func digestOf(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Start asks for one run's Job.
type Start struct {
	// Name is the Job's deterministic name.
	Name string `json:"name"`
	// Scheduled is the scheduled time, or that of a trigger, before which nothing is created or replaced.
	Scheduled time.Time `json:"scheduled"`
	// Manual is set for a run that a trigger or a backfill asks for: it does not advance lastScheduleTime.
	Manual bool `json:"manual,omitempty"`
	// Sequence is the trigger's or backfill's number, from which Name is made.
	Sequence int64 `json:"sequence,omitempty"`
	// Backfill is the number of the backfill that the run is of; 0 for none. Name is then made from it and Scheduled.
	Backfill int64 `json:"backfill,omitempty"`
	// Overlap is the trigger's, in place of the CronJob's concurrencyPolicy; empty for that.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
	// Note is the trigger's note, Asked who has sent it, Caller as in a TriggerRequest.
	Note string `json:"note,omitempty"`
	ledger.Asked
	Caller string `json:"caller,omitempty"`
	// Before is when it is too late to create the Job: the starting deadline or the next time; zero for never.
	Before time.Time `json:"before,omitzero"`
	// WhyLate is the reason in the ledger if the run starts late, LateMessage its message.
	WhyLate     string `json:"whyLate,omitempty"`
	LateMessage string `json:"lateMessage,omitempty"`
}

// IsTooLate reports whether the Job may not be created any more: by the plan, or by the startingDeadlineSeconds that the
// CronJob has, whatever the plan says.
func (s Start) IsTooLate(spec Spec, now time.Time) bool {
	return !s.Before.IsZero() && !now.Before(s.Before) || !s.Manual && tooLate(spec, s.Scheduled, now)
}

// Delete asks to delete a Job in the background. It succeeds if the Job is gone or has another UID.
type Delete struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Replaced is set for a replacement, which must succeed before the next run starts; history clean-up is repeated.
	Replaced bool `json:"replaced,omitempty"`
}

// Run is a Job that a CronJob workflow started or found.
type Run struct {
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	Scheduled time.Time `json:"scheduled"`
	Manual    bool      `json:"manual,omitempty"`
	// Backfill is the number of the backfill that the run is of; 0 for none.
	Backfill int64 `json:"backfill,omitempty"`
	// Started is the Job's creationTimestamp.
	Started time.Time `json:"started,omitzero"`
	// Asked is what the Job says about its maker; it is empty if Ostinato has made it.
	ledger.Asked
	// ResourceVersion is the Job's at creation, for status.active.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Unclear is until when another create of the Job may be carried out, which had no clear answer; zero if there is none. The
	// Job's name keeps it out: the Job is not deleted before.
	Unclear time.Time `json:"unclear,omitzero"`
}
