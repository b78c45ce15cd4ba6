package activities_test

import (
	"testing"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// moved is the CronJob hello after a move, whose last run was that of a time.
func moved(last time.Time) *ostinatov1.CronJob {
	cronJob := helloCronJob()
	cronJob.Annotations = map[string]string{names.LastScheduleTimeAnnotation: last.Format(time.RFC3339)}
	return cronJob
}

// The workflow of a CronJob that was moved counts from the last run before the move.
func TestTheLastRunBeforeAMoveIsFound(t *testing.T) {
	last := scheduled.Add(-time.Hour)
	s := newStage(t, nil, []*ostinatov1.CronJob{moved(last)})
	result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, All: true})
	if result.Status == nil || !ledger.Time(result.Status.LastScheduleTime).Equal(last) {
		t.Errorf("status %+v", result.Status)
	}
	if s.cronJobs.Stored(namespace, "hello").Status.LastScheduleTime != nil {
		t.Error("the object has another status")
	}
}

// A start of a time that ran before the move creates nothing, although the status does not know that run.
func TestARunBeforeAMoveIsNotStartedAgain(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{moved(scheduled)})
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	if result.Started == nil || result.Started.Run.UID != "" || s.jobExists(start().Name) {
		t.Errorf("result %+v, writes %v", result, s.writes())
	}
}
