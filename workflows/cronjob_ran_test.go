package workflows_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// A run has started and its Job is gone when the activity is repeated, since its answer was lost: it ran, and is not started again.
func TestCronJobARunWhoseJobIsGoneHasStarted(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Start == nil || request.Start.Scheduled.Minute() != 0 {
			return nil, nil
		}
		run := schedule.Run{Name: request.Start.Name, Scheduled: request.Start.Scheduled, Started: request.Start.Scheduled}
		return &cronJobResult{
			Started: &protocol.StartedJob{Run: run}, Ended: []schedule.Finished{{Run: run, Condition: schedule.JobDeleted}},
		}, nil
	}
	k.runUntil(2*time.Minute, cron("* * * * *", forbid))
	expectList(t, "runs", k.scheduled(), "01:00")
	rows := k.ledger().Rows
	first := rows[len(rows)-1]
	if first.Outcome != ledger.Started || first.Result != ledger.Deleted || first.Job == "" {
		t.Errorf("rows %+v", rows)
	}
	if len(k.children) != 1 {
		t.Errorf("%d workflows of runs", len(k.children))
	}
}

// The status lists a run whose Job is gone when the workflow begins: it holds nothing up, and is said to be missing.
func TestCronJobBeginsWithoutTheRunsWhoseJobsAreGone(t *testing.T) {
	k := newCronJobKube(t)
	lost := schedule.Run{Name: "hello-lost", UID: "uid-lost"}
	k.status.Active = []corev1.ObjectReference{{Name: lost.Name, UID: "uid-lost"}}
	k.found = []schedule.Finished{{Run: lost, Condition: schedule.JobDeleted}}
	k.runUntil(time.Minute, cron("* * * * *", forbid))
	expectList(t, "runs", k.scheduled(), "00:00")
	var reasons []string
	for _, said := range k.events {
		reasons = append(reasons, string(said.Reason))
	}
	expectList(t, "Events", reasons, "MissingJob", "SawCompletedJob")
}
