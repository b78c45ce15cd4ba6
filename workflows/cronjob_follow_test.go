package workflows_test

import (
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

// TestCronJobStartsTheWorkflowOfARunBeforeItWritesTheStatus: nothing of a run waits for a
// status.
func TestCronJobStartsTheWorkflowOfARunBeforeItWritesTheStatus(t *testing.T) {
	k := newCronJobKube(t)
	k.judge = func() *schedule.Judgement { return &schedule.Judgement{Generation: 1, At: k.environment.Now()} }
	listed := 0
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Start != nil && request.Status != nil {
			t.Errorf("the start of %s writes a status", request.Start.Name)
		}
		if request.Status == nil || len(request.Status.Active) == 0 {
			return nil, nil
		}
		if listed++; len(k.children) != listed || len(request.Status.RecentRuns) == 0 {
			t.Errorf("status %+v, with %d workflows of runs", request.Status, len(k.children))
		}
		return nil, nil
	}
	k.runUntil(3*time.Minute, cron("* * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00")
	if listed != 3 {
		t.Errorf("%d statuses list a run, want one for each", listed)
	}
}

// TestCronJobWritesTheStatusOfARunWithoutAWorkflow: the Job is another controller's.
func TestCronJobWritesTheStatusOfARunWithoutAWorkflow(t *testing.T) {
	k := newCronJobKube(t)
	k.unmanaged = true
	k.judge = func() *schedule.Judgement { return &schedule.Judgement{Generation: 1, At: k.environment.Now()} }
	k.after(31*time.Second, func() {
		if len(k.status.Active) != 1 {
			t.Errorf("status %+v a second after the start", k.status)
		}
	})
	k.runUntil(45*time.Second, cron("* * * * *", allow))
	if len(k.children) != 0 || len(k.jobs) != 1 {
		t.Errorf("%d Jobs, %d workflows", len(k.jobs), len(k.children))
	}
}

// TestRecordedHistoryHasAStatusThatFollows: what is replayed is known to hold a local activity between the start of a run's
// workflow and its end.
func TestRecordedHistoryHasAStatusThatFollows(t *testing.T) {
	var running, followed bool
	for _, event := range read(t, "testdata/history/cronjob-scheduled.json.gz").GetEvents() {
		switch event.EventType {
		case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
			running = true
		case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
			running = false
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			followed = followed || running && event.GetMarkerRecordedEventAttributes().GetMarkerName() == "LocalActivity"
		}
	}
	if !followed {
		t.Error("no status follows the start of a run")
	}
}
