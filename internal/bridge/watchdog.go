package bridge

import (
	"context"
	"slices"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// watchdogPeriod is how often every CronJob is compared with the clock.
	watchdogPeriod = 10 * time.Second
	// nextTimesPeriod is how often the next time of every CronJob is computed.
	nextTimesPeriod = time.Minute
	// maxNamed bounds the CronJobs that one line of the log names.
	maxNamed = 5
)

// watchdog looks for CronJobs whose workflow does not do what it should.
func (c *controller) watchdog(ctx context.Context) {
	defer c.Metrics.census.latest.Store(nil)
	c.Metrics.census.count(c.objects, c.judgementOf, c.Clock.Now())
	var compared time.Time
	c.every(ctx, watchdogPeriod, func(context.Context) {
		now := c.Clock.Now()
		c.inspect(now)
		c.inspectStarts(now)
		if now.Sub(compared) >= nextTimesPeriod {
			compared = now
			c.compareNextTimes(now)
			c.reportUnserved()
		}
		c.Metrics.census.count(c.objects, c.judgementOf, now)
	})
}

// reportUnserved logs the namespaces that can't be listed.
func (c *controller) reportUnserved() {
	unserved := slices.DeleteFunc(slices.Clone(k8s.NamespacesToList(c.Config.Namespaces)), c.filled)
	if len(unserved) > 0 {
		c.Logger.Warn("namespaces of --namespaces that are not served, since their CronJobs and Jobs can't be listed", "namespaces", unserved)
	}
}

// inspect queues the CronJobs that are overdue, that list runs which have ended, or that lost their acknowledgement.
func (c *controller) inspect(now time.Time) {
	count := 0
	c.objects.eachCronJob(func(cronJob *ostinatov1.CronJob) {
		switch {
		case overdueCronJob(cronJob, c.objects.dueRun(cronJob), c.Config.OverdueGrace, now):
			// Those that were nudged just now must not keep others waiting.
			if count++; c.memory.cronJobs.get(cronJobKey(cronJob)).of(cronJob).nudgesFor(cronJob).wait(now) <= 0 {
				c.reminders.Add(cronJobKey(cronJob))
			}
		case !acknowledgedCronJob(cronJob, c.reference(cronJob)), len(c.objects.owner.closings(cronJob, nil, c.objects.job, now)) > 0:
			c.main.Add(cronJobKey(cronJob))
		}
	})
	c.Metrics.overdue.Set(float64(count))
}

// compareNextTimes counts the CronJobs whose status has another next time than their schedule: they would never be overdue.
func (c *controller) compareNextTimes(now time.Time) {
	var wrong []string
	c.objects.eachCronJob(func(cronJob *ostinatov1.CronJob) {
		// Its workflow is yet to say what it makes of an edit.
		if acknowledgedCronJob(cronJob, c.reference(cronJob)) && schedule.NextDisagrees(cronJob, now) {
			wrong = append(wrong, cronJob.Namespace+"/"+cronJob.Name)
		}
	})
	if len(wrong) > 0 {
		c.Logger.Warn("CronJobs whose status.nextScheduleTime disagrees with their schedule", "count", len(wrong), "first", wrong[:min(len(wrong), maxNamed)])
	}
	c.Metrics.nextTimeWrong.Set(float64(len(wrong)))
}
