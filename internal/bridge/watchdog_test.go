package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// While a herd is being started the watchdog waits as much longer as its runs are late.
func TestAHerdThatIsBeingStartedIsNotPoked(t *testing.T) {
	other := func(c *ostinatov1.CronJob) { c.Name, c.UID = "other", "c2" }
	w := newWorld(t, cronJob(taken, nextRun(60)), cronJob(other, taken, nextRun(600)))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start cronjob/shop/other", "start "+cronJobID)
	w.clock.SetTime(after(74))
	w.putJob(run("r1", func(j *batchv1.Job) {
		j.Name, j.OwnerReferences[0].Name, j.OwnerReferences[0].UID = names.ScheduledJob("other", after(60)), "other", "c2"
		j.Annotations[names.ScheduledTimestampAnnotation] = after(60).Format(time.RFC3339)
		j.CreationTimestamp = *at(74) // 14 s late
	}))
	w.putJob(standalone())
	w.hears("start " + jobID)  // and so the Job before it is seen
	w.clock.SetTime(after(85)) // 25 s late, and the grace is 15 s
	poked := func() bool {
		return slices.ContainsFunc(w.temporal.said(), func(said string) bool { return strings.HasSuffix(said, "overdue true") })
	}
	assert.Never(t, poked, 500*time.Millisecond, 5*time.Millisecond, "poked while others of its time are being started")
	w.eventually(func() bool { w.clock.Step(5 * time.Second); return poked() }, "poked when it is later than the herd")
}

// Where many stay overdue, whatever they are told, the watchdog comes to the others too.
func TestOverdueCronJobsTakeTurns(t *testing.T) {
	var all []runtime.Object
	for i := range mostPokes + 50 {
		all = append(all, cronJob(func(c *ostinatov1.CronJob) {
			c.Name, c.UID = fmt.Sprintf("report-%d", i), types.UID(fmt.Sprintf("c%d", i))
		}, taken, nextRun(60+i/100)))
	}
	w := newWorld(t, all...)
	w.events = record.NewFakeRecorder(10_000)
	w.lead()
	w.eventually(func() bool { return len(w.temporal.said()) == len(all) }, "every workflow is looked for")
	w.temporal.forget()
	poked := map[string]bool{}
	w.eventually(func() bool {
		w.clock.Step(10 * time.Second)
		for _, said := range w.temporal.said() {
			if strings.HasSuffix(said, "overdue true") {
				poked[strings.Fields(said)[1]] = true
			}
		}
		return len(poked) == len(all)
	}, "all are poked")
}

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
