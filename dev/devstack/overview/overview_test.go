package overview_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/overview"
)

var now = time.Date(2026, 3, 1, 12, 0, 30, 0, time.Local)

func at(offset time.Duration) *metav1.Time {
	return ptr.To(metav1.NewTime(now.Add(offset)))
}

func TestTableShowsNextRunAndNewestRuns(t *testing.T) {
	cronJob := ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
	cronJob.Spec.Schedule = "* * * * *"
	cronJob.Status.LastScheduleTime = at(-30 * time.Second)
	cronJob.Status.NextScheduleTime = at(30 * time.Second)
	invalid := ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "never"}}
	invalid.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionScheduleValid, Status: "False", Reason: "UnparseableSchedule"}}

	older := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello-1", CreationTimestamp: *at(-time.Minute)}}
	older.Status = batchv1.JobStatus{Succeeded: 1, StartTime: at(-time.Minute), CompletionTime: at(-55 * time.Second),
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}
	newer := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello-2", CreationTimestamp: *at(0)}}
	newer.Status = batchv1.JobStatus{Active: 1, StartTime: at(0)}

	table := overview.Table(overview.Snapshot{Now: now, CronJobs: []ostinatov1.CronJob{invalid, cronJob}, Jobs: []batchv1.Job{older, newer}})
	for _, want := range []string{"12:01:00 (in 30s)", "UnparseableSchedule", "1 active, 0 succeeded, 0 failed"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if newest, oldest := strings.Index(table, "hello-2"), strings.Index(table, "hello-1"); newest > oldest {
		t.Errorf("the newest run comes first, got:\n%s", table)
	}
	if !strings.Contains(table, "Complete") || !strings.Contains(table, "5s") {
		t.Errorf("a finished run shows its state and time:\n%s", table)
	}
}

func TestATimeOfAnotherDayHasItsDate(t *testing.T) {
	for name, test := range map[string]struct {
		next time.Time
		want string
	}{
		"later today":          {time.Date(2026, 3, 1, 23, 59, 59, 0, time.Local), "  23:59:59 (in 11h59m29s)\n"},
		"at midnight":          {time.Date(2026, 3, 2, 0, 0, 0, 0, time.Local), "  2026-03-02 00:00:00 (in 11h59m30s)\n"},
		"in some days":         {time.Date(2026, 3, 7, 2, 0, 0, 0, time.Local), "  2026-03-07 02:00:00 (in 133h59m30s)\n"},
		"at this time of year": {time.Date(2027, 3, 1, 12, 0, 30, 0, time.Local), "  2027-03-01 12:00:30 (in 8760h0m0s)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := ostinatov1.CronJob{}
			cronJob.Status.NextScheduleTime = ptr.To(metav1.NewTime(test.next))
			cronJob.Status.LastScheduleTime = at(-24 * time.Hour)
			job := batchv1.Job{Status: batchv1.JobStatus{StartTime: at(-48 * time.Hour)}}
			table := overview.Table(overview.Snapshot{Now: now, CronJobs: []ostinatov1.CronJob{cronJob}, Jobs: []batchv1.Job{job}})
			for _, want := range []string{test.want, "  2026-02-28 12:00:30  ", "  2026-02-27 12:00:30  "} {
				if !strings.Contains(table, want) {
					t.Errorf("the table lacks %q:\n%s", want, table)
				}
			}
		})
	}
}

func TestStateNamesTheTerminalCondition(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, reason string) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason}}}
	}
	for want, status := range map[string]batchv1.JobStatus{
		"Complete":                      condition(batchv1.JobComplete, ""),
		"Failed (BackoffLimitExceeded)": condition(batchv1.JobFailed, "BackoffLimitExceeded"),
		"Suspended":                     condition(batchv1.JobSuspended, ""),
		"Running":                       {Active: 1},
		"Waiting":                       {},
	} {
		if got := overview.State(batchv1.Job{Status: status}); got != want {
			t.Errorf("State = %q, want %q", got, want)
		}
	}
}
