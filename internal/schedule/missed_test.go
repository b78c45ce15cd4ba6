package schedule_test

import (
	"testing"
)

func TestARunThatWasNotFoundAfterItsDeadlineIsAnnouncedAsMissedOnce(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", deadline(5)), at("09:30")).at(at("09:30")).at(at("10:00:10"))
	wantStrings(t, "events", c.reasons(), "MissSchedule")
}
