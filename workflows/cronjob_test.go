package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	allow   = batchv1.AllowConcurrent
	forbid  = batchv1.ForbidConcurrent
	replace = batchv1.ReplaceConcurrent
)

func TestCronJobFiresAndCompletesAgainAndAgain(t *testing.T) {
	k := newCronJobKube(t)
	k.runUntil(5*time.Minute, cron("* * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00", "03:00", "04:00")
	// Two calls at the beginning, two for each start, one for each end, one that finds the
	// object gone.
	if len(k.requests) != 18 {
		t.Errorf("%d calls, want 18", len(k.requests))
	}
	// One timer for each wake, and none is cancelled when a run ends.
	if k.timers-len(k.children) != 6 || k.cancels != 0 {
		t.Errorf("%d timers, %d cancelled", k.timers-len(k.children), k.cancels)
	}
	if len(k.status.Active) != 0 || k.status.ObservedGeneration != 1 || len(k.status.Conditions) != 5 {
		t.Errorf("status: %+v", k.status)
	}
	if last := k.status.LastSuccessfulTime; last == nil || !last.Time.Equal(cronStart.Add(4*time.Minute+50*time.Second)) {
		t.Errorf("last successful: %v", last)
	}
	expectList(t, "events", k.reasons(), "SawCompletedJob", "SawCompletedJob", "SawCompletedJob", "SawCompletedJob", "SawCompletedJob")
	expectList(t, "history beyond the limit", deleted(k), "hello-82050360", "hello-82050361")
	child := k.children[0]
	if child.CronJob != "hello" || child.Job.UID != "job-1" || child.Job.Name != k.jobs[0].Name || !child.Scheduled.Equal(k.jobs[0].Scheduled) {
		t.Errorf("child input: %+v", child)
	}
}

func deleted(k *cronJobKube) []string {
	names := []string{}
	for _, request := range k.requests {
		for _, wanted := range request.Deletes {
			names = append(names, wanted.Name)
		}
	}
	return names
}

func TestCronJobForbidStartsLateAndNeverBeside(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{150 * time.Second, 10 * time.Second}
	k.runUntil(4*time.Minute+20*time.Second, cron("* * * * *", forbid))
	expectList(t, "runs", k.scheduled(), "00:00", "02:00", "03:00")
	if late := k.jobs[1].Started.Sub(k.jobs[1].Scheduled); late != 30*time.Second {
		t.Errorf("the blocked run started %s late, want 30 s: when the first ended", late)
	}
	expectList(t, "events", k.reasons(), "JobAlreadyActive", "JobAlreadyActive", "SawCompletedJob", "SawCompletedJob", "SawCompletedJob")
}

func TestCronJobReplaceDeletesTheRunningJobFirst(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{100 * time.Second}
	k.ends = func(input protocol.JobInput) (job.Result, error) {
		return job.Result{UID: input.Job.UID, Outcome: job.Deleted}, nil
	}
	k.runUntil(2*time.Minute, cron("* * * * *", replace))
	expectList(t, "runs", k.scheduled(), "00:00", "01:00")
	second := k.requests[3]
	if len(second.Deletes) != 1 || second.Deletes[0].UID != "job-1" || !second.Deletes[0].Replaced || second.Start == nil {
		t.Errorf("request: %+v", second)
	}
	if len(k.status.Active) != 1 || k.status.Active[0].UID != "job-2" {
		t.Errorf("active: %+v", k.status.Active)
	}
	expectList(t, "a replaced run is not missed", k.reasons())
}

// TestCronJobDoesNotReplaceARunThatHasEnded: only the answer says that it has ended.
func TestCronJobDoesNotReplaceARunThatHasEnded(t *testing.T) {
	k := newCronJobKube(t)
	k.unmanaged = true
	k.after(89*time.Second, func() {
		k.closed[k.jobs[0].Name] = job.Result{UID: k.jobs[0].UID, Outcome: job.Complete, CompletionTime: k.environment.Now()}
	})
	k.runUntil(2*time.Minute, cron("* * * * *", replace))
	expectList(t, "runs", k.scheduled(), "00:00", "01:00")
	expectList(t, "events", k.reasons(), "SawCompletedJob")
	if row := k.ledger().Rows[1]; row.Result != ledger.Complete {
		t.Errorf("row %+v", row)
	}
	status := k.status
	if len(status.Active) != 1 || status.Active[0].UID != "job-2" || status.LastSuccessfulTime == nil || status.LastScheduleTime.Minute() != 1 ||
		len(status.RecentRuns) != 2 || status.RecentRuns[1].Result != string(ledger.Complete) {
		t.Errorf("status %+v", status)
	}
}

func TestCronJobRefusedCreateIsRetriedByATimer(t *testing.T) {
	k := newCronJobKube(t)
	refusals := 0
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Start == nil || refusals == 2 {
			return nil, nil
		}
		refusals++
		return &cronJobResult{Refused: &protocol.Refusal{Reason: ledger.Forbidden, Message: "exceeded quota"}}, nil
	}
	k.runUntil(80*time.Second, cron("*/10 * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00")
	if late := k.jobs[0].Started.Sub(k.jobs[0].Scheduled); late != 30*time.Second {
		t.Errorf("started %s late, want after 10 and 20 s", late)
	}
}

func TestCronJobOutageDelaysTheFireAndLosesNothing(t *testing.T) {
	k := newCronJobKube(t)
	failures := 0
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Start != nil && failures < 5 {
			failures++
			return nil, errors.New("connection refused")
		}
		return nil, nil
	}
	k.runUntil(10*time.Minute, cron("*/20 * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00")
	if failures != 5 || len(k.status.Active) != 0 {
		t.Errorf("%d failures, status %+v", failures, k.status)
	}
}

func TestCronJobErrorThatIsNotRetriedPausesTheWorkflow(t *testing.T) {
	k := newCronJobKube(t)
	failures := 0
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Start != nil && failures < 2 {
			failures++
			return nil, temporal.NewNonRetryableApplicationError("forbidden", "Forbidden", nil)
		}
		return nil, nil
	}
	k.runUntil(5*time.Minute, cron("*/20 * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00")
	if late := k.jobs[0].Started.Sub(k.jobs[0].Scheduled); late != 3*time.Second {
		t.Errorf("started %s late, want after 1 and 2 s", late)
	}
}

func TestCronJobThatIsGoneEnds(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(cronJobRequest) (*cronJobResult, error) {
		return &cronJobResult{Gone: true}, nil
	}
	if err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("* * * * *", allow)}); err != nil {
		t.Errorf("got %v", err)
	}
	if len(k.requests) != 1 {
		t.Errorf("%d calls", len(k.requests))
	}
}

func TestCronJobRunsThatItDoesNotHearOfAreCarried(t *testing.T) {
	closed := func(k *cronJobKube, after time.Duration, outcome job.Outcome) {
		k.after(after, func() {
			k.close(k.jobs[0].Name, k.jobs[0].UID, outcome)
		})
	}
	t.Run("another manager's Job has no child workflow", func(t *testing.T) {
		k := newCronJobKube(t)
		k.unmanaged = true
		closed(k, 50*time.Second, job.Complete)
		k.runUntil(time.Minute, cron("* * * * *", allow))
		expectList(t, "events", k.reasons(), "SawCompletedJob")
		if len(k.children) != 0 || len(k.status.Active) != 0 {
			t.Errorf("children %+v, active %+v", k.children, k.status.Active)
		}
	})
	t.Run("a child that was terminated says nothing of its Job", func(t *testing.T) {
		k := newCronJobKube(t)
		k.ends = func(protocol.JobInput) (job.Result, error) { return job.Result{}, errors.New("terminated") }
		k.after(55*time.Second, func() {
			if len(k.described().Status.Active) != 1 {
				t.Error("the run was taken for ended")
			}
		})
		closed(k, 70*time.Second, job.Failed)
		k.runUntil(80*time.Second, cron("*/10 * * * *", allow))
		expectList(t, "events", k.reasons(), "SawCompletedJob")
	})
	t.Run("the bridge was first to start the Job workflow", func(t *testing.T) {
		k := newCronJobKube(t)
		k.runs = []time.Duration{30 * time.Second}
		k.answer = func(request cronJobRequest) (*cronJobResult, error) {
			if len(k.jobs) == 0 || request.Start == nil {
				return nil, nil
			}
			// The second run's Job has the first one's name, whose workflow runs.
			run := schedule.Run{Name: k.jobs[0].Name, UID: "job-2", Scheduled: request.Start.Scheduled, Manual: true}
			return &cronJobResult{Started: &protocol.StartedJob{Run: run, Managed: true}}, nil
		}
		k.signal(40*time.Second, protocol.TriggerSignal, nil)
		k.after(50*time.Second, func() {
			if active := k.described().Status.Active; len(active) != 2 {
				t.Errorf("active: %+v", active)
			}
		})
		k.runUntil(80*time.Second, cron("*/10 * * * *", allow))
		if len(k.children) != 1 || len(k.status.Active) != 1 || k.status.Active[0].UID != "job-2" {
			t.Errorf("children %+v, active %+v", k.children, k.status.Active)
		}
	})
	t.Run("a Job that went away is missed", func(t *testing.T) {
		k := newCronJobKube(t)
		k.ends = func(input protocol.JobInput) (job.Result, error) {
			return job.Result{UID: input.Job.UID, Outcome: job.Deleted}, nil
		}
		k.runUntil(time.Minute, cron("* * * * *", allow))
		expectList(t, "events", k.reasons(), "MissingJob")
	})
	t.Run("a Job that was re-created under its name is missed", func(t *testing.T) {
		k := newCronJobKube(t)
		k.ends = func(protocol.JobInput) (job.Result, error) {
			return job.Result{UID: "another", Outcome: job.Complete}, nil
		}
		k.runUntil(time.Minute, cron("* * * * *", allow))
		expectList(t, "events", k.reasons(), "MissingJob")
	})
}

// A failed Job's workflow fails, with the result that its CronJob reads.
func TestCronJobReadsTheResultOfAFailedRun(t *testing.T) {
	k := newCronJobKube(t)
	k.ends = func(input protocol.JobInput) (job.Result, error) {
		result := job.Result{UID: input.Job.UID, Outcome: job.Failed, Reason: "BackoffLimitExceeded", CompletionTime: k.environment.Now()}
		return job.Result{}, temporal.NewApplicationErrorWithOptions("it failed", protocol.JobFailedErrorType, temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{result},
		})
	}
	k.runUntil(2*time.Minute, cron("*/10 * * * *", allow))
	expectList(t, "events", k.reasons(), "SawCompletedJob")
	if len(k.children) != 1 || len(k.status.Active) != 0 {
		t.Errorf("children %+v, active %+v", k.children, k.status.Active)
	}
	if len(k.events) > 0 && !strings.Contains(k.events[0].Message, "Failed") {
		t.Errorf("the run is said to have ended so: %q", k.events[0].Message)
	}
}

func TestCronJobContinuesAsNewAtAQuietPoint(t *testing.T) {
	k := newCronJobKube(t)
	k.after(35*time.Second, func() { k.environment.SetCurrentHistoryLength(1500) })
	err := k.runInput(protocol.CronJobInput{
		CronJob: hello, Spec: cron("* * * * *", allow), SearchAttributes: true,
	})
	next := k.continuedAs(err)
	if next.State == nil || len(next.State.Active) != 0 || !next.SearchAttributes || len(next.State.Ledger.Entries) != 1 {
		t.Errorf("next: %+v", next)
	}
	if !k.environment.Now().Equal(cronStart.Add(50 * time.Second)) {
		t.Errorf("continued at %s, want when the run had ended", k.environment.Now())
	}

	// The next run of the workflow looks at the object, goes on without a write and fires on time.
	k = newCronJobKube(t)
	k.environment.SetStartTime(cronStart.Add(50 * time.Second))
	k.signal(time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := k.runInput(next); err != nil {
		t.Fatal(err)
	}
	expectList(t, "runs", k.scheduled(), "01:00")
	if k.requests[0].Status != nil || k.requests[1].Start == nil {
		t.Errorf("first calls: %+v", k.requests[:2])
	}
}

func TestCronJobContinuesAsNewWithARunningChildWhenItMust(t *testing.T) {
	for name, grow := range map[string]func(*testsuite.TestWorkflowEnvironment){
		"history twice the budget": func(e *testsuite.TestWorkflowEnvironment) { e.SetCurrentHistoryLength(2500) },
		"the server suggests it":   func(e *testsuite.TestWorkflowEnvironment) { e.SetContinueAsNewSuggested(true) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.runs = []time.Duration{time.Hour}
			k.after(35*time.Second, func() {
				grow(k.environment)
				k.send(protocol.JobSeenSignal, protocol.JobSeen{})
			})
			next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("*/30 * * * *", allow)}))
			if len(next.State.Active) != 1 {
				t.Fatalf("active: %+v", next.State.Active)
			}
			expectList(t, "runs before", k.scheduled(), "00:00")

			k = newCronJobKube(t)
			k.environment.SetStartTime(cronStart.Add(time.Minute))
			k.after(time.Minute, func() { k.close(next.State.Active[0].Name, "job-1", job.Complete) })
			k.signal(2*time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
			if err := k.runInput(next); err != nil {
				t.Fatal(err)
			}
			expectList(t, "events", k.reasons(), "SawCompletedJob")
		})
	}
}

func TestCronJobStartsOverFromTheObject(t *testing.T) {
	k := newCronJobKube(t)
	running := schedule.Run{Name: "hello-82050350", UID: "running", Scheduled: cronStart.Add(-9*time.Minute - 30*time.Second)}
	status := schedule.StatusStarted(ostinatov1.CronJobStatus{
		ObservedGeneration: 1, LastSuccessfulTime: &metav1.Time{Time: cronStart.Add(-time.Hour)},
	}, running, "default")
	children := []schedule.Finished{
		{Run: schedule.Run{Name: "old-1", UID: "o1"}, Condition: batchv1.JobComplete, StartTime: cronStart.Add(-3 * time.Hour)},
		{Run: schedule.Run{Name: "old-2", UID: "o2"}, Condition: batchv1.JobFailed, StartTime: cronStart.Add(-2 * time.Hour)},
		{Run: schedule.Run{Name: "old-3", UID: "o3"}, Condition: batchv1.JobFailed, StartTime: cronStart.Add(-1 * time.Hour)},
	}
	k.after(20*time.Second, func() {
		k.close(running.Name, "running", job.Complete)
	})
	k.signal(55*time.Second, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	k.status, k.found, k.running, k.created = status, children, []schedule.Run{running}, cronStart.Add(-24*time.Hour)
	err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("*/10 * * * *", forbid)})
	if err != nil {
		t.Fatal(err)
	}
	expectList(t, "history", deleted(k), "old-2")
	expectList(t, "runs", k.scheduled(), "00:00")
	expectList(t, "events", k.reasons(), "SawCompletedJob", "SawCompletedJob")
}

// While the bridge is away nobody tells the workflow of an edit: it hears of it when it asks for a run that the schedule still names.
func TestCronJobRunsWhatItsScheduleNamesBeforeAndAfterAnEdit(t *testing.T) {
	k := newCronJobKube(t)
	k.after(time.Hour, func() { k.object.Schedule, k.object.Generation = "0 12,14 * * *", 2 })
	k.runUntil(6*time.Hour, cron("0 12 * * *", allow))
	hours := []string{}
	for _, run := range k.jobs {
		hours = append(hours, run.Scheduled.UTC().Format("15:04"))
	}
	expectList(t, "runs", hours, "12:00", "14:00")
	if rows := k.status.RecentRuns; len(rows) != 2 || rows[1].Outcome != string(ledger.Started) {
		t.Errorf("rows %+v", rows)
	}
}

// What was asked for and not done yet is done, or goes with it.
func TestCronJobThatIsCancelledSaysSoAndContinuesAsNew(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{time.Hour}
	k.signal(90*time.Second-time.Millisecond, protocol.SuspendSignal, protocol.SignalNote{By: "ada"})
	k.signal(90*time.Second-time.Millisecond, protocol.TriggerSignal, protocol.SignalNote{By: "ada"})
	k.after(90*time.Second, k.environment.CancelWorkflow)
	err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("* * * * *", allow)})
	var again *workflow.ContinueAsNewError
	if !errors.As(err, &again) {
		t.Fatalf("got %v, want a continue-as-new", err)
	}
	expectList(t, "events", k.reasons(), "WorkflowCancelled")
	var input protocol.CronJobInput
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &input); err != nil {
		t.Fatal(err)
	}
	if len(input.State.Active) != 2 || !input.Spec.Suspend {
		t.Errorf("goes on with the runs %v, suspended %v, want the scheduled one and the triggered one", input.State.Active, input.Spec.Suspend)
	}
}

func TestCronJobDescribesItself(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{90 * time.Second}
	k.signal(45*time.Second, protocol.TriggerSignal, protocol.SignalNote{Note: "a | b", By: "ada"})
	k.after(50*time.Second, func() {
		description := k.described()
		if description.CronJob != hello || len(description.Status.Active) != 2 || len(description.Ledger) != 2 ||
			description.Ledger[1].Message != "a | b" || description.Ledger[1].Asked != (ledger.Asked{By: "ada", Through: "signal"}) {
			t.Errorf("got %+v", description)
		}
		details := k.details()
		for _, part := range []string{"next run 2126-01-02T10:10:00Z", "| hello-82050360 | 2126-01-02T10:00:00Z |", "Started"} {
			if !strings.Contains(details, part) {
				t.Errorf("details lack %q:\n%s", part, details)
			}
		}
	})
	k.runUntil(time.Minute, cron("*/10 * * * *", allow))
}
