package answer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/ledger"
)

// minutely is a CronJob of every minute under Forbid, whose run of 9:00 is active since. Rows are its latest, newest first.
func minutely(rows ...ostinatov1.RecentRun) *ostinatov1.CronJob {
	cronJob := report()
	began := stamp(at(9, 0))
	cronJob.Spec.Schedule, cronJob.Spec.ConcurrencyPolicy = "* * * * *", batchv1.ForbidConcurrent
	cronJob.Status = ostinatov1.CronJobStatus{
		ObservedGeneration: cronJob.Generation, ActiveCount: 1, Active: []corev1.ObjectReference{{Name: "report-1"}}, LastResult: "Running",
		NextScheduleTime: &metav1.Time{Time: at(9, 31)},
		RecentRuns: append(rows, ostinatov1.RecentRun{
			ScheduledTime: began, StartTime: &began, JobName: "report-1", Outcome: string(ledger.Started),
		}),
	}
	return cronJob
}

// overlaps are times that were skipped since another run was active.
func overlaps(from, to time.Time) ostinatov1.RecentRun {
	until := stamp(to)
	return ostinatov1.RecentRun{
		ScheduledTime: stamp(from), Until: &until, Count: int64(to.Sub(from)/time.Minute) + 1,
		Outcome: string(ledger.SkippedOverlap), Reason: ledger.ReasonJobAlreadyActive,
	}
}

func isStuck(message string) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) {
		c.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionRunStuck, Status: metav1.ConditionTrue, Reason: "ConfigError", Message: message}}
	}
}

const noConfigMap = `Job report-1, since 2026-03-02T09:00:00Z: CreateContainerConfigError: configmap "x" not found`

func TestWhatStatusSaysOfARunThatDoesNotEnd(t *testing.T) {
	skips := overlaps(at(9, 1), at(9, 30))
	for name, test := range map[string]struct {
		rows []ostinatov1.RecentRun
		edit func(*ostinatov1.CronJob)
		want []string
	}{
		"it keeps others from starting": {[]ostinatov1.RecentRun{skips}, nil, []string{
			"Blocked: Job report-1, active for 30m, keeps others from starting: 30 times were skipped, the last at 09:30:00",
		}},
		"it holds the first one back": {[]ostinatov1.RecentRun{
			{ScheduledTime: stamp(at(9, 20)), Outcome: string(ledger.Queued), Reason: ledger.ReasonJobAlreadyActive},
		}, func(c *ostinatov1.CronJob) { c.Status.Queued, c.Spec.Schedule = 1, "20 * * * *" }, []string{
			"Blocked: Job report-1, active for 30m, keeps others from starting: the run of 09:20:00 is held back",
		}},
		"it holds one back for a moment": {[]ostinatov1.RecentRun{
			{ScheduledTime: stamp(at(9, 30)), Outcome: string(ledger.Queued), Reason: ledger.ReasonJobAlreadyActive},
		}, func(c *ostinatov1.CronJob) { c.Status.Queued = 1 }, []string{
			"Waiting: Job report-1, active for 30m; 1 run waits for others to end: ostinato runs report",
		}},
		"it keeps others from starting, and holds one back": {[]ostinatov1.RecentRun{
			{ScheduledTime: stamp(at(9, 30)), Outcome: string(ledger.Queued), Reason: ledger.ReasonJobAlreadyActive}, overlaps(at(9, 1), at(9, 29)),
		}, func(c *ostinatov1.CronJob) { c.Status.Queued = 1 }, []string{
			"Blocked: Job report-1, active for 30m, keeps others from starting: 29 times were skipped, the last at 09:29:00",
		}},
		"none has come since": {[]ostinatov1.RecentRun{}, func(c *ostinatov1.CronJob) { c.Spec.Schedule = "0 * * * *" }, nil},
		"it began after the last one was skipped": {[]ostinatov1.RecentRun{overlaps(at(8, 1), at(8, 50))}, func(c *ostinatov1.CronJob) {
			c.Spec.Schedule = "50 8 * * *"
		}, nil},
		"others may start beside it": {[]ostinatov1.RecentRun{skips}, func(c *ostinatov1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent }, nil},
		"others replace it":          {[]ostinatov1.RecentRun{skips}, func(c *ostinatov1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent }, nil},
		"one more may start":         {[]ostinatov1.RecentRun{skips}, func(c *ostinatov1.CronJob) { c.Spec.MaxConcurrent = ptr.To[int32](2) }, nil},
		"others wait for it": {nil, func(c *ostinatov1.CronJob) {
			c.Spec.ConcurrencyPolicy, c.Status.Queued, c.Spec.Schedule = ostinatov1.QueueConcurrent, 3, "0 * * * *"
		}, []string{"Waiting: Job report-1, active for 30m; 3 runs wait for others to end: ostinato runs report"}},
		"it takes longer than is expected": {nil, func(c *ostinatov1.CronJob) {
			c.Spec.ExpectedDurationSeconds, c.Spec.ConcurrencyPolicy = ptr.To[int64](600), batchv1.AllowConcurrent
		}, []string{"Long: Job report-1, active for 30m, where 10m is expected"}},
		"it takes as long as is expected": {nil, func(c *ostinatov1.CronJob) {
			c.Status.MedianDurationSeconds, c.Spec.ConcurrencyPolicy = 600, batchv1.AllowConcurrent
		}, nil},
		"it is stuck, and not long too": {nil, func(c *ostinatov1.CronJob) {
			isStuck(noConfigMap)(c)
			c.Spec.ExpectedDurationSeconds, c.Spec.ConcurrencyPolicy = ptr.To[int64](600), batchv1.AllowConcurrent
		}, []string{`Stuck: no container of Job report-1 has started for 30m: CreateContainerConfigError: configmap "x" not found`}},
		"a condition that says nothing of the kind": {nil, func(c *ostinatov1.CronJob) {
			isStuck("forged")(c)
			c.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := minutely(test.rows...)
			if test.edit != nil {
				test.edit(cronJob)
			}
			var got []string
			for _, deviation := range answer.Deviations(clock(), cronJob) {
				got = append(got, deviation.Kind+": "+deviation.Why)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestWhyNamesTheRunThatBlocks(t *testing.T) {
	skips := overlaps(at(9, 1), at(9, 29))
	for name, test := range map[string]struct {
		rows []ostinatov1.RecentRun
		edit func(*ostinatov1.CronJob)
		at   time.Time
		want []string
	}{
		"of a time that was skipped": {[]ostinatov1.RecentRun{skips}, nil, at(9, 12), []string{
			"No: the time was skipped, since other runs were active", "What is active now is Job report-1, active for 30m.",
			"Another run would wait behind it. Its words: ostinato logs report --run report-1. To end it: ",
		}},
		"of a time that is held back, by its row": {[]ostinatov1.RecentRun{
			{ScheduledTime: stamp(at(9, 30)), Outcome: string(ledger.Queued), Reason: ledger.ReasonJobAlreadyActive},
		}, nil, at(9, 30), []string{
			"Not yet: the run of 2026-03-02 09:30:00 UTC waits, since other runs were active", "What is active now is Job report-1, active for 30m.",
		}},
		"of a time that is held back": {[]ostinatov1.RecentRun{skips}, nil, at(9, 30), []string{
			"Not yet: the run of 2026-03-02 09:30:00 UTC is held back. What is active now is Job report-1, active for 30m.",
		}},
		"of the run itself, which is stuck": {nil, isStuck(noConfigMap), at(9, 0), []string{
			`was created at 2026-03-02 09:00:00 UTC, and no container of it has started since 2026-03-02 09:00:00 UTC: CreateContainerConfigError: configmap "x" not found.`,
		}},
		"of the run itself, which is long": {nil, func(c *ostinatov1.CronJob) { c.Spec.ExpectedDurationSeconds = ptr.To[int64](600) }, at(9, 0), []string{
			"and runs, for longer than expected (10m).",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := minutely(test.rows...)
			if test.edit != nil {
				test.edit(cronJob)
			}
			said := answer.Why(clock(), cronJob, answer.Ledger{Rows: cronJob.Status.RecentRuns, Whole: true}, test.at).Text
			for _, want := range test.want {
				assert.Contains(t, said, want)
			}
			assert.NotContains(t, said, "ostinato backfill", "it would wait behind the same run")
		})
	}
}

func TestListsTellARunThatIsStuckFromOneThatRuns(t *testing.T) {
	cronJob := minutely()
	cells := func() (result, row string) {
		rows := answer.Runs(clock(), answer.Told(clock(), cronJob, cronJob.Status.RecentRuns)).Rows
		return answer.CronJobs(clock(), []ostinatov1.CronJob{*cronJob}, false, false).Rows[0][5], strings.Join(rows[0], " | ")
	}
	result, row := cells()
	assert.Equal(t, []string{"Running", "▸ | 09:00:00 | Started | Running | 30m | report-1 | "}, []string{result, row})
	cronJob.Spec.ExpectedDurationSeconds = ptr.To[int64](600)
	_, row = cells()
	assert.Equal(t, "▸ | 09:00:00 | Started | Running, long | 30m | report-1 | ", row)
	isStuck(noConfigMap)(cronJob)
	result, row = cells()
	assert.Equal(t, "Stuck", result)
	assert.Equal(t, `▸ | 09:00:00 | Started | Stuck | 30m | report-1 | CreateContainerConfigError: configmap "x" not found`, row)
}

func TestTheTreeSaysWhatAPodWaitsFor(t *testing.T) {
	cronJob := minutely()
	isStuck(`Job report-2, since 2026-03-02T09:00:00Z: FailedCreate: no ServiceAccount`)(cronJob)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "report-1-a"}, Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"},
	}}}
	branches := []answer.Branch{
		{Job: batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "report-1", CreationTimestamp: stamp(at(9, 0))}}, Pods: []corev1.Pod{pod}},
		{Job: batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "report-2", CreationTimestamp: stamp(at(9, 0))}}},
	}
	var written strings.Builder
	assert.NoError(t, answer.Tree(&written, clock(), cronJob, branches))
	assert.Contains(t, written.String(), "Pod report-1-a  Pending (Unschedulable: 0/1 nodes are available)")
	assert.Contains(t, written.String(), "   no container of Job report-2 has started for 30m: FailedCreate: no ServiceAccount")
}
