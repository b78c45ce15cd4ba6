package schedule_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

func scheduleValid(c *cluster) metav1.Condition {
	for _, condition := range c.status.Conditions {
		if condition.Type == ostinatov1.ConditionScheduleValid {
			return condition
		}
	}
	return metav1.Condition{}
}

// A schedule that names no time that ever comes says so in its condition, with what to
// change, and in one Event; an edit heals it.
func TestAScheduleThatNeverFiresSaysSo(t *testing.T) {
	const days = ` never fires: the months that it names do not have the days that it names: change the day of month or the month`
	for expression, message := range map[string]string{
		"0 0 31 2 *":        `schedule "0 0 31 2 *"` + days,
		"0 0 30 feb *":      `schedule "0 0 30 feb *"` + days,
		"0 0 31 4,6,9,11 ?": `schedule "0 0 31 4,6,9,11 ?"` + days,
		"0 , * * *":         `schedule "0 , * * *" never fires: its field hour names nothing: write * or a number there`,
		"0 0 , * *":         `schedule "0 0 , * *" never fires: its field day of month names nothing: write * or a number there`,
	} {
		for _, option := range []specOption{allow, suspended} {
			c := newCluster(t, cronSpec(expression, option), at("10:00")).at(at("10:00"))
			for range 3 {
				c.at(c.now.AddDate(0, 1, 0))
			}
			if valid := scheduleValid(c); valid.Status != metav1.ConditionFalse || valid.Reason != string(times.NeverFires) || valid.Message != message {
				t.Errorf("%q: condition %+v", expression, valid)
			}
			wantStrings(t, "events", c.reasons(), "NeverFires")
			if e := c.events[0]; e.Type != "Warning" || e.Message != message {
				t.Errorf("%q: Event %+v", expression, e)
			}
			wantTime(t, "wake", c.wake, "")
			c.edit(c.now, func(s *schedule.Spec) { s.Schedule = "0 0 29 2 *" })
			if valid := scheduleValid(c); valid.Status != metav1.ConditionTrue || valid.Message != "" {
				t.Errorf("%q, mended: condition %+v", expression, valid)
			}
			wantStrings(t, "events", c.reasons(), "NeverFires")
		}
	}
}

// What fires seldom, or by its day of the week alone, is no such schedule.
func TestASeldomScheduleFires(t *testing.T) {
	for _, expression := range []string{"0 0 29 2 *", "0 0 31 2 1", "0 0 31 */2 *", "0 0 , * 1", "@every 87600h"} {
		c := newCluster(t, cronSpec(expression), at("10:00")).at(at("10:00"))
		if valid := scheduleValid(c); valid.Status != metav1.ConditionTrue || c.status.NextScheduleTime == nil {
			t.Errorf("%q: condition %+v, next %v", expression, valid, c.status.NextScheduleTime)
		}
	}
}

func TestImpossibleDateNeverFires(t *testing.T) {
	spec := cronSpec("59 23 31 2 *")
	evaluation := schedule.Evaluate(spec, createdAt(at("10:00:10")), at("11:00"))
	want := times.Problem{
		Reason:  times.NeverFires,
		Message: `schedule "59 23 31 2 *" never fires: the months that it names do not have the days that it names: change the day of month or the month`,
	}
	if evaluation.Problem == nil || *evaluation.Problem != want {
		t.Errorf("got %+v, want %+v", evaluation.Problem, want)
	}
}
