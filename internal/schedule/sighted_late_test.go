package schedule_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

// The Job of a run is found after the starting deadline: the run was not missed, and nobody is to be told that it was.
func TestARunThatIsFoundAfterItsDeadlineIsNotAnnouncedAsMissed(t *testing.T) {
	for name, found := range map[string]func(*cluster){
		"running": func(*cluster) {},
		"complete": func(c *cluster) {
			run := c.running[0]
			c.remove(run.Name, run.UID)
			c.ended = append(c.ended, schedule.Finished{
				Run: run, Condition: batchv1.JobComplete, StartTime: run.Started, CompletionTime: run.Started.Add(time.Second),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *", deadline(5)), at("09:30")).at(at("09:30"))
			c.forget = true
			c.at(at("10:00"))
			found(c)
			c.at(at("10:00:10"))
			wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
			if slices.Contains(c.reasons(), "MissSchedule") {
				t.Errorf("events %q", c.reasons())
			}
		})
	}
}

func TestARunThatWasNotFoundAfterItsDeadlineIsAnnouncedAsMissedOnce(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", deadline(5)), at("09:30")).at(at("09:30")).at(at("10:00:10"))
	wantStrings(t, "events", c.reasons(), "MissSchedule")
}
