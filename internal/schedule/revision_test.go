package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestTheNewerStateWins(t *testing.T) {
	sent := [4]string{"b", "a"}
	for name, test := range map[string]struct {
		basis    schedule.Basis
		revision int64
		digest   string
		overtook bool
		// wrote says that the status is taken for the one that was written for plan "mine".
		wrote bool
	}{
		"the status that was planned with":         {schedule.Basis{Revision: 7}, 7, "old", false, false},
		"one of before, after a restore of etcd":   {schedule.Basis{Revision: 7}, 5, "old", false, false},
		"no status":                                {schedule.Basis{Revision: 7}, 0, "", false, false},
		"a later one":                              {schedule.Basis{Revision: 7}, 8, "other", true, false},
		"a later one without a digest":             {schedule.Basis{Revision: 7}, 8, "", true, false},
		"the one that this attempt has written":    {schedule.Basis{Revision: 7}, 8, "mine", true, true},
		"one of the name that is far later":        {schedule.Basis{Revision: 7}, 20, "mine", true, false},
		"one that was sent and had no answer":      {schedule.Basis{Revision: 7, Unanswered: sent}, 8, "a", false, false},
		"the second of two without an answer":      {schedule.Basis{Revision: 7, Unanswered: sent}, 9, "b", false, false},
		"another one instead":                      {schedule.Basis{Revision: 7, Unanswered: sent}, 8, "other", true, false},
		"one that was sent, with others after it":  {schedule.Basis{Revision: 7, Unanswered: sent}, 20, "a", true, false},
		"a digest of nothing, where nothing waits": {schedule.Basis{Revision: 7, Unanswered: [4]string{"a"}}, 8, "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			status := ostinatov1.CronJobStatus{Revision: test.revision, PlanDigest: test.digest}
			if got := test.basis.Overtakes(status); got != test.overtook {
				t.Errorf("overtaken: %v", got)
			}
			if got := test.basis.Wrote(status, "mine"); got != test.wrote {
				t.Errorf("its own: %v", got)
			}
		})
	}
}

// What an overtaken state becomes: that of the object, with what is still to be done.
func TestAStateThatIsOvertakenBeginsAnew(t *testing.T) {
	identity := schedule.Identity{Namespace: namespace, Name: cronJobName, UID: cronJobUID, Created: at("09:30")}
	old := schedule.NewState(identity, ostinatov1.CronJobStatus{Revision: 7}, ledger.Ledger{}, nil)
	old = schedule.AddTrigger(old, schedule.TriggerRequest{}, at("10:01"))
	generation, rows := int64(1), []ostinatov1.RecentRun{{Outcome: "SkippedSuspended"}}
	begin := func(revision int64, active ...string) schedule.Overtaken {
		status := ostinatov1.CronJobStatus{Revision: revision, ObservedGeneration: generation, RecentRuns: rows}
		for _, name := range active {
			status.Active = append(status.Active, corev1.ObjectReference{Kind: "Job", Name: name})
		}
		return schedule.BeginAnew(old, schedule.NewState(identity, status, ledger.Ledger{}, nil), status, 1, []string{"the signal suspend"}, at("10:02"))
	}
	t.Run("a write of a workflow task that was lost leaves what was heard to be done", func(t *testing.T) {
		for _, revision := range []int64{8, 10} {
			anew := begin(revision)
			if anew.Dropped || len(anew.State.Triggers) != 1 || anew.State.Basis.Revision != revision || len(anew.State.Outbox) > 0 {
				t.Errorf("%+v", anew)
			}
		}
	})
	generation = 2
	edited := begin(9)
	t.Run("so does the one write of a task that has heard of an edit first", func(t *testing.T) {
		if anew := begin(8); anew.Dropped || len(anew.State.Triggers) != 1 {
			t.Errorf("%+v", anew)
		}
	})
	generation, rows = 1, []ostinatov1.RecentRun{{Outcome: "SkippedOverlap", Manual: true}}
	refused := begin(8)
	rows = nil
	native := begin(10)
	for name, anew := range map[string]schedule.Overtaken{
		"so was an edit that it has not heard of":   edited,
		"so was a trigger whose row it has not":     refused,
		"so may be runs of which no row tells":      native,
		"many writes were of another past":          begin(30),
		"so was a run that the state does not know": begin(8, "hello-29459550"),
	} {
		t.Run(name, func(t *testing.T) {
			if !anew.Dropped || len(anew.State.Triggers) > 0 || len(anew.State.Outbox) != 1 {
				t.Fatalf("%+v", anew)
			}
			message := anew.State.Outbox[0].Message
			for _, part := range []string{"the signal suspend", "the trigger of 2016-05-19T10:01:00Z"} {
				if !strings.Contains(message, part) {
					t.Errorf("the Event is %q, want it to name %s", message, part)
				}
			}
		})
	}
	t.Run("a number that no state has counted up to is taken over once", func(t *testing.T) {
		anew := begin(5_000_000)
		if anew.Dropped || len(anew.State.Triggers) != 1 || anew.State.Basis.Revision != 5_000_000 {
			t.Fatalf("%+v", anew)
		}
		status := ostinatov1.CronJobStatus{Revision: 50_000_000}
		if again := schedule.BeginAnew(anew.State, schedule.NewState(identity, status, ledger.Ledger{}, nil), status, 1, nil, at("10:03")); !again.Dropped {
			t.Errorf("it is taken over again: %+v", again)
		}
	})
	t.Run("three times within a minute are contested, and are so for a while", func(t *testing.T) {
		state, now := old, at("10:02")
		for number := range int64(3) {
			status := ostinatov1.CronJobStatus{Revision: state.Basis.Revision + 50}
			anew := schedule.BeginAnew(state, schedule.NewState(identity, status, ledger.Ledger{}, nil), status, 1, nil, now)
			if contested := schedule.Contested(anew.State, now); contested != (number == 2) {
				t.Errorf("overtaken %d times: contested %v", number+1, contested)
			}
			state, now = anew.State, now.Add(10*time.Second)
		}
		spec := cronSpec("0 * * * *")
		stalled := func(now time.Time) string {
			plan := schedule.Decide(schedule.Take(state, spec, schedule.Evaluate(spec, state, now)), spec, now)
			for _, condition := range plan.Status.Conditions {
				if condition.Type == ostinatov1.ConditionStalled {
					return string(condition.Status) + " " + condition.Reason
				}
			}
			return ""
		}
		if got := stalled(now); got != "True StatusContested" {
			t.Errorf("Stalled is %q", got)
		}
		if got := stalled(now.Add(11 * time.Minute)); got != "False NotStalled" {
			t.Errorf("later Stalled is %q", got)
		}
		if len(state.Outbox) != 4 {
			t.Errorf("%d Events, want one each time and one that says so", len(state.Outbox))
		}
	})
}

// The create of the run of 10:00 is unclear when the state is overtaken. It has made a Job.
func TestAnOvertakenStateKeepsTheRunWhoseCreateIsUnclear(t *testing.T) {
	ten := &metav1.Time{Time: at("10:00")}
	for name, test := range map[string]struct {
		status ostinatov1.CronJobStatus
		wake   string
		ledger []string
	}{
		"if the object knows no outcome of its time":  {ostinatov1.CronJobStatus{}, "10:00:35", []string{"19T10:00:00 Started"}},
		"but not if the object has settled its time":  {ostinatov1.CronJobStatus{AccountedUntil: ten}, "", nil},
		"nor if the object says that its run started": {ostinatov1.CronJobStatus{LastScheduleTime: ten}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := unclearAt(t, true)
			test.status.Revision = 1
			read := schedule.NewState(c.state.Identity, test.status, ledger.Ledger{}, nil)
			c.state = schedule.BeginAnew(c.state, read, test.status, 1, nil, at("10:00:02")).State
			c.edit(at("10:00:05"), suspended)
			wantTime(t, "wake", c.wake, test.wake)
			c.at(at("10:00:35"))
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
		})
	}
}

// The run of 10:00 has a Job, and its first create may still be carried out, when the state is overtaken.
func TestAnOvertakenStateKeepsAJobThatMayBeMadeAgain(t *testing.T) {
	overtaken := func(c *cluster, status ostinatov1.CronJobStatus) {
		status.Revision = 1
		ended := slices.Clone(c.ended)
		for index := range ended {
			ended[index].Run.Unclear = time.Time{} // No Job says that.
		}
		c.state = schedule.BeginAnew(c.state, schedule.NewState(c.state.Identity, status, ledger.Ledger{}, ended), status, 1, nil, c.now).State
	}
	kept := func(t *testing.T, c *cluster) {
		t.Helper()
		if len(c.deletes) > 0 {
			t.Errorf("deleted at once: %+v", c.deletes)
		}
		wantTime(t, "wake", c.wake, "10:00:35")
		if c.at(c.wake); len(c.deletes) != 1 {
			t.Errorf("deleted later: %+v", c.deletes)
		}
	}
	t.Run("that has ended since", func(t *testing.T) {
		c := resentAt(t, limits(0, 0))
		overtaken(c, c.status)
		kept(t, c.finish("Complete", at("10:00:05")))
	})
	t.Run("that had ended before", func(t *testing.T) {
		c := resentAt(t, limits(0, 0)).finish("Complete", at("10:00:05"))
		overtaken(c, c.status)
		kept(t, c.at(at("10:00:06")))
	})
	t.Run("that had ended before, and that the object's status does not know", func(t *testing.T) {
		c := resentAt(t, limits(0, 0)).finish("Complete", at("10:00:05"))
		overtaken(c, ostinatov1.CronJobStatus{})
		kept(t, c.at(at("10:00:06")))
	})
	t.Run("that is to be replaced", func(t *testing.T) {
		c := resentAt(t, replace)
		overtaken(c, c.status)
		kept(t, c.trigger(at("10:00:20")))
	})
}
