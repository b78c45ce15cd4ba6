package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// A status that somebody forged says that the next run is in the year 9998: nothing is overdue.
func TestANextTimeThatDisagreesWithTheScheduleIsCounted(t *testing.T) {
	far := func(c *ostinatov1.CronJob) {
		c.Status.NextScheduleTime = &metav1.Time{Time: time.Date(9998, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	other := func(c *ostinatov1.CronJob) { c.Name, c.UID = "other", "c2" }
	w := newWorld(t, cronJob(taken, far), cronJob(other, taken, nextRun(60)), cronJob(func(c *ostinatov1.CronJob) { c.Name, c.UID = "new", "c3" }, far))
	w.lead()
	w.clock.SetTime(after(25))
	w.eventually(func() bool {
		w.clock.Step(time.Second)
		return w.measured("ostinato_bridge_wrong_next_times") == 1
	}, "one is counted")
	assert.Positive(t, w.said("first=[shop/report]"))
	assert.Zero(t, w.measured("ostinato_bridge_overdue_cronjobs"))
}
