package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// dueIn builds a CronJob of a namespace whose next run is due in a while.
func dueIn(namespace string, n int) *ostinatov1.CronJob {
	return cronJob(func(c *ostinatov1.CronJob) {
		c.Namespace, c.Name, c.UID = namespace, fmt.Sprintf("report-%d", n), types.UID(fmt.Sprintf("%s-%d", namespace, n))
	}, taken, nextRun(60))
}

// remindersAt makes a world that leads, with so many reminders a second, and in which all
// are overdue.
func remindersAt(t *testing.T, rate float64, all ...runtime.Object) *world {
	t.Helper()
	w := newWorld(t, all...)
	w.sweepRate = rate / reminderShare
	w.events = record.NewFakeRecorder(10_000)
	w.lead()
	w.eventually(func() bool { return len(w.temporal.said()) == len(all) }, "every workflow is looked for")
	w.temporal.forget()
	w.clock.SetTime(after(80))
	return w
}

// reminded are the workflows that were nudged since the last forget, in order.
func (w *world) reminded() (ids []string) {
	for _, said := range w.temporal.said() {
		if strings.HasSuffix(said, "overdue true") {
			ids = append(ids, strings.Fields(said)[1])
		}
	}
	return ids
}

// In a herd all are late, and signals would make them later. Whoever is late alone, in
// another namespace, is not to wait for the herd.
func TestRemindersAreFewAndNamespacesShareThem(t *testing.T) {
	var herd []runtime.Object
	for n := range 60 {
		herd = append(herd, dueIn("herd", n))
	}
	const rate = 20
	begun := time.Now()
	w := remindersAt(t, rate, append(herd, dueIn("shop", 1))...)
	w.eventually(func() bool { return len(w.reminded()) > 2*rate }, "a part of them is reminded")
	reminded := w.reminded()
	assert.LessOrEqual(t, float64(len(reminded)), 1+rate*time.Since(begun).Seconds())
	assert.Contains(t, reminded[:2*slowWorkers], "cronjob/shop/report-1")
}

// Where many stay overdue, whatever they are told, the others have their turn too.
func TestOverdueCronJobsTakeTurns(t *testing.T) {
	var all []runtime.Object
	for n := range 250 {
		all = append(all, dueIn("shop", n))
	}
	w := remindersAt(t, 1000, all...)
	reminded := map[string]bool{}
	w.eventually(func() bool {
		w.clock.Step(watchdogPeriod)
		for _, id := range w.reminded() {
			reminded[id] = true
		}
		return len(reminded) == len(all)
	}, "all are reminded")
}
