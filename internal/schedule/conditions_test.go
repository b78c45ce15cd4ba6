package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// judging is what a dry run says of the template.
func judging(refusal string) func(int64) schedule.Judgement {
	return func(int64) schedule.Judgement { return schedule.Judgement{Refusal: refusal} }
}

// told renders a condition: its status, reason and message.
func (c *cluster) told(kind string) string {
	condition := c.condition(kind)
	return strings.TrimSpace(string(condition.Status) + " " + condition.Reason + " " + condition.Message)
}

func TestReadyAndStalledFollowFromWhatIsKnown(t *testing.T) {
	const hourly = "0 * * * *"
	for name, test := range map[string]struct {
		spec           schedule.Spec
		do             func(*cluster)
		ready, stalled string
	}{
		"it runs":             {cronSpec(hourly), nil, "True Scheduled", "False NotStalled"},
		"suspended":           {cronSpec(hourly, suspended), nil, "True Suspended", "False NotStalled"},
		"being deleted":       {cronSpec(hourly, deleting), nil, "False Deleting", "False NotStalled"},
		"no time zone":        {cronSpec(hourly, zone("Mars/Olympus")), nil, "False UnknownTimeZone", "True UnknownTimeZone"},
		"no time":             {cronSpec("0 0 30 2 *"), nil, "False NeverFires", "True NeverFires"},
		"no schedule":         {cronSpec("?"), nil, "False UnparseableSchedule", "True UnparseableSchedule"},
		"none, and suspended": {cronSpec("?", suspended), nil, "False UnparseableSchedule", "True UnparseableSchedule"},
		"a template that the API server refuses": {
			cronSpec(hourly), func(c *cluster) { c.judge = judging("no image"); c.at(at("09:30")) },
			"False InvalidTemplate no image", "True InvalidTemplate no image",
		},
		"the same, mended": {
			cronSpec(hourly), func(c *cluster) {
				c.judge = judging("no image")
				c.at(at("09:30"))
				c.judge = nil
				c.edit(at("09:40"))
			}, "True Scheduled", "False NotStalled",
		},
		"a schedule that is mended": {
			cronSpec("?"), func(c *cluster) { c.at(at("09:30")).edit(at("09:40"), func(s *schedule.Spec) { s.Schedule = hourly }) },
			"True Scheduled", "False NotStalled",
		},
		"runs that fail": {cronSpec(hourly), func(c *cluster) { c.at(at("09:30")).runs(jobFailed, jobFailed) }, "True Scheduled", "False NotStalled"},
		"suspended since runs have failed": {
			cronSpec(hourly, pauseAfter(1)), func(c *cluster) { c.at(at("09:30")).runs(jobFailed) }, "True PausedAfterFailures", "False NotStalled",
		},
		"a run whose Job is invalid": {
			cronSpec(hourly), func(c *cluster) {
				c.at(at("09:30"))
				c.refusal, c.refuse = ledger.Invalid, func(schedule.Start) string { return "no image" }
				c.at(at("10:00")).at(c.wake)
			}, "False InvalidTemplate no image", "True InvalidTemplate no image",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:15"))
			if test.do == nil {
				test.do = func(c *cluster) { c.at(at("09:30")) }
			}
			test.do(c)
			for kind, want := range map[string]string{ostinatov1.ConditionReady: test.ready, ostinatov1.ConditionStalled: test.stalled} {
				if got := c.told(kind); got != want && !strings.HasPrefix(got, want+" ") {
					t.Errorf("%s: %s, want %s", kind, got, want)
				}
				if observed := c.condition(kind).ObservedGeneration; observed != c.spec.Generation {
					t.Errorf("%s is of generation %d, want %d", kind, observed, c.spec.Generation)
				}
			}
			assert.NoError(t, schedule.ValidateStatus(c.status, namespace))
		})
	}
}

func TestLastRunSucceeded(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:15")).at(at("10:00"))
	assert.Empty(t, c.told(ostinatov1.ConditionLastRunSucceeded), "while the first run is active")
	c.finish(jobFailed, at("10:10"))
	assert.Equal(t, "False Failed Job hello-24394200 has failed", c.told(ostinatov1.ConditionLastRunSucceeded))
	first := c.condition(ostinatov1.ConditionLastRunSucceeded)
	c.at(at("11:00"))
	assert.Equal(t, first, c.condition(ostinatov1.ConditionLastRunSucceeded), "while the next one is active")
	c.finish(jobFailed, at("11:10"))
	assert.Equal(t, "False Failed Job hello-24394260 has failed; 2 runs in a row have failed", c.told(ostinatov1.ConditionLastRunSucceeded))
	wantTime(t, "transition", c.condition(ostinatov1.ConditionLastRunSucceeded).LastTransitionTime.Time, "10:10")
	again := c.status
	again.RecentRuns = nil
	if kept := restored(t, c.spec, at("09:15"), again, c.ended).at(at("11:30")); kept.told(ostinatov1.ConditionLastRunSucceeded) != c.told(ostinatov1.ConditionLastRunSucceeded) {
		t.Errorf("after the ledger was lost: %s", kept.told(ostinatov1.ConditionLastRunSucceeded))
	}
	c.runs(jobComplete)
	assert.Equal(t, "True Complete", c.told(ostinatov1.ConditionLastRunSucceeded))
	wantTime(t, "transition", c.condition(ostinatov1.ConditionLastRunSucceeded).LastTransitionTime.Time, "12:30")
}

// TestConditionsCostNoWriteOfTheirOwn: not when the template is judged, a run is refused or the
// CronJob is edited and suspended.
func TestConditionsCostNoWriteOfTheirOwn(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:15")).at(at("09:30"))
	for _, step := range []struct {
		name   string
		do     func()
		writes int
	}{
		{"nothing happens", func() { c.at(at("09:31")) }, 0},
		{"suspended", func() { c.edit(at("09:32"), suspended) }, 1},
		{"resumed", func() { c.edit(at("09:33"), resumed) }, 1},
		{"the template is refused", func() { c.judge = judging("no image"); c.edit(at("09:34")) }, 1},
		{"it is mended", func() { c.judge = nil; c.edit(at("09:35")) }, 1},
		{"the schedule is lost", func() { c.edit(at("09:36"), func(s *schedule.Spec) { s.Schedule = "?" }) }, 1},
		{"it is found", func() { c.edit(at("09:37"), func(s *schedule.Spec) { s.Schedule = "0 * * * *" }) }, 1},
		{"a run starts", func() { c.at(at("10:00")) }, 1},
		{"it fails", func() { c.finish(jobFailed, at("10:10")) }, 1},
		{"nothing happens then", func() { c.at(at("10:11")) }, 0},
		{"being deleted", func() { c.edit(at("10:12"), deleting) }, 1},
	} {
		before := c.writes
		if step.do(); c.writes-before != step.writes {
			t.Errorf("%s: %d writes, want %d", step.name, c.writes-before, step.writes)
		}
	}
}

// TestConditionsOfOthersAreNotTakenOver: a status that can't be written would stay as it is for ever.
func TestConditionsOfOthersAreNotTakenOver(t *testing.T) {
	old := newCluster(t, cronSpec("0 * * * *"), at("09:15")).at(at("09:30"))
	now := metav1.NewTime(at("09:31"))
	old.status.Conditions = append(old.status.Conditions, metav1.Condition{Type: "example.com/Seen", Status: "True", Reason: "Seen", LastTransitionTime: now})
	for index := range old.status.Conditions {
		old.status.Conditions[index].Reason = "SomethingElse"
	}
	c := restored(t, old.spec, at("09:15"), old.status, nil).at(at("09:32"))
	assert.NoError(t, schedule.ValidateStatus(c.status, namespace))
	assert.True(t, slices.IsSortedFunc(c.status.Conditions, func(a, b metav1.Condition) int {
		return slices.Index(schedule.ConditionTypes, a.Type) - slices.Index(schedule.ConditionTypes, b.Type)
	}), "%+v", c.status.Conditions)
	assert.Less(t, len(c.status.Conditions), len(schedule.ConditionTypes))
}
