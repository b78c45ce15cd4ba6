package protocol

import (
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// The requests about a CronJob carry Digest, schedule.Spec.Digest of the spec that was planned with. If the
// CronJob's spec has another one, nothing is done and the answer is CurrentSpec. Gone answers that the CronJob
// does not exist or has another UID. Basis is the status that was planned with: if the CronJob has a later one, nothing is
// done and the answer is Overtaken. Every step is idempotent, so the whole may be repeated.

// Answer says why nothing is done; it is empty otherwise.
type Answer struct {
	Gone        bool           `json:"gone,omitempty"`
	CurrentSpec *schedule.Spec `json:"currentSpec,omitempty"`
	Overtaken   bool           `json:"overtaken,omitempty"`
}

// StartRunRequest starts one run. Where an earlier attempt has made the Job, Started answers in place of CurrentSpec.
type StartRunRequest struct {
	CronJob ObjectReference `json:"cronJob"`
	Digest  string          `json:"digest,omitempty"`
	Basis   schedule.Basis  `json:"basis,omitzero"`
	// Find asks only whether the Job of an earlier request is there.
	Find bool `json:"find,omitempty"`
	// Start is the run, which is held until its time, before any write. Its Job is created from the object's template.
	Start schedule.Start `json:"start"`
	// Replace are the runs whose place it takes: they are deleted first.
	Replace []schedule.Delete `json:"replace,omitempty"`
	// Status is written when the run was started, with the run in it (schedule.StatusStarted and
	// StatusRecorded). Status.Workflow is filled in by the activity.
	Status *ostinatov1.CronJobStatus `json:"status,omitempty"`
	// Suspender is as in a WriteStatusRequest.
	Suspender schedule.Suspender `json:"suspender,omitzero"`
	// StatusUntil is when that write is given up at the latest, since another run is to start; zero where none is known.
	StatusUntil time.Time `json:"statusUntil,omitzero"`
	// Events are emitted after the writes, also when the run was refused.
	Events []event.Event `json:"events,omitempty"`
}

// StartRunResult has exactly one of Gone, CurrentSpec, Overtaken, Started, Refused, Unclear, GaveUp and Missing.
type StartRunResult struct {
	Answer
	// Started is the run's Job, new or an earlier attempt's.
	Started *StartedJob `json:"started,omitempty"`
	// Refused says why there is no Job. The Event was emitted.
	Refused *Refusal `json:"refused,omitempty"`
	// User is who has asked for the run, if the worker believes the start's Caller.
	User string `json:"user,omitempty"`
	// Sent: beside Started, Refused, CurrentSpec and Overtaken, an earlier attempt may have sent a create, which had no
	// answer.
	Sent bool `json:"sent,omitempty"`
	// Unclear is what the API server said, where that leaves open whether there is a Job. GaveUp says the same of a start that
	// was cancelled; no Event was emitted then. With Unsent no create was sent for the request.
	Unclear string `json:"unclear,omitempty"`
	GaveUp  bool   `json:"gaveUp,omitempty"`
	Unsent  bool   `json:"unsent,omitempty"`
	// Missing answers Find: there is no Job.
	Missing bool `json:"missing,omitempty"`
	// Ended are those of Replace that had finished, which are left.
	Ended []schedule.Finished `json:"ended,omitempty"`
	// Replaced names those of Replace that were deleted or already gone.
	Replaced []string `json:"replaced,omitempty"`
	// StatusLeft says that the status was not to be written, since it is to be planned anew.
	StatusLeft bool `json:"statusLeft,omitempty"`
	// StatusFailed is why the status was not written; the Event was emitted where the API server has answered. Revision is
	// that of the status that was written; 0 where none was.
	StatusFailed string `json:"statusFailed,omitempty"`
	Revision     int64  `json:"revision,omitempty"`
	// Suspender says who has suspended the CronJob, or resumed it if that status is the first to say so; empty where nothing tells.
	Suspender string `json:"suspender,omitempty"`
}

// WriteStatusRequest writes what a CronJob's workflow knows, and prunes the history, in the order of its fields.
type WriteStatusRequest struct {
	CronJob ObjectReference `json:"cronJob"`
	Digest  string          `json:"digest,omitempty"`
	Basis   schedule.Basis  `json:"basis,omitzero"`
	// Judge asks for a dry run of the next run's Job, which the activity puts into Status with schedule.StatusJudged.
	Judge bool `json:"judge,omitempty"`
	// Status is applied; nil leaves it as it is. Status.Workflow is filled in by the activity.
	Status *ostinatov1.CronJobStatus `json:"status,omitempty"`
	// Suspender is who has suspended the CronJob by signal, as SetSuspend has answered; it counts if the worker believes names.CallerHeader.
	Suspender schedule.Suspender `json:"suspender,omitzero"`
	// Prune are Jobs that fall out of the history limits. That one can't be deleted is no error.
	Prune []schedule.Delete `json:"prune,omitempty"`
	// Events are emitted after the writes.
	Events []event.Event `json:"events,omitempty"`
}

// WriteStatusResult reports what a WriteStatusRequest did.
type WriteStatusResult struct {
	Answer
	// Judgement is of the template, where it was asked for.
	Judgement *schedule.Judgement `json:"judgement,omitempty"`
	// StatusFailed is why the status was not written; the Event was emitted where the API server has answered.
	// Revision is that of the status that was written; 0 where none was.
	StatusFailed string `json:"statusFailed,omitempty"`
	Revision     int64  `json:"revision,omitempty"`
	// Suspender says who has suspended the CronJob, or resumed it if that status is the first to say so; empty where nothing tells.
	Suspender string `json:"suspender,omitempty"`
	// Pruned names the Jobs that were deleted or already gone.
	Pruned []string `json:"pruned,omitempty"`
}

// FindRunsRequest looks up Jobs of a CronJob, also if it was edited. Nothing is written.
type FindRunsRequest struct {
	CronJob ObjectReference `json:"cronJob"`
	Digest  string          `json:"digest,omitempty"`
	// Basis is not compared where All reads everything anew.
	Basis schedule.Basis `json:"basis,omitzero"`
	// Look are runs that are said to have started or ended.
	Look []schedule.Run `json:"look,omitempty"`
	// All looks up all Jobs that the CronJob controls, its status, and when it was created.
	All bool `json:"all,omitempty"`
	// Reset says that Temporal has begun the workflow again, and that this is the first such read since. The answer repeats it: in a
	// workflow that is reset later, to after it, the history tells which of the two was so.
	Reset bool `json:"reset,omitempty"`
	// Backfill asks whether the CronJob takes a backfill, and nothing else.
	Backfill bool `json:"backfill,omitempty"`
	// Trigger asks whether it takes triggers, and nothing else.
	Trigger bool `json:"trigger,omitempty"`
}

// FindRunsResult says what there is.
type FindRunsResult struct {
	// Counts: what people have asked for and waits is part of the backlog that the status says. Where it is false, a worker has answered
	// that did not count it, and the history goes on as it was.
	Counts bool `json:"counts,omitempty"`
	Answer
	// Behind: the object's status is of an earlier state than the basis, since etcd was restored.
	Behind bool `json:"behind,omitempty"`
	// Reset is the request's.
	Reset bool `json:"reset,omitempty"`
	// Ended are the runs that have ended: finished, or gone.
	Ended []schedule.Finished `json:"ended,omitempty"`
	// Running are those that run.
	Running []schedule.Run `json:"running,omitempty"`
	// Children are those whose Job workflow the CronJob's starts, if it does not know them yet.
	Children []StartedJob `json:"children,omitempty"`
	// Created is the CronJob's creationTimestamp and Status its status, where All asks for them.
	Created time.Time                 `json:"created,omitzero"`
	Status  *ostinatov1.CronJobStatus `json:"status,omitempty"`
	// Refused is why the CronJob takes no backfill, where Backfill asks; empty if it does.
	Refused string `json:"refused,omitempty"`
	// CallerHeader says that the worker believes names.CallerHeader.
	CallerHeader bool `json:"callerHeader,omitempty"`
}

// StartedJob is a Job that was created for a run.
type StartedJob struct {
	Run schedule.Run `json:"run"`
	// Spec is the Job's, as stored, for the Job workflow.
	Spec job.Spec `json:"spec"`
	// Managed: spec.managedBy is Ostinato's, so that a Job workflow is to be started.
	Managed bool `json:"managed"`
	// Pods are those that were made with the Job, job.MaxFirst at most, for the Job workflow.
	Pods []job.CreatedPod `json:"pods,omitempty"`
	// Late says that creates of its first Pods had no answer: they may land yet.
	Late bool `json:"late,omitempty"`
}
