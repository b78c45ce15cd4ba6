package activities_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// moved is the CronJob hello as a move makes it some seconds after a scheduled time, with the last run noted at a time.
func moved(last, when time.Time) *ostinatov1.CronJob {
	cronJob := helloCronJob()
	cronJob.CreationTimestamp = metav1.NewTime(scheduled.Add(10 * time.Second))
	cronJob.Annotations = map[string]string{names.LastScheduleTimeAnnotation: schedule.NoteLastRun(last, when)}
	return cronJob
}

// The workflow of a CronJob that was moved counts from the last run before the move. One that was made from the same manifest on
// another day counts from its creation.
func TestTheLastRunBeforeAMoveIsFound(t *testing.T) {
	last := scheduled.Add(-24 * time.Hour)
	for name, test := range map[string]struct{ when, want time.Time }{
		"the move":    {scheduled.Add(9 * time.Second), last},
		"another day": {last.Add(9 * time.Second), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{moved(last, test.when)})
			result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, All: true})
			if result.Status == nil || !ledger.Time(result.Status.LastScheduleTime).Equal(test.want) {
				t.Errorf("status %+v", result.Status)
			}
			if s.cronJobs.Stored(namespace, "hello").Status.LastScheduleTime != nil {
				t.Error("the object has another status")
			}
		})
	}
}

// A start of a time that ran before the move creates nothing, although the status does not know that run.
func TestARunBeforeAMoveIsNotStartedAgain(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{moved(scheduled, scheduled.Add(9*time.Second))})
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed || s.jobExists(start().Name) {
		t.Errorf("result %+v, writes %v", result, s.writes())
	}
}
