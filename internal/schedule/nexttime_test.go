package schedule_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestANextTimeThatTheScheduleDoesNotSay(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	for name, test := range map[string]struct {
		schedule string
		next     time.Duration
		change   func(*ostinatov1.CronJob)
		want     bool
	}{
		"the next minute":                      {schedule: "* * * * *", next: 30 * time.Second},
		"the run that is due":                  {schedule: "* * * * *", next: -30 * time.Second},
		"the one after, by another clock":      {schedule: "* * * * *", next: 90 * time.Second},
		"hours ahead of every minute":          {schedule: "* * * * *", next: 3 * time.Hour, want: true},
		"a year that nobody lives to see":      {schedule: "0 * * * *", next: 290 * 365 * 24 * time.Hour, want: true},
		"tomorrow, of a daily one":             {schedule: "30 3 * * *", next: 15*time.Hour + 29*time.Minute + 30*time.Second},
		"next month, of a daily one":           {schedule: "30 3 * * *", next: 30 * 24 * time.Hour, want: true},
		"in the period of an interval":         {schedule: "@every 1h", next: 59 * time.Minute},
		"far beyond the period of an interval": {schedule: "@every 1h", next: 24 * time.Hour, want: true},
		"none":                                 {schedule: "* * * * *", change: func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime = nil }, want: true},
		"none, suspended":                      {schedule: "* * * * *", change: func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime, c.Spec.Suspend = nil, ptr.To(true) }},
		"none, being deleted": {schedule: "* * * * *", change: func(c *ostinatov1.CronJob) {
			c.Status.NextScheduleTime, c.DeletionTimestamp = nil, &metav1.Time{Time: now}
		}},
		"none, of a schedule that can't be read":       {schedule: "* * * *", change: func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime = nil }},
		"none, of one that never fires":                {schedule: "0 0 30 2 *", change: func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime = nil }},
		"a later one, of a time zone that there isn't": {schedule: "* * * * *", next: time.Hour, change: func(c *ostinatov1.CronJob) { c.Spec.TimeZone = ptr.To("Nowhere/None") }},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := &ostinatov1.CronJob{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: now.Add(-time.Hour)}},
				Spec:       ostinatov1.CronJobSpec{Schedule: test.schedule, TimeZone: ptr.To("Etc/UTC")},
				Status:     ostinatov1.CronJobStatus{NextScheduleTime: &metav1.Time{Time: now.Add(test.next)}},
			}
			if test.change != nil {
				test.change(cronJob)
			}
			if got := schedule.NextDisagrees(cronJob, now); got != test.want {
				t.Errorf("NextDisagrees = %v, want %v", got, test.want)
			}
		})
	}
}
