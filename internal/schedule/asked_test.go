package schedule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// ask asks for a manual run as ada.
func (c *cluster) ask(minute string, request schedule.TriggerRequest) *cluster {
	request.Asked.By, request.Note = "ada", "audit"
	c.state = schedule.AddTrigger(c.state, request, at(minute))
	return c.at(at(minute))
}

func TestALedgerRowSaysWhoHasAsked(t *testing.T) {
	signal := schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughSignal}}
	update := schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughUpdate}, Overlap: "Allow"}
	for name, test := range map[string]struct {
		spec schedule.Spec
		do   func(*cluster)
		want ledger.Asked
	}{
		"nobody, of a scheduled run": {cronSpec("0 * * * *"), func(c *cluster) { c.at(at("10:00")) }, ledger.Asked{}},
		"a signal":                   {cronSpec("0 * * * *"), func(c *cluster) { c.ask("09:40", signal) }, ledger.Asked{By: "ada", Through: "signal"}},
		"an update that changes the policy": {
			cronSpec("0 * * * *", forbid), func(c *cluster) { c.at(at("10:00")).ask("10:10", update) },
			ledger.Asked{By: "ada", Through: "update", Changed: "concurrencyPolicy Allow"},
		},
		"of a run that may not start": {
			cronSpec("0 * * * *", forbid), func(c *cluster) { c.at(at("10:00")).ask("10:10", signal) }, ledger.Asked{By: "ada", Through: "signal"},
		},
		"of one that has waited": {
			cronSpec("0 * * * *", queue), func(c *cluster) { c.at(at("10:00")).ask("10:10", signal).finish(jobComplete, at("10:20")) },
			ledger.Asked{By: "ada", Through: "signal"},
		},
		"of one that can't be read": {
			cronSpec("0 * * * *"), func(c *cluster) {
				c.ask("09:40", schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughSignal}, Overlap: "Maybe"})
			}, ledger.Asked{By: "ada", Through: "signal"},
		},
		"of one too many": {
			cronSpec("0 * * * *", queue), func(c *cluster) {
				c.at(at("10:00"))
				for range 100 {
					c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("10:05"))
				}
				c.ask("10:10", update)
			}, ledger.Asked{By: "ada", Through: "update", Changed: "concurrencyPolicy Allow"},
		},
		"of one whose Job is refused for good": {
			cronSpec("0 * * * *"), func(c *cluster) {
				c.refusal, c.refuse = ledger.SignalRefused, func(schedule.Start) string { return "no signals" }
				c.ask("09:40", signal)
			}, ledger.Asked{By: "ada", Through: "signal"},
		},
		"somebody who has made the Job": {
			cronSpec("0 * * * *"), func(c *cluster) {
				c.at(at("09:30"))
				run := schedule.Run{Name: "by-hand", UID: "by-hand-uid", Scheduled: at("09:40"), Started: at("09:40"), Manual: true}
				c.running = append(c.running, run)
				c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: run}})
				c.at(at("09:40"))
			}, ledger.Asked{Through: "job"},
		},
		"somebody who has made the Job and says so": {
			cronSpec("0 * * * *"), func(c *cluster) {
				c.at(at("09:30"))
				run := schedule.Run{
					Name: "by-hand", UID: "by-hand-uid", Scheduled: at("09:40"), Started: at("09:40"), Manual: true,
					Asked: ledger.Asked{By: "ada", Through: "Evil", Changed: "args --fast"},
				}
				c.running = append(c.running, run)
				c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: run}})
				c.at(at("09:40"))
			}, ledger.Asked{By: "ada", Through: "job", Changed: "args --fast"},
		},
		"a name that is longer than any": {
			cronSpec("0 * * * *"), func(c *cluster) {
				c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{Asked: ledger.Asked{By: strings.Repeat("x", 9000), Through: "Evil"}}, at("09:40"))
				c.at(at("09:40"))
			}, ledger.Asked{By: strings.Repeat("x", 253) + "..."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:15"))
			test.do(c)
			last := c.state.Ledger.Entries[len(c.state.Ledger.Entries)-1]
			assert.Equal(t, test.want, last.Asked)
			// The status gets it with the next write.
			status := schedule.StatusOf(c.state, c.spec)
			assert.NoError(t, schedule.ValidateStatus(status, namespace))
			row := status.RecentRuns[0]
			assert.Equal(t, test.want, ledger.Asked{By: row.By, Through: row.Through, Changed: row.Changed})
			again := restored(t, c.spec, at("09:15"), status, nil)
			assert.Equal(t, test.want, again.state.Ledger.Entries[len(again.state.Ledger.Entries)-1].Asked, "after Temporal's data was lost")
		})
	}
}

func TestTheStatusOfAStartSaysWhoHasAsked(t *testing.T) {
	start := schedule.Start{Name: "hello-t1", Scheduled: at("09:40"), Manual: true, Asked: ledger.Asked{By: "ada", Through: "Evil"}}
	status := schedule.StatusRecorded(ostinatov1.CronJobStatus{}, start, schedule.Run{Name: "hello-t1", Started: at("09:40")})
	assert.Equal(t, ostinatov1.RecentRun{
		ScheduledTime: metav1.NewTime(at("09:40")), Outcome: "Started", Manual: true, JobName: "hello-t1", By: "ada",
		StartTime: &metav1.Time{Time: at("09:40")},
	}, status.RecentRuns[0])
}

// TestARowOfAScheduledRunIsNoLargerForIt: a state has 300 of them.
func TestARowOfAScheduledRunIsNoLargerForIt(t *testing.T) {
	data, err := json.Marshal(ledger.Entry{Outcome: ledger.Started})
	assert.NoError(t, err)
	for _, field := range []string{"by", "through", "changed", "sequence"} {
		assert.NotContains(t, string(data), field)
	}
}

// Who has asked is known when the run is first tried: it stays with a trigger that is refused, or whose start is unclear.
func TestATriggerKeepsTheUserThatAnAnswerNames(t *testing.T) {
	for name, report := range map[string]schedule.Report{
		"refused": {User: "ada", Refusal: ledger.SignalRefused, Message: "no"},
		"unclear": {User: "ada", Unclear: true},
		"started": {User: "ada", Started: &schedule.Run{Name: "hello-t", UID: "uid-t", Started: at("09:40")}},
	} {
		c := newCluster(t, cronSpec("0 * * * *"), at("09:15"))
		request := schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughSignal}, Caller: "ada"}
		plan := schedule.Decide(schedule.AddTrigger(c.state, request, at("09:40")), c.spec, at("09:40"))
		assert.Equal(t, "ada", plan.Start.Caller, name)
		assert.Empty(t, plan.Start.User, name)
		state := schedule.Apply(plan, report, at("09:40"))
		var users []string
		for _, trigger := range state.Triggers {
			users = append(users, trigger.User)
		}
		for _, row := range schedule.Decide(state, c.spec, at("09:41")).Next.Rows() {
			users = append(users, row.User)
		}
		assert.Contains(t, users, "ada", name)
		assert.NotContains(t, users, "", name)
	}
}
