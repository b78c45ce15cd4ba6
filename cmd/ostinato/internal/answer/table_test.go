package answer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func skipped(outcome ledger.Outcome) ostinatov1.RecentRun {
	return ostinatov1.RecentRun{ScheduledTime: stamp(at(1, 0)), Outcome: string(outcome)}
}

func TestAStripShowsTheNewestLast(t *testing.T) {
	rows := []ostinatov1.RecentRun{
		ran("", 0), skipped(ledger.Queued), ran("Failed", time.Minute), ran("Complete", time.Minute), skipped(ledger.FailedToCreate),
		skipped(ledger.SkippedDeadline), ran("Deleted", time.Minute),
	}
	assert.Equal(t, "⌫–!✓✗…▸", answer.Strip(rows))
	assert.Empty(t, answer.Strip(nil))
}

func TestSpans(t *testing.T) {
	for want, span := range map[string]time.Duration{
		"0s": 0, "1s": 800 * time.Millisecond, "1m30s": 90 * time.Second, "1h": time.Hour, "2h5m": 125*time.Minute + 3*time.Second,
		"3d": 72*time.Hour + 5*time.Minute, "1d1h": 25 * time.Hour,
	} {
		assert.Equal(t, want, answer.Span(span))
	}
}

func TestTables(t *testing.T) {
	cronJob := report()
	cronJob.Status.RecentRuns = []ostinatov1.RecentRun{ran("Complete", time.Minute)}
	cronJob.Status.LastScheduleTime, cronJob.Status.LastResult = ptr.To(stamp(at(2, 0))), "Complete"
	manual := ran("Failed", time.Minute)
	manual.Manual, manual.By, manual.Through, manual.ResultReason = true, "ada", "job", "BackoffLimitExceeded"
	for name, test := range map[string]struct {
		table answer.Table
		want  string
	}{
		"get": {answer.CronJobs(clock(), []ostinatov1.CronJob{*cronJob}, true, false), `
NAMESPACE   NAME     SCHEDULE    SUSPEND   ACTIVE   LAST RUN    RESULT     NEXT        OUTCOMES
shop        report   0 2 * * *   false     0        7h30m ago   Complete   in 16h30m   ✓
`},
		"runs": {answer.Runs(clock(), []ostinatov1.RecentRun{manual, skipped(ledger.SkippedOverlap)}), `
    TIME       OUTCOME          RESULT   TOOK   JOB               WHY
✗   02:00:00   Started          Failed   1m     report-29541720   BackoffLimitExceeded: asked for by ada (claimed) through job
–   01:00:00   SkippedOverlap   -        -      -                 -
`},
		"failed": {answer.FailureTable(clock(), answer.Failures(cronJob, []ostinatov1.RecentRun{manual, ran("Complete", 0)}, at(0, 0)), false), `
FAILED      CRONJOB   TIME       JOB               WHY
7h29m ago   report    02:00:00   report-29541720   BackoffLimitExceeded: asked for by ada (claimed) through job
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, test.table.Write(&out, true))
			assert.Equal(t, strings.TrimPrefix(test.want, "\n"), out.String())
		})
	}
}

func TestWhatIsRareIsNotHiddenByWhatIsDueOften(t *testing.T) {
	suspended := report()
	suspended.Name, suspended.Spec.Schedule, suspended.Spec.Suspend = "audit", "0 */6 * * *", ptr.To(true)
	suspended.Status.NextScheduleTime = nil
	broken := report()
	broken.Spec.Schedule = "never"
	often := report()
	often.Name, often.Spec.Schedule, often.Status.NextScheduleTime = "hello", "* * * * *", nil
	hourly := report()
	hourly.Name, hourly.Spec.Schedule, hourly.Status.NextScheduleTime = "hourly", "30 9-12 * * *", nil
	all := []ostinatov1.CronJob{*report(), *suspended, *broken, *often, *hourly}
	shown := func(span time.Duration) (shown []string) {
		for _, row := range answer.Timeline(clock(), answer.Ahead(all, now, now.Add(span)), false).Rows {
			shown = append(shown, strings.TrimSpace(strings.Join([]string{row[0], row[2], row[3]}, " ")))
		}
		return shown
	}
	assert.Equal(t, []string{
		"09:30:00 hello and 1440 more until Tue 03 Mar 09:30", "09:30:00 hourly", "10:30:00 hourly", "11:30:00 hourly", "12:00:00 audit suspended",
		"12:30:00 hourly", "18:00:00 audit suspended", "Tue 03 Mar 00:00 audit suspended", "Tue 03 Mar 02:00 report", "Tue 03 Mar 06:00 audit suspended", "Tue 03 Mar 09:30 hourly",
	}, shown(24*time.Hour))
	assert.Equal(t, []string{"09:30:00 hello", "09:30:00 hourly", "09:31:00 hello", "09:32:00 hello"}, shown(2*time.Minute), "a few times are shown each")
}

func TestLastTime(t *testing.T) {
	fresh := report()
	fresh.CreationTimestamp, fresh.Status = stamp(at(3, 0)), ostinatov1.CronJobStatus{}
	_, known := answer.Last(fresh, now)
	assert.False(t, known)
	assert.Contains(t, answer.Nothing(clock(), fresh).Text, "No time of the CronJob has come")
	old := report()
	old.Status = ostinatov1.CronJobStatus{}
	last, known := answer.Last(old, now)
	assert.True(t, known)
	assert.Equal(t, at(2, 0), last.UTC(), "a time that has come counts though the status is behind")
}

func TestAJobByHandIsThatOfTheTemplate(t *testing.T) {
	cronJob := report()
	cronJob.UID = "uid-1"
	cronJob.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "default", ID: "west/cronjob/shop/report"}
	cronJob.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "main", Image: "report:1", Args: []string{"--all"}, Env: []corev1.EnvVar{{Name: "REGION", Value: "eu"}, {Name: "KEY", Value: "k"}}}, {Name: "side", Image: "side:1"},
	}
	job, err := answer.Job(cronJob, "report-abcde", answer.Overrides{Args: []string{"--day", "1"}, Env: []string{"REGION=us", "TOKEN=secret=1"}, Image: "report:2"}, "ada", now)
	require.NoError(t, err)
	main := job.Spec.Template.Spec.Containers[0]
	assert.Equal(t, "report:2", main.Image)
	assert.Equal(t, []string{"--day", "1"}, main.Args)
	assert.Equal(t, []corev1.EnvVar{{Name: "KEY", Value: "k"}, {Name: "REGION", Value: "us"}, {Name: "TOKEN", Value: "secret=1"}}, main.Env)
	assert.Equal(t, "side:1", job.Spec.Template.Spec.Containers[1].Image)
	assert.Equal(t, "report:1", cronJob.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image, "the template is as it was")
	assert.Equal(t, names.JobController, *job.Spec.ManagedBy)
	assert.Equal(t, "uid-1", string(job.OwnerReferences[0].UID))
	assert.Equal(t, "ada", job.Annotations[names.AskedByAnnotation])
	assert.Equal(t, "image report:2; args --day 1; env REGION; env TOKEN", job.Annotations[names.ChangedAnnotation], "without values, which may be secret")
	assert.Equal(t, "manual", job.Annotations[names.InstantiateAnnotation])
	assert.Equal(t, "default/west/job/shop/report-abcde", job.Annotations[names.WorkflowAnnotation])

	assert.NotContains(t, job.Annotations, names.ScheduledTimestampAnnotation, "the bridge would leave it to the CronJob's workflow for a minute")
	_, err = answer.Job(cronJob, "x", answer.Overrides{Env: []string{"REGION"}}, "", now)
	assert.ErrorContains(t, err, "write NAME=value")
	long, err := answer.Job(cronJob, "x", answer.Overrides{Args: []string{strings.Repeat("é", 400)}}, strings.Repeat("a", 400), now)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(long.Annotations[names.ChangedAnnotation]), 256)
	assert.LessOrEqual(t, len(long.Annotations[names.AskedByAnnotation]), 256)
}

func TestARunByHandLooksFirst(t *testing.T) {
	cronJob := report()
	for policy, refused := range map[batchv1.ConcurrencyPolicy]bool{
		batchv1.AllowConcurrent: false, batchv1.ForbidConcurrent: true, batchv1.ReplaceConcurrent: true, ostinatov1.QueueConcurrent: true,
	} {
		cronJob.Spec.ConcurrencyPolicy = policy
		cronJob.Status.Active, cronJob.Status.ActiveCount = nil, 0
		assert.Empty(t, answer.Beside(cronJob), "%s with nothing active", policy)
		cronJob.Status.Active, cronJob.Status.ActiveCount = []corev1.ObjectReference{{Name: "report-1"}}, 1
		assert.Equal(t, refused, strings.Contains(answer.Beside(cronJob), "report-1"), "%s", policy)
	}
}

func TestBackfills(t *testing.T) {
	for want, done := range map[string]protocol.BackfillAnswer{
		"The schedule names no time in that range.":                                   {},
		"1 run would start, of 2026-03-02 02:00:00 UTC.":                              {DryRun: true, Runs: 1, First: at(2, 0), Last: at(2, 0)},
		"3 runs will start, from 2026-03-02 02:00:00 UTC to 2026-03-02 04:00:00 UTC.": {Runs: 3, First: at(2, 0), Last: at(4, 0)},
	} {
		assert.Equal(t, want, answer.Backfill(clock(), done))
	}
}

func TestAnAttemptShowsWhatWasKept(t *testing.T) {
	assert.Equal(t, "==> report-1-abcde main <==\nlast[31m words\n(ended: exit code 3, Error, at 2026-03-02 02:00:05 UTC)\n", answer.Attempt(clock(), job.Attempt{
		Pod: "report-1-abcde", Container: "main", ExitCode: 3, Reason: "Error", Finished: at(2, 0).Add(5 * time.Second), Log: "last\x1b[31m words\n",
	}))
	assert.Contains(t, answer.Attempt(clock(), job.Attempt{Pod: "p", LogMissing: "the node does not answer"}), "(no log: the node does not answer)")
}

func TestStatusShowsTheMostUrgentFirst(t *testing.T) {
	well := report()
	failing := report()
	failing.Name, failing.Status.ConsecutiveFailures, failing.Status.LastFailureTime = "failing", 2, ptr.To(stamp(at(9, 0)))
	suspended := report()
	suspended.Name, suspended.Spec.Suspend = "suspended", ptr.To(true)
	suspended.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionSuspended, Status: "True", Message: "by ada through ostinato: an upgrade"}}
	overdue := report()
	overdue.Name, overdue.Status.NextScheduleTime = "overdue", ptr.To(stamp(at(9, 20)))
	unheard := report()
	unheard.Name, unheard.Generation = "unheard", 3
	stalled := report()
	stalled.Name = "stalled"
	stalled.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionStalled, Status: "True", Reason: "UnknownTimeZone", Message: `invalid timeZone: "Mars"`}}
	doubled := report()
	doubled.Name = "doubled"
	doubled.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionNativeCronJobActive, Status: "True", Message: "A batch/v1 CronJob of the same name is active"}}
	refused := report()
	refused.Name = "refused"
	refused.Status.RecentRuns = []ostinatov1.RecentRun{
		{ScheduledTime: stamp(at(9, 0)), Outcome: string(ledger.FailedToCreate), Reason: ledger.Forbidden, Message: "exceeded quota"},
		{ScheduledTime: stamp(at(8, 0)), Outcome: string(ledger.Started), Result: string(ledger.Complete)},
	}
	table, _, summary := answer.Status(clock(), []ostinatov1.CronJob{*well, *refused, *failing, *suspended, *overdue, *unheard, *stalled, *doubled}, false)
	var out strings.Builder
	require.NoError(t, table.Write(&out, true))
	assert.Equal(t, strings.TrimPrefix(`
CRONJOB     IS          WHY
overdue     Overdue     the run of 09:20:00 has no outcome: are the workers and Temporal running?
stalled     Stalled     UnknownTimeZone: invalid timeZone: "Mars"
doubled     Doubled     A batch/v1 CronJob of the same name is active
unheard     Unheard     generation 0 is observed, and there is 3: is the bridge running?
failing     Failing     2 runs in a row have failed, the last 30m ago
refused     Refused     the API server refused the run of 09:00:00: exceeded quota
suspended   Suspended   by ada through ostinato: an upgrade
`, "\n"), out.String())
	assert.Equal(t, "8 CronJobs, 1 as they should be, 1 overdue, 1 stalled, 1 doubled, 1 unheard, 1 failing, 1 refused, 1 suspended", summary)
}

// TestSuspensionsStandAmongTheRunsOfALedger: those before the oldest row that is shown stand below it if there are no other rows.
func TestSuspensionsStandAmongTheRunsOfALedger(t *testing.T) {
	row := func(at time.Time) ostinatov1.RecentRun {
		return ostinatov1.RecentRun{ScheduledTime: stamp(at), Outcome: string(ledger.SkippedSuperseded)}
	}
	rows := []ostinatov1.RecentRun{row(at(9, 0)), row(at(2, 0).AddDate(0, 0, -3))}
	lasting := append(suspensions(), ledger.Suspension{From: at(9, 20), Suspended: "by eve through signal"})
	for whole, want := range map[bool][]string{
		true:  {"09:20:00", "09:00:00", "Sat 28 Feb 01:00 to 03:00:00", "Fri 27 Feb 02:00", "Mon 02 Feb 10:00 to Wed 04 Feb 10:00"},
		false: {"09:20:00", "09:00:00", "Sat 28 Feb 01:00 to 03:00:00", "Fri 27 Feb 02:00"},
	} {
		var times []string
		table := answer.Runs(clock(), rows).WithSuspensions(clock(), rows, lasting, whole)
		for _, row := range table.Rows {
			times = append(times, row[1])
		}
		assert.Equal(t, want, times)
		assert.Equal(t, []string{"‖", "09:20:00", "Suspended", "", "10m", "", "suspended by eve through signal"}, table.Rows[0])
	}
}

// TestStatusSaysOnceThatAWorkflowIsPaused: what is overdue meanwhile needs no look at the workers.
func TestStatusSaysOnceThatAWorkflowIsPaused(t *testing.T) {
	cronJob := report()
	cronJob.Status.NextScheduleTime = ptr.To(stamp(at(9, 20)))
	cronJob.Status.Conditions = []metav1.Condition{
		{Type: ostinatov1.ConditionReady, Status: "False", Reason: "WorkflowPaused", Message: "unpause it"},
		{Type: ostinatov1.ConditionWorkflowPaused, Status: "True", Message: "unpause it"},
	}
	assert.Equal(t, []answer.Deviation{{Namespace: "shop", CronJob: "report", Kind: "Paused", Why: "unpause it"}}, answer.Deviations(clock(), cronJob))
}

func TestATree(t *testing.T) {
	cronJob := report()
	cronJob.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "default", ID: "cronjob/shop/report"}
	older, newer := batchv1.Job{}, batchv1.Job{}
	older.Name, older.CreationTimestamp = "report-1", stamp(at(2, 0))
	older.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True", Reason: "BackoffLimitExceeded"}}
	newer.Name, newer.CreationTimestamp, newer.Status.Active = "report-2", stamp(at(9, 0)), 1
	failed, waits := corev1.Pod{}, corev1.Pod{}
	failed.Name, failed.Status.Phase = "report-1-a", corev1.PodFailed
	failed.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}
	waits.Name, waits.Status.Phase = "report-2-a", corev1.PodPending
	waits.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	var out strings.Builder
	require.NoError(t, answer.Tree(&out, clock(), cronJob, []answer.Branch{{Job: older, Pods: []corev1.Pod{failed}}, {Job: newer, Pods: []corev1.Pod{waits}}}))
	assert.Equal(t, strings.TrimPrefix(`
CronJob shop/report  (workflow cronjob/shop/report in Temporal namespace default)
├─ Job report-2  1 active, 0 succeeded, 0 failed, created 30m ago
│  └─ Pod report-2-a  Pending (ImagePullBackOff)
└─ Job report-1  Failed (BackoffLimitExceeded), created 7h30m ago
   └─ Pod report-1-a  Failed (exit code 3)
`, "\n"), out.String())
}
