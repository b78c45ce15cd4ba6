package schedule_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// drawSteps lets anything happen to a CronJob, in any order, and calls check
// after each step. It is edited where there are schedules, to one of them too.
func drawSteps(t *rapid.T, c *cluster, schedules []string, check func(step string)) {
	kinds := []string{"wake", "wake", "wake", "later", "complete", "fail", "vanish", "refuse", "accept", "forget"}
	if schedules != nil {
		kinds = append(kinds, "unclear", "unclear", "lead", "held", "trigger", "backfill", "cancel", "suspend", "resume", "policy", "schedule", "deadline", "outage")
	}
	for range rapid.IntRange(5, 60).Draw(t, "steps") {
		kind := rapid.SampledFrom(kinds).Draw(t, "step")
		now := c.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
		condition := batchv1.JobComplete
		switch kind {
		case "wake":
			now = c.now
			if c.wake.After(now) {
				now = c.wake
			}
			c.at(now)
		case "later", "outage":
			distance := 10
			if kind == "outage" {
				distance = 5000
			}
			c.at(now.Add(time.Duration(rapid.IntRange(0, distance).Draw(t, "minutes")) * time.Minute))
		case "fail", "complete":
			if kind == "fail" {
				condition = batchv1.JobFailed
			}
			if len(c.state.Active) > 0 {
				c.finish(condition, now)
			}
		case "vanish":
			if len(c.state.Active) > 0 {
				run := c.state.Active[len(c.state.Active)-1]
				c.remove(run.Name, run.UID)
				c.state = schedule.Missing(c.state, run, now)
				c.at(now)
			}
		case "lead":
			c.lead = rapid.SampledFrom([]time.Duration{0, time.Second, schedule.MaxLead}).Draw(t, "lead")
		case "held":
			suspend := rapid.Bool().Draw(t, "suspend")
			c.held = func() { c.change(c.now, func(s *schedule.Spec) { s.Suspend = suspend }) }
		case "refuse":
			c.refuse = func(schedule.Start) string { return "exceeded quota" }
		case "accept":
			c.refuse, c.unclear, c.silent = nil, nil, false
		case "unclear":
			c.silent = rapid.Bool().Draw(t, "silent")
			made := rapid.Bool().Draw(t, "made")
			c.unclear = func(schedule.Start) bool { return made }
		case "forget":
			c.forget = true
		case "trigger":
			overlap := rapid.SampledFrom([]batchv1.ConcurrencyPolicy{"", "", "Allow", "Forbid", "Replace", "Queue", "none"}).Draw(t, "overlap")
			c.triggerWith(overlap, now)
		case "backfill":
			request := schedule.BackfillRequest{
				From: now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "from")) * time.Minute), To: now,
				Parallelism: rapid.IntRange(1, 3).Draw(t, "parallelism"),
				Overlap:     rapid.SampledFrom([]batchv1.ConcurrencyPolicy{"", "", "Allow", "Forbid", "Replace", "Queue"}).Draw(t, "overlap"),
			}
			found := schedule.TimesBetween(c.spec, c.state, request.From, request.To)
			if request.Mistake(c.spec, now) == "" && found.Mistake == "" && schedule.NoRoom(c.state, 0) == "" {
				c.backfill(request, now)
			}
		case "cancel":
			c.state = schedule.CancelBackfills(c.state)
			c.at(now)
		case "suspend", "resume":
			c.edit(now, func(s *schedule.Spec) { s.Suspend = kind == "suspend" })
		case "policy":
			c.edit(now, rapid.SampledFrom(policies).Draw(t, "policy"), rapid.SampledFrom(catchUps).Draw(t, "catch up"), atMost(rapid.SampledFrom([]int32{0, 0, 1, 2}).Draw(t, "at most")))
		case "schedule":
			c.edit(now, on(rapid.SampledFrom(schedules).Draw(t, "schedule")))
		case "deadline":
			c.edit(now, deadline(int64(rapid.IntRange(0, 200).Draw(t, "deadline"))))
		}
		check(kind)
	}
}

var (
	policies = []specOption{allow, forbid, replace, queue}
	catchUps = []specOption{catchUp(""), catchUp(""), catchUpNone, catchUpAll, catchUpWindow(600), combined(catchUpAll, catchUpWindow(1800), catchUpLimit(5))}
)

func combined(options ...specOption) specOption {
	return func(s *schedule.Spec) {
		for _, option := range options {
			option(s)
		}
	}
}

func drawSpec(t *rapid.T) schedule.Spec {
	return cronSpec(rapid.SampledFrom([]string{"* * * * *", "*/5 * * * *", "@every 70s", "0,7,45 * * * *"}).Draw(t, "schedule"),
		rapid.SampledFrom(policies).Draw(t, "policy"), rapid.SampledFrom(catchUps).Draw(t, "catch up"),
		atMost(rapid.SampledFrom([]int32{0, 0, 0, 1, 3}).Draw(t, "at most")), queueLimit(rapid.SampledFrom([]int32{0, 0, 1, 3}).Draw(t, "queue limit")))
}

func TestInvariantsHoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(rt, drawSpec(rt), at("10:00:10")).at(at("10:00:10"))
		var last time.Time
		seen := 0
		names := map[string]bool{}
		drawSteps(rt, c, []string{"* * * * *", "*/3 * * * *", "@every 90s", "@every 20s", "nonsense"}, func(step string) {
			if c.status.LastScheduleTime != nil {
				if c.status.LastScheduleTime.Time.Before(last) {
					rt.Fatalf("%s: lastScheduleTime went from %s back to %s", step, last, c.status.LastScheduleTime)
				}
				last = c.status.LastScheduleTime.Time
			}
			for _, start := range c.starts[seen:] {
				// Two times of "@every" may be of one minute, and of one name.
				run := start.Name + start.Scheduled.String()
				if names[run] {
					rt.Fatalf("%s: job %s was started twice", step, run)
				}
				names[run] = true
			}
			seen = len(c.starts)
			if len(c.state.Ledger.Entries) > 1500 {
				rt.Fatalf("ledger has %d entries", len(c.state.Ledger.Entries))
			}
			checkLedger(rt, c)
			checkStarts(rt, c)
			checkWake(rt, c)
			checkBackfills(rt, c)
			checkResults(rt, c)
			checkRestored(rt, c)
			calls := c.calls
			if c.at(c.now); c.calls != calls {
				rt.Fatalf("%s: planning again acted", step)
			}
		})
	})
}

// checkStarts: each Job that was created has its one row in the ledger, and no other row
// says that a run has started.
func checkStarts(t *rapid.T, c *cluster) {
	if c.state.Ledger.Dropped > 0 {
		return
	}
	rows := map[string]int{}
	for _, entry := range c.state.Ledger.Entries {
		if entry.Outcome.HasJob() {
			rows[entry.Job]++
		}
	}
	for _, recovered := range c.state.Recovered {
		// Its time is settled when the suspension ends.
		rows[recovered.Run.Name]++
	}
	for _, start := range c.starts {
		if rows[start.Name] == 0 && held(c, start) {
			rows[start.Name]++
		}
		if rows[start.Name] == 0 && waits(c, start) {
			// It was forgotten, and is found when its backfill goes on.
			rows[start.Name]++
		}
		if rows[start.Name] != 1 {
			t.Fatalf("Job %s was created and has %d rows: %q", start.Name, rows[start.Name], c.ledger())
		}
	}
	if len(rows) != len(c.starts) {
		t.Fatalf("%d rows of Jobs, %d were created: %q", len(rows), len(c.starts), c.ledger())
	}
}

// held reports whether it is open if the run has started.
func held(c *cluster, start schedule.Start) bool {
	if pending := c.state.Pending; pending != nil && !pending.Unclear.IsZero() && pending.Scheduled.Equal(start.Scheduled) && !start.Manual {
		return true
	}
	return slices.ContainsFunc(c.state.Triggers, func(trigger schedule.Trigger) bool {
		return trigger.Sequence == start.Sequence && !trigger.Unclear.IsZero()
	})
}

// checkWake: a run that nothing holds up is tried again when its back-off ends, at the latest.
func checkWake(t *rapid.T, c *cluster) {
	if c.state.Calendar.Due.IsZero() || len(c.state.Active) > 0 || c.spec.Suspend || c.holds() {
		return
	}
	if pending := c.state.Pending; pending == nil || c.wake.IsZero() || c.wake.After(pending.Retry.Until) && c.wake.After(pending.Unclear) {
		t.Fatalf("%s is due, wakes at %s, waits for %+v", c.state.Calendar.Due, c.wake, pending)
	}
}

// holds reports whether a manual run holds up the others, since it is open if it has started.
func (c *cluster) holds() bool {
	return slices.ContainsFunc(c.state.Triggers, func(trigger schedule.Trigger) bool { return !trigger.Unclear.IsZero() }) ||
		slices.ContainsFunc(c.state.Backfills, func(backfill schedule.Backfill) bool { return !backfill.Unclear.IsZero() })
}

// waits reports whether the time of a backfilled run is still to be started.
func waits(c *cluster, start schedule.Start) bool {
	return slices.ContainsFunc(c.state.Backfills, func(backfill schedule.Backfill) bool {
		return backfill.Sequence == start.Backfill && slices.ContainsFunc(backfill.Times, start.Scheduled.Equal)
	})
}

// checkBackfills: no more runs of a backfill are active than it may have.
func checkBackfills(t *rapid.T, c *cluster) {
	active := map[int64]int{}
	for _, run := range c.state.Active {
		active[run.Backfill]++
	}
	for _, backfill := range c.state.Backfills {
		if len(backfill.Times) == 0 || active[backfill.Sequence] > backfill.Parallelism {
			t.Fatalf("%d runs are active of %+v", active[backfill.Sequence], backfill)
		}
	}
	if err := c.state.Validate(); err != nil {
		t.Fatal(err)
	}
}

// checkResults: the row of a run says how its Job has ended, and of no other run that it has.
func checkResults(t *rapid.T, c *cluster) {
	for _, entry := range c.state.Ledger.Entries {
		active := slices.ContainsFunc(c.state.Active, func(run schedule.Run) bool { return run.Name == entry.Job })
		if entry.Outcome.HasJob() && active == (entry.Result != "") || !entry.Outcome.HasJob() && entry.Result != "" {
			t.Fatalf("active %t, and its row says %q: %+v", active, entry.Result, entry)
		}
		for _, ended := range c.ended {
			if ended.Run.Name == entry.Job && string(entry.Result) != string(ended.Condition) {
				t.Fatalf("Job %s is %s, its row says %q", entry.Job, ended.Condition, entry.Result)
			}
		}
	}
}

// checkRestored: a workflow that starts over from the object's status says the same of the past.
func checkRestored(t *rapid.T, c *cluster) {
	status := schedule.StatusOf(c.state, c.spec)
	if status.Queued > 0 || c.state.Settled.After(ledger.Time(status.AccountedUntil)) {
		// What waits, or whose start is unclear, is computed anew with what came after it.
		return
	}
	again := schedule.StatusOf(schedule.NewState(c.state.Identity, status, ledger.Ledger{}, nil), c.spec)
	if !reflect.DeepEqual(again.RecentRuns, status.RecentRuns) || again.LastOutcome != status.LastOutcome ||
		again.ConsecutiveFailures != status.ConsecutiveFailures || !again.LastFailureTime.Equal(status.LastFailureTime) {
		t.Fatalf("restored:\n%+v\nwant\n%+v", again, status)
	}
}

// checkLedger: stretches of scheduled times do not overlap, so each scheduled time
// has at most one outcome.
func checkLedger(t *rapid.T, c *cluster) {
	for _, waiting := range append([]time.Time{c.state.Calendar.Due}, c.state.Calendar.Waiting...) {
		for _, entry := range c.state.Ledger.Entries {
			if !entry.Manual && entry.Times() == 1 && entry.Scheduled.Equal(waiting) {
				t.Fatalf("%s waits and has an outcome: %q", waiting, c.ledger())
			}
		}
	}
	rows := slices.DeleteFunc(slices.Clone(c.state.Ledger.Entries), func(e ledger.Entry) bool { return e.Manual })
	slices.SortStableFunc(rows, func(a, b ledger.Entry) int { return a.Scheduled.Compare(b.Scheduled) })
	var end, stretch time.Time
	for _, entry := range rows {
		// A run that was found late is taken out of the count of its stretch.
		if !entry.Scheduled.After(end) && !(entry.Outcome.HasJob() && !entry.Scheduled.After(stretch)) {
			t.Fatalf("two outcomes for %s: %q", entry.Scheduled, c.ledger())
		}
		if entry.Estimated {
			continue
		}
		if !entry.Until.IsZero() {
			end, stretch = entry.Until, entry.Until
		} else if entry.Scheduled.After(end) {
			end = entry.Scheduled
		}
	}
}

// Without edits, the scheduled times that have passed are exactly those with an
// outcome and the one that still waits.
func TestEveryScheduledTimeGetsOneOutcome(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(rt, drawSpec(rt), at("10:00:10")).at(at("10:00:10"))
		var recorded int64
		var counted time.Time
		drawSteps(rt, c, nil, func(step string) {
			// A merged entry grows, so count afresh what the ledger still holds, from
			// its first entry on.
			recorded, counted = 0, c.state.Created
			if c.state.Ledger.Dropped > 0 {
				counted = c.state.Ledger.Entries[0].Scheduled.Add(-time.Second)
			}
			for _, entry := range c.state.Ledger.Entries {
				recorded += entry.Times()
			}
			if !c.state.Calendar.Due.IsZero() {
				recorded += 1 + int64(len(c.state.Calendar.Waiting))
			}
			plain := c.spec
			plain.CatchUp, plain.CatchUpWindowSeconds = "", nil
			evaluation := schedule.Evaluate(plain, settledUntil(createdAt(c.state.Created), counted), c.now)
			var passed int64
			if !evaluation.Due.IsZero() {
				passed = 1
			}
			for _, missed := range evaluation.Missed {
				passed += missed.Count
			}
			if recorded != passed {
				rt.Fatalf("%s at %s: %d outcomes for %d scheduled times: %q", step, c.now, recorded, passed, c.ledger())
			}
		})
	})
}
