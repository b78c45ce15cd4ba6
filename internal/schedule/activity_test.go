package schedule_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// carryOut is one attempt of the activity.
func (c *cluster) carryOut(plan schedule.Plan) schedule.Report {
	report := schedule.Report{Sent: c.resent}
	if start := plan.Start; start != nil && start.Scheduled.After(c.now) {
		c.t.Fatalf("at %s: %s starts before its time", c.now, start.Name)
	}
	for _, wanted := range plan.Deletes {
		if !slices.Contains(c.stuck, wanted.Name) {
			c.deletes = append(c.deletes, wanted)
			c.remove(wanted.Name, wanted.UID)
			report.Deleted = append(report.Deleted, wanted.Name)
		}
	}
	c.events = append(c.events, plan.Events...)
	if start := plan.Start; start != nil && (plan.Find || c.unclear != nil && (start.Manual || !c.unclearManual)) {
		return c.carryOutUnclear(plan, report)
	}
	if start := plan.Start; start != nil {
		c.now, c.outage = c.now.Add(c.outage), 0
		switch {
		case start.IsTooLate(c.spec, c.now):
			report.Refusal, report.Message = ledger.TooLate, "too late"
		case c.refuse != nil:
			report.Message = c.refuse(*start)
		}
	}
	if plan.Start != nil && (report.Message == "" || c.find(plan.Start.Name) != nil) {
		report.Refusal, report.Message = "", ""
		report.Started = c.start(*plan.Start)
	}
	if plan.Judge && report.Message == "" {
		report.Judgement = c.judgement()
	}
	if report.Message != "" && report.Refusal == "" {
		report.Refusal = cmp.Or(c.refusal, "Forbidden")
	} else if c.refuseStatus && plan.Status != nil {
		report.StatusFailed = "the webhook does not answer"
	} else if report.Refusal == "" && plan.Status != nil {
		c.writes++
		c.status = *plan.Status
		if report.Judgement != nil {
			c.status = schedule.StatusJudged(c.status, *report.Judgement)
		}
		if report.Started != nil {
			run := *report.Started
			run.Scheduled, run.Manual = plan.Start.Scheduled, plan.Start.Manual
			c.status = schedule.StatusStarted(c.status, run, namespace)
			c.status = schedule.StatusRecorded(c.status, *plan.Start, run)
		}
		for _, condition := range c.status.Conditions {
			if known := schedule.ConditionReasonsOf[condition.Type]; slices.Contains(schedule.ConditionTypes, condition.Type) && !slices.Contains(known, condition.Reason) {
				c.t.Fatalf("the condition %s has the reason %s, want one of %v", condition.Type, condition.Reason, known)
			}
		}
	}
	return report
}

// carryOutUnclear is one attempt to look for a Job, or to create it without a clear answer.
func (c *cluster) carryOutUnclear(plan schedule.Plan, report schedule.Report) schedule.Report {
	found := c.find(plan.Start.Name)
	switch {
	case c.silent:
		report.Unclear, report.Message = true, "etcdserver: no leader"
		if report.Unsent = plan.Find; !plan.Find && !plan.Start.IsTooLate(c.spec, c.now) && c.unclear(*plan.Start) {
			c.start(*plan.Start)
		}
	case found != nil:
		report.Started, report.StatusLeft = found, true
	case plan.Find:
		report.Missing = true
	case plan.Start.IsTooLate(c.spec, c.now):
		report.Refusal, report.Message = ledger.TooLate, "too late"
	default:
		report.Unclear, report.Message = true, "etcdserver: request timed out"
		if c.unclear(*plan.Start) {
			c.start(*plan.Start)
		}
	}
	return report
}

func (c *cluster) judgement() *schedule.Judgement {
	c.judged++
	judgement := schedule.Judgement{}
	if c.judge != nil {
		judgement = c.judge(c.spec.Generation)
	}
	judgement.Generation, judgement.At = c.spec.Generation, c.now.Add(300*time.Millisecond)
	return &judgement
}

// start makes the Job or finds it. It fails when the concurrency policy forbids the run.
func (c *cluster) start(start schedule.Start) *schedule.Run {
	if found := c.find(start.Name); found != nil {
		return found
	}
	if under := start.Under(c.spec); under.Capacity() > 0 && len(c.running) >= under.Capacity() {
		c.t.Fatalf("at %s: %s starts under %s beside %v", c.now, start.Name, under.ConcurrencyPolicy, c.running)
	}
	c.jobs++
	c.starts = append(c.starts, start)
	run := schedule.Run{
		Name: start.Name, UID: fmt.Sprintf("job-%d", c.jobs), Started: c.now.Add(c.apart), ResourceVersion: fmt.Sprint(c.jobs),
		Scheduled: start.Scheduled, Manual: start.Manual,
	}
	c.running = append(c.running, run)
	return &run
}
