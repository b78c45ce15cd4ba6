package workflows_test

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// cronJobRequest is what any of the activities about a CronJob is asked for, and cronJobResult what it answers.
type cronJobRequest struct {
	CronJob protocol.ObjectReference
	Digest  string
	Basis   schedule.Basis
	Start   *schedule.Start
	Find    bool
	Deletes []schedule.Delete
	Status  *ostinatov1.CronJobStatus
	Judge   bool
	Events  []event.Event
	Look    []schedule.Run
	All     bool
	// Backfill asks whether the object takes a backfill.
	Backfill  bool
	Suspender schedule.Suspender
}

type cronJobResult struct {
	Gone         bool
	Overtaken    bool
	Behind       bool
	CurrentSpec  *schedule.Spec
	Started      *protocol.StartedJob
	Missing      bool
	GaveUp       bool
	Refused      *protocol.Refusal
	NoBackfill   string
	User         string
	Believes     bool
	Ended        []schedule.Finished
	Running      []schedule.Run
	Children     []protocol.StartedJob
	Created      time.Time
	Found        *ostinatov1.CronJobStatus
	Deleted      []string
	StatusFailed string
	Suspender    string
	Judgement    *schedule.Judgement
}

// asked returns a request as a cronJobRequest; that of another activity is an empty one.
func asked(request any) cronJobRequest {
	switch r := request.(type) {
	case protocol.StartRunRequest:
		return cronJobRequest{
			CronJob: r.CronJob, Digest: r.Digest, Basis: r.Basis, Start: &r.Start, Find: r.Find, Deletes: r.Replace, Status: r.Status, Events: r.Events,
			Suspender: r.Suspender,
		}
	case protocol.WriteStatusRequest:
		return cronJobRequest{
			CronJob: r.CronJob, Digest: r.Digest, Basis: r.Basis, Deletes: r.Prune, Status: r.Status, Judge: r.Judge, Events: r.Events,
			Suspender: r.Suspender,
		}
	case protocol.FindRunsRequest:
		return cronJobRequest{CronJob: r.CronJob, Digest: r.Digest, Basis: r.Basis, Look: r.Look, All: r.All, Backfill: r.Backfill || r.Trigger}
	}
	return cronJobRequest{}
}

// registerCronJobActivities has one function answer for all activities about a CronJob.
func registerCronJobActivities(environment *testsuite.TestWorkflowEnvironment, answer func(context.Context, cronJobRequest) (cronJobResult, error)) {
	register := func(name string, function any) {
		environment.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
	}
	register(protocol.StartRunActivity, func(ctx context.Context, request protocol.StartRunRequest) (protocol.StartRunResult, error) {
		r, err := answer(ctx, asked(request))
		return protocol.StartRunResult{
			Answer:  protocol.Answer{Gone: r.Gone, Overtaken: r.Overtaken, CurrentSpec: r.CurrentSpec},
			Started: r.Started, Refused: r.Refused, Ended: r.Ended, Replaced: r.Deleted,
			StatusLeft: len(r.Ended) > 0, StatusFailed: r.StatusFailed, Missing: r.Missing, GaveUp: r.GaveUp, User: r.User,
			Suspender: r.Suspender,
		}, err
	})
	register(protocol.WriteStatusActivity, func(ctx context.Context, request protocol.WriteStatusRequest) (protocol.WriteStatusResult, error) {
		r, err := answer(ctx, asked(request))
		return protocol.WriteStatusResult{
			Answer: protocol.Answer{Gone: r.Gone, Overtaken: r.Overtaken, CurrentSpec: r.CurrentSpec},
			Pruned: r.Deleted, StatusFailed: r.StatusFailed, Suspender: r.Suspender, Judgement: r.Judgement,
		}, err
	})
	register(protocol.FindRunsActivity, func(ctx context.Context, request protocol.FindRunsRequest) (protocol.FindRunsResult, error) {
		r, err := answer(ctx, asked(request))
		return protocol.FindRunsResult{
			Answer: protocol.Answer{Gone: r.Gone, Overtaken: r.Overtaken, CurrentSpec: r.CurrentSpec},
			Behind: r.Behind, Ended: r.Ended, Running: r.Running, Children: r.Children, Created: r.Created, Status: r.Found, Refused: r.NoBackfill, CallerHeader: r.Believes,
		}, err
	})
}
