package page_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestARunSaysWhyInTheWordsOfTheCommand(t *testing.T) {
	rows := night()
	rows[7] = ran(at(2, 0), "Failed", 3*time.Minute)
	rows[7].ResultReason, rows[7].FailedAttempts = "BackoffLimitExceeded", 2
	cronJob := hourly(rows...)
	run := page.NewRun(clock(), cronJob, page.OfStatus(cronJob).Ledger, at(2, 0))
	assert.Equal(t, page.Failed, run.Kind)
	assert.Equal(t, "Yes: Job report-0200 was created at 2026-03-02 02:00:00 UTC, and failed after 3m (BackoffLimitExceeded); 2 of its Pods failed. "+
		"Its last words: ostinato logs report --run report-0200", run.Why)
	assert.Equal(t, []page.Fact{
		{Name: "Time", Value: "02:00:00"}, {Name: "Outcome", Value: "Started"}, {Name: "Result", Value: "Failed, 2 failed"}, {Name: "Took", Value: "3m"},
		{Name: "Job", Value: "report-0200"}, {Name: "Why", Value: "BackoffLimitExceeded"},
	}, run.Facts)
	assert.Equal(t, "Took 3m, longer than 9 of the 9 other runs known to have completed. Half of them took 1m or less, the longest 1m.", run.History)
	marked := 0
	for _, point := range run.Plot.Points {
		if point.Marked {
			marked++
			assert.Equal(t, "02:00:00: failed after 3m", point.Label)
		}
	}
	assert.Equal(t, 1, marked)
	assert.True(t, run.Failed())
}

func TestATimeWithoutARun(t *testing.T) {
	cronJob := hourly(ostinatov1.RecentRun{ScheduledTime: stamp(at(2, 0)), Outcome: string(ledger.SkippedOverlap), Reason: ledger.ReasonJobAlreadyActive})
	known := page.OfStatus(cronJob).Ledger
	run := page.NewRun(clock(), cronJob, known, at(2, 0))
	assert.Equal(t, page.Skipped, run.Kind)
	assert.Contains(t, run.Why, "No: the time was skipped, since other runs were active")
	assert.False(t, run.Failed())
	assert.Empty(t, run.Plot.Points)
	assert.Equal(t, page.Upcoming, page.NewRun(clock(), cronJob, known, at(11, 0)).Kind)
	assert.Equal(t, page.Overdue, page.NewRun(clock(), cronJob, known, at(9, 0)).Kind)
}

func TestEvidence(t *testing.T) {
	run := page.NewRun(clock(), hourly(ran(at(2, 0), "Failed", time.Minute)), page.OfStatus(hourly(ran(at(2, 0), "Failed", time.Minute))).Ledger, at(2, 0))
	assert.Equal(t, "What the workflow of the Job has kept could not be read: no answer", run.WithEvidence(clock(), protocol.JobDescription{}, errors.New("no\x1b answer")).Evidence)
	assert.Equal(t, "None of its Pods has failed.", run.WithEvidence(clock(), protocol.JobDescription{}, nil).Evidence)
	kept := protocol.JobDescription{AttemptsOmitted: 3, Attempts: []job.Attempt{{Pod: "report-a", Container: "main", ExitCode: 3, Log: "no space\x1b[2J left\n"}}, Waiting: "a back-off"}
	with := run.WithEvidence(clock(), kept, nil)
	assert.Equal(t, "3 Pods that failed before are not kept.", with.Evidence)
	assert.Equal(t, []string{"==> report-a main <==\nno space[2J left\n(ended: exit code 3)\n"}, with.Attempts)
	assert.Contains(t, with.Facts, page.Fact{Name: "Waits for", Value: "a back-off"})
}

func TestHistories(t *testing.T) {
	others := page.Durations([]ostinatov1.RecentRun{
		ran(at(4, 0), "Complete", 4*time.Minute), ran(at(3, 0), "Failed", time.Hour), ran(at(2, 0), "Complete", 2*time.Minute), ran(at(1, 0), "Complete", time.Minute),
	})
	for want, test := range map[string]struct {
		row    ostinatov1.RecentRun
		others []page.Duration
	}{
		"Took 3m, longer than 2 of the 3 other runs known to have completed. Half of them took 2m or less, the longest 4m.":       {ran(at(5, 0), "Complete", 3*time.Minute), others},
		"Has taken 30m, longer than 3 of the 3 other runs known to have completed. Half of them took 2m or less, the longest 4m.": {ran(at(9, 0), "", 0), others},
		"Took 1m, longer than 0 of the 2 other runs known to have completed. Half of them took 2m or less, the longest 4m.":       {ran(at(1, 0), "Complete", time.Minute), others},
		"Took 3m. The only other run known to have completed took 1m.":                                                            {ran(at(5, 0), "Complete", 3*time.Minute), others[:1]},
		"": {ostinatov1.RecentRun{ScheduledTime: stamp(at(5, 0)), Outcome: string(ledger.Queued)}, others},
	} {
		assert.Equal(t, want, page.History(clock(), test.row, test.others))
	}
}

func TestAPlotHoldsItsPoints(t *testing.T) {
	var rows []ostinatov1.RecentRun
	for n := range 300 {
		rows = append(rows, ran(at(0, n), []string{"Complete", "Failed", "Deleted"}[n%3], time.Duration(n%7)*time.Minute))
	}
	plot := page.NewPlot(clock(), page.Durations(rows), "")
	assert.Len(t, plot.Points, 200, "the latest")
	for _, point := range plot.Points {
		assert.True(t, point.X >= plot.Left && point.X <= plot.Width && point.Y >= 0 && point.Y <= plot.Bottom, "%+v is in the picture", point)
	}
	assert.Equal(t, "6m", plot.Longest)
	assert.Equal(t, "Durations of 200 runs from 01:40:00 to 04:59:00: 67 failed, 67 deleted, 66 complete. The longest took 6m.", plot.Summary)
	assert.Empty(t, page.NewPlot(clock(), nil, "").Points)
	one := page.NewPlot(clock(), page.Durations([]ostinatov1.RecentRun{ran(at(1, 0), "Complete", 0)}), "")
	assert.Len(t, one.Points, 1, "a run that took no time has a place too")
}

func TestTimesOfACell(t *testing.T) {
	cronJob := hourly(ran(at(9, 20), "Failed", time.Minute), ostinatov1.RecentRun{
		ScheduledTime: stamp(at(4, 0)), Until: ptr.To(stamp(at(9, 0))), Count: 6, Outcome: string(ledger.SkippedSuspended),
	}, ran(at(3, 0), "Complete", time.Minute))
	times := page.NewTimes(clock(), cronJob, page.OfStatus(cronJob).Ledger, at(9, 0), at(10, 0))
	var shown []string
	for _, row := range times.Rows {
		shown = append(shown, row.At.Format("15:04 ")+row.Sign())
	}
	assert.Equal(t, []string{"10:00 ○", "09:20 ✗", "09:00 –"}, shown, "of a stretch the time within the cell")
}

func TestACronJobShowsItsPolicyAndSuspensions(t *testing.T) {
	cronJob := hourly(ran(at(9, 0), "Complete", time.Minute), ostinatov1.RecentRun{
		ScheduledTime: stamp(at(4, 0)), Until: ptr.To(stamp(at(8, 0))), Count: 5, Outcome: string(ledger.SkippedSuspended), Reason: ledger.ReasonSuspended,
	})
	cronJob.Spec.ConcurrencyPolicy, cronJob.Spec.QueueLimit, cronJob.Status.Queued = ostinatov1.QueueConcurrent, ptr.To[int32](5), 2
	cronJob.Spec.Suspend = ptr.To(true)
	cronJob.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionSuspended, Status: "True", Message: "by ada: an upgrade"}}
	shown := page.NewCronJob(clock(), cronJob, answer.Ledger{Rows: cronJob.Status.RecentRuns, Unseen: "no Temporal"})
	assert.Equal(t, []page.Fact{
		{Name: "schedule", Value: "0 * * * *"}, {Name: "timeZone", Value: "UTC"}, {Name: "next run", Value: "in 30m"}, {Name: "concurrencyPolicy", Value: "Queue"},
		{Name: "queueLimit", Value: "5"}, {Name: "catchUp", Value: "latest"}, {Name: "active runs", Value: "0"}, {Name: "waiting runs", Value: "2"},
	}, shown.Policy)
	assert.Equal(t, []string{"Now: by ada: an upgrade", "04:00:00 to 08:00:00 (5 times): SkippedSuspended. Suspended"}, shown.Suspensions)
	assert.True(t, shown.Suspended)
	assert.Len(t, shown.Plot.Points, 1)
	assert.Len(t, shown.Rows, 2)
	assert.Equal(t, "no Temporal", shown.Unseen)
}

// TestACronJobShowsWhoHasSuspendedIt, weeks after the times that were skipped.
func TestACronJobShowsWhoHasSuspendedIt(t *testing.T) {
	cronJob := hourly(ran(at(9, 0), "Complete", time.Minute))
	shown := page.NewCronJob(clock(), cronJob, answer.Ledger{Rows: cronJob.Status.RecentRuns, Suspensions: []ledger.Suspension{
		{From: at(4, 0).AddDate(0, -1, 0), To: at(8, 0).AddDate(0, -1, 2), Suspended: "by ada", Resumed: "by bob"},
		{From: at(7, 0), To: at(8, 0), Suspended: "by eve\x1b[2J"}, {From: at(9, 0), Suspended: "is said by the condition"},
	}})
	assert.Equal(t, []string{
		"07:00:00: suspended by eve[2J; resumed at 2026-03-02 08:00:00 UTC", "Mon 02 Feb 04:00: suspended by ada; resumed by bob",
	}, shown.Suspensions)
}

func TestLinksToTemporal(t *testing.T) {
	workflow := ostinatov1.WorkflowReference{Namespace: "prod.a1", ID: "cronjob/shop/<report>"}
	for want, address := range map[string][2]string{
		"": {"", "127.0.0.1:7233"},
		"http://127.0.0.1:8233/namespaces/prod.a1/workflows/cronjob%2Fshop%2F%3Creport%3E":     {"http://127.0.0.1:8233/", "127.0.0.1:7233"},
		"https://cloud.temporal.io/namespaces/prod.a1/workflows/cronjob%2Fshop%2F%3Creport%3E": {"", "prod.a1.tmprl.cloud:7233"},
		"https://ui.example/namespaces/prod.a1/workflows/cronjob%2Fshop%2F%3Creport%3E":        {"https://ui.example", "prod.a1.tmprl.cloud:7233"},
	} {
		assert.Equal(t, want, page.WorkflowLink(page.TemporalUI(address[0], address[1]), workflow))
	}
	assert.Empty(t, page.WorkflowLink("https://ui.example", ostinatov1.WorkflowReference{}))
}

// active is a CronJob with a run that goes on.
func active(policy batchv1.ConcurrencyPolicy) *ostinatov1.CronJob {
	cronJob := hourly()
	cronJob.Spec.ConcurrencyPolicy = policy
	cronJob.Status.Active, cronJob.Status.ActiveCount = []corev1.ObjectReference{{Name: "report-1"}}, 1
	return cronJob
}

func TestWhatAnActionWouldDo(t *testing.T) {
	ada := page.Asker{By: "ada", Why: "an \x1bupgrade"}
	suspended := hourly()
	suspended.Spec.Suspend, suspended.Spec.CatchUp = ptr.To(true), ostinatov1.CatchUpAll
	suspended.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionSuspended, Status: "True", Message: "by bob: the auditors."}}
	three := protocol.BackfillAnswer{DryRun: true, Runs: 3, First: at(1, 0), Last: at(3, 0), Times: []time.Time{at(1, 0), at(2, 0)}}
	for name, test := range map[string]struct {
		plan    page.Plan
		says    []string
		refused string
	}{
		"run": {plan: page.PlanRun(hourly(), ada, false), says: []string{
			"A Job is created from the template as it is now, with your own rights in Kubernetes.",
			"The ledger will show that it was asked for by ada (claimed).", "No run is active.",
		}},
		"run under Allow": {plan: page.PlanRun(active(batchv1.AllowConcurrent), page.Asker{}, false), says: []string{
			"A Job is created from the template as it is now, with your own rights in Kubernetes.",
			"The ledger will show that it was asked for without a name.", "It starts beside 1 active run, which concurrencyPolicy allows.",
		}},
		"run under Forbid": {
			plan:    page.PlanRun(active(batchv1.ForbidConcurrent), ada, false),
			refused: "Run report-1 is active, and concurrencyPolicy is Forbid: wait for the end, or choose to start beside it.",
		},
		"run under Forbid beside it": {plan: page.PlanRun(active(batchv1.ForbidConcurrent), ada, true), says: []string{
			"A Job is created from the template as it is now, with your own rights in Kubernetes.",
			"The ledger will show that it was asked for by ada (claimed).", "It starts beside 1 active run, although concurrencyPolicy is Forbid.",
		}},
		"run of one that is suspended": {plan: page.PlanRun(suspended, ada, false), says: []string{
			"A Job is created from the template as it is now, with your own rights in Kubernetes.",
			"The ledger will show that it was asked for by ada (claimed).", "No run is active.",
			"The CronJob is suspended, and stays so: this run starts all the same.",
		}},
		"suspend": {plan: page.PlanSuspend(clock(), active(batchv1.ForbidConcurrent), ada), says: []string{
			"No scheduled run starts until it is resumed. The next one would be 2026-03-02 10:00:00 UTC, in 30m.", "1 active run will go on.",
			"Of the times that pass while it is suspended the latest is run after it is resumed: catchUp is latest.",
			"The object will say that it was suspended by ada (claimed), “an upgrade”.",
		}},
		"suspend what is suspended": {plan: page.PlanSuspend(clock(), suspended, ada), refused: "It is suspended already."},
		"resume": {plan: page.PlanResume(suspended), says: []string{
			"Scheduled runs start again.", "The times that pass while it is suspended are run after it is resumed: catchUp is all.",
			"It was suspended by bob: the auditors.",
		}},
		"resume what runs": {plan: page.PlanResume(hourly()), refused: "It is not suspended."},
		"backfill": {plan: page.PlanBackfill(clock(), active(batchv1.ForbidConcurrent), three, "", page.Asker{By: "ada"}), says: []string{
			"3 runs would start, from 2026-03-02 01:00:00 UTC to 2026-03-02 03:00:00 UTC.",
			"Active runs count by its own concurrencyPolicy, Forbid, and no two of these run at the same time.", "The ledger will show that each was asked for by ada (claimed).",
			"The times are 01:00:00, 02:00:00 and 1 more.",
		}},
		"backfill by another policy": {
			plan: page.PlanBackfill(clock(), hourly(), protocol.BackfillAnswer{DryRun: true, Runs: 1, First: at(1, 0), Last: at(1, 0)}, batchv1.AllowConcurrent, ada),
			says: []string{
				"1 run would start, of 2026-03-02 01:00:00 UTC.", "Active runs count by concurrencyPolicy Allow in place of its own, and no two of these run at the same time.",
				"The ledger will show that each was asked for by ada (claimed), “an upgrade”.",
			},
		},
		"backfill of no time": {
			plan:    page.PlanBackfill(clock(), hourly(), protocol.BackfillAnswer{DryRun: true}, "", ada),
			refused: "The schedule names no time in that range.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.refused, test.plan.Refused)
			if test.refused == "" {
				assert.Equal(t, test.says, test.plan.Says)
			}
			assert.Contains(t, test.plan.Title, "shop/report")
			assert.NotEmpty(t, test.plan.Does)
		})
	}
}
