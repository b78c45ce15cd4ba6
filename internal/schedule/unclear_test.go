package schedule_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func made(isMade bool) func(schedule.Start) bool { return func(schedule.Start) bool { return isMade } }

// unclearAt returns a CronJob whose run of 10:00 the API server was asked for and gave no clear answer.
func unclearAt(t *testing.T, isMade bool, options ...specOption) *cluster {
	c := newCluster(t, cronSpec("*/10 * * * *", options...), at("09:55")).at(at("09:55"))
	c.unclear = made(isMade)
	return c.at(at("10:00"))
}

func TestARunWhoseCreateHadNoClearAnswer(t *testing.T) {
	t.Run("is asked for again soon, under its name", func(t *testing.T) {
		c := unclearAt(t, false)
		wantTime(t, "wake", c.wake, "10:00:01")
		c.unclear = nil
		c.at(c.wake)
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("has run if its Job is found", func(t *testing.T) {
		c := unclearAt(t, true)
		c.at(c.wake)
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("keeps its name from another time of its minute, which an edit has named", func(t *testing.T) {
		c := unclearAt(t, true).edit(at("10:00:05"), on("@every 320s")) // 10:00:20, 10:05:40
		c.unclear = nil
		for c.now.Before(at("10:05:40")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T10:05:40Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:05:40 Started")
	})
	t.Run("is not asked for any more when the CronJob is suspended, and found when its Job can have come", func(t *testing.T) {
		c := unclearAt(t, true).edit(at("10:00:05"), suspended)
		wantTime(t, "wake", c.wake, "10:00:35")
		wantStrings(t, "ledger before", c.ledger())
		c.at(c.wake)
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("is suspended if it has no Job then", func(t *testing.T) {
		c := unclearAt(t, false).edit(at("10:00:05"), suspended)
		c.unclear = nil
		c.at(c.wake)
		c.edit(at("10:05"), func(s *schedule.Spec) { s.Suspend = false; s.CatchUp = "none" })
		wantStrings(t, "runs", c.started())
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate ServerError")
	})
	t.Run("holds its place while a later time comes, which starts when it is missing", func(t *testing.T) {
		c := unclearAt(t, false, forbid)
		c.silent = true
		for c.wake.Before(at("10:10:01")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started())
		wantStrings(t, "ledger", c.ledger())
		c.unclear, c.silent = nil, false
		for c.now.Before(at("10:11")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:10:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate ServerError", "19T10:10:00 Started")
	})
	t.Run("keeps a later one from starting beside it when its Job is found", func(t *testing.T) {
		c := unclearAt(t, true, forbid)
		c.silent = true
		for c.wake.Before(at("10:10:01")) {
			c.at(c.wake)
		}
		c.silent = false
		for c.now.Before(at("10:11")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:10:00 SkippedOverlap JobAlreadyActive")
	})
	t.Run("is late after its starting deadline, if it has no Job", func(t *testing.T) {
		c := unclearAt(t, false, deadline(5))
		c.at(c.wake).at(at("10:00:10"))
		wantStrings(t, "ledger before", c.ledger())
		c.unclear = nil
		c.at(c.wake)
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate ServerError")
	})
	t.Run("of a call without any answer is an outage", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55"))
		plan := schedule.Decide(c.state, c.spec, at("10:00"))
		c.state = schedule.Apply(plan, schedule.Report{Unclear: true}, at("10:10:05"))
		for c.now = at("10:10:05"); c.now.Before(at("10:16")); {
			c.at(c.now)
			c.now = c.wake
		}
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 SkippedSuperseded Outage", "19T10:10:00 Started")
	})
}

// A manual run holds its place as a scheduled one does.
func TestATriggerWhoseCreateHadNoClearAnswer(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *", forbid), at("09:55")).at(at("09:55"))
	c.unclear, c.silent = made(true), true
	c.trigger(at("09:59:30"))
	for range 4 {
		c.at(c.wake)
	}
	c.at(at("10:00"))
	if len(c.starts) != 1 {
		t.Fatalf("starts %+v, want the trigger's alone", c.starts)
	}
	c.silent = false
	c.at(c.wake)
	wantStrings(t, "ledger", c.ledger(), "19T09:59:30 Started manual")
	c.unclear = nil
	c.finish("Complete", at("10:01:01"))
	wantStrings(t, "ledger", c.ledger(), "19T09:59:30 Started manual", "19T10:00:00 StartedLate JobAlreadyActive")
}

// A trigger that is taken back while it is open whether its Job was made is not asked for again: its Job is looked for alone.
func TestATriggerThatIsTakenBackIsNotAskedForAgain(t *testing.T) {
	for name, test := range map[string]struct {
		isMade bool
		ledger string
	}{
		"its Job was made": {true, "19T09:59:30 Started manual"},
		"it was not":       {false, "19T09:59:30 SkippedSuperseded Cancelled manual"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 2 * * *"), at("09:55")).at(at("09:55"))
			plan := schedule.Decide(schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("09:59:30")), c.spec, at("09:59:30"))
			if test.isMade {
				c.now = at("09:59:30")
				c.carryOut(plan)
			}
			c.state = schedule.Apply(plan, schedule.Report{Unclear: true}, at("09:59:30"))
			c.state, _ = schedule.CancelTriggers(c.state)
			for c.at(at("09:59:30")); c.now.Before(at("10:01")); {
				c.at(c.now.Add(time.Second))
			}
			wantStrings(t, "ledger", c.ledger(), test.ledger)
			if started := len(c.starts) > 0; started != test.isMade {
				t.Errorf("starts %+v", c.starts)
			}
		})
	}
}

// resentAt returns a CronJob whose run of 10:00 has started: the first attempt had no answer, the second one had.
func resentAt(t *testing.T, options ...specOption) *cluster {
	c := newCluster(t, cronSpec("*/10 * * * *", options...), at("09:55")).at(at("09:55"))
	c.resent = true
	c.at(at("10:00"))
	c.resent = false
	return c
}

// The API server may carry out a create for 35 s: a Job that is deleted meanwhile would be made again.
func TestAJobThatMayBeMadeAgainIsKept(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, ...specOption) *cluster{
		"after an answer that was unclear": func(t *testing.T, options ...specOption) *cluster {
			c := unclearAt(t, true, options...)
			c.at(c.wake)
			c.unclear = nil
			return c
		},
		"after an attempt without an answer": resentAt,
		"after an answer that was unclear, if the Job is found before it is asked for again": func(t *testing.T, options ...specOption) *cluster {
			c := unclearAt(t, true, options...)
			c.unclear, c.state = nil, schedule.RecoverJobs(c.state, c.recovered())
			return c.at(at("10:00:00"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("from the history limits", func(t *testing.T) {
				c := begin(t, limits(0, 0)).finish("Complete", at("10:00:05"))
				if len(c.deletes) > 0 {
					t.Errorf("deleted at once: %+v", c.deletes)
				}
				wantTime(t, "wake", c.wake, "10:00:35")
				c.at(c.wake)
				if len(c.deletes) != 1 || c.deletes[0].Name != c.starts[0].Name {
					t.Errorf("deleted later: %+v", c.deletes)
				}
			})
			t.Run("from a run that replaces it", func(t *testing.T) {
				c := begin(t, replace).trigger(at("10:00:20"))
				if len(c.deletes) > 0 || len(c.starts) != 1 {
					t.Errorf("deleted at once: %+v, started: %+v", c.deletes, c.starts)
				}
				wantTime(t, "wake", c.wake, "10:00:35")
				c.at(c.wake)
				if len(c.deletes) != 1 || c.deletes[0].Name != c.starts[0].Name || len(c.starts) != 2 {
					t.Errorf("deleted later: %+v, started: %+v", c.deletes, c.starts)
				}
			})
		})
	}
	t.Run("from the next time of its schedule, which starts later", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *", replace), at("09:55:30")).at(at("09:55:30"))
		c.resent = true
		c.at(at("09:56:40"))
		c.resent = false
		c.at(at("09:57"))
		wantStrings(t, "runs at its time", c.started(), "2016-05-19T09:56:00Z")
		wantTime(t, "wake", c.wake, "09:57:15")
		c.at(c.wake)
		wantStrings(t, "runs", c.started(), "2016-05-19T09:56:00Z", "2016-05-19T09:57:00Z")
	})
}

// The Job of a manual run is found before it is asked for again.
func TestAManualJobThatMayBeMadeAgainIsKept(t *testing.T) {
	for name, ask := range map[string]func(*cluster){
		"of a trigger": func(c *cluster) { c.trigger(at("09:56")) },
		"of a backfill": func(c *cluster) {
			request := schedule.BackfillRequest{From: at("09:50"), To: at("09:50")}
			c.state = schedule.AddBackfill(c.state, c.spec, request, "", []time.Time{at("09:50")}, at("09:56"))
			c.at(at("09:56"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("*/10 * * * *", limits(0, 0), suspended), at("09:45")).at(at("09:55"))
			c.unclear = made(true)
			ask(c)
			c.unclear, c.state = nil, schedule.RecoverJobs(c.state, c.recovered())
			c.at(at("09:56")).finish("Complete", at("09:56:05"))
			if len(c.deletes) > 0 {
				t.Errorf("deleted at once: %+v", c.deletes)
			}
			wantTime(t, "wake", c.wake, "09:56:35")
			if c.at(c.wake); len(c.deletes) != 1 {
				t.Errorf("deleted later: %+v", c.deletes)
			}
		})
	}
}

// The refusal is the answer to the second attempt: the create of the first one may still be carried out.
func TestARefusalAfterAnAttemptWithoutAnAnswerHoldsTheRunsPlace(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55"))
	c.refuse = func(start schedule.Start) string {
		if start.Manual {
			return ""
		}
		return "exceeded quota"
	}
	c.resent = true
	c.at(at("10:00"))
	c.resent = false
	c.trigger(at("10:00:05"))
	for c.wake.Before(at("10:00:35")) {
		c.at(c.wake)
	}
	if len(c.starts) > 0 {
		t.Errorf("started beside it: %+v", c.starts)
	}
	c.at(c.wake)
	if len(c.starts) != 1 || !c.starts[0].Manual {
		t.Errorf("started later: %+v, want the trigger's run", c.starts)
	}
}

// A workflow that begins anew asks again for untried triggers: a run that may have a Job would start twice.
func TestATriggerThatMayHaveAJobIsNotUntried(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55"))
	asked := schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughSignal}}
	state := schedule.AddTrigger(c.state, asked, at("09:56"))
	if untried := schedule.Untried(state); len(untried) != 1 {
		t.Errorf("untried before its create: %+v", untried)
	}
	state = schedule.Apply(schedule.Decide(state, c.spec, at("09:56")), schedule.Report{Unclear: true}, at("09:56"))
	if untried := schedule.Untried(state); len(untried) > 0 {
		t.Errorf("untried after its create: %+v", untried)
	}
}

// The update that asked for a run is answered, however long the API server leaves another one open.
func TestATriggerThatWaitsForAnUnclearCreateIsAnswered(t *testing.T) {
	c := unclearAt(t, false)
	c.trigger(at("10:00:02"))
	answer, known := schedule.Answer(c.state, c.state.TriggerSequence)
	if !known || answer.Runs != schedule.RunsQueued || !strings.Contains(answer.Reason, "whether Job hello-24394200 was created") {
		t.Errorf("answer %+v, known %v", answer, known)
	}
}

// Each create of a manual run is answered 500: the schedule goes on between its attempts, and it is given up as a refused one is.
// Forbid gives up one that is asked for again while a run of the schedule is active.
func TestAManualRunThatIsAnswered500AlwaysDoesNotEndTheSchedule(t *testing.T) {
	for name, ask := range map[string]func(*cluster){
		"a trigger": func(c *cluster) { c.trigger(at("10:01")) },
		"a backfill": func(c *cluster) {
			request := schedule.BackfillRequest{From: at("09:50"), To: at("09:50")}
			c.state = schedule.AddBackfill(c.state, c.spec, request, "", []time.Time{at("09:50")}, at("10:01"))
			c.at(at("10:01"))
		},
	} {
		for _, concurrency := range []specOption{allow, forbid, replace, queue, atMost(2)} {
			given := "FailedToCreate ServerError manual"
			c := newCluster(t, cronSpec("*/5 * * * *", concurrency), at("10:00")).at(at("10:00"))
			if c.spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && name == "a trigger" {
				given = "SkippedOverlap JobAlreadyActive manual"
			}
			c.unclear, c.unclearManual = made(false), true
			for ask(c); c.now.Before(at("10:31")); c.at(c.now.Add(time.Second)) {
				if len(c.state.Active) > 0 {
					c.finish("Complete", c.now)
				}
			}
			wantStrings(t, name+": runs", c.started(), "2016-05-19T10:05:00Z", "2016-05-19T10:10:00Z", "2016-05-19T10:15:00Z",
				"2016-05-19T10:20:00Z", "2016-05-19T10:25:00Z", "2016-05-19T10:30:00Z")
			if rows := strings.Join(c.ledger(), "\n"); len(c.state.Triggers)+len(c.state.Backfills) > 0 || !strings.Contains(rows, given) {
				t.Errorf("%s: triggers %+v, backfills %+v, ledger\n%s", name, c.state.Triggers, c.state.Backfills, rows)
			}
		}
	}
}

// What the API server has not answered does not count as an attempt: after an outage a trigger is asked for as often as any.
func TestATriggerIsNotGivenUpForAnOutage(t *testing.T) {
	c := newCluster(t, cronSpec("0 2 * * *"), at("10:00")).at(at("10:00"))
	c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("10:00"))
	now := at("10:00")
	for range 20 {
		plan := schedule.Decide(c.state, c.spec, now)
		if plan.Start == nil || plan.Find {
			t.Fatalf("at %s: plan %+v", now, plan)
		}
		c.state = schedule.Apply(plan, schedule.Report{Unclear: true}, now)
		now = now.Add(10 * time.Second)
	}
	c.unclear = made(false)
	c.at(now)
	c.unclear = nil
	c.at(c.wake)
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 StartedLate FailedCreate manual")
}
