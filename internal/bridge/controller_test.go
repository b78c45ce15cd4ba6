package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
)

// What changed and what is swept go through queues of their own. A Job that is in
// both at once, and was deleted and made again, is handled once at a time: otherwise
// both would send, and forget, the same deletion.
func TestAnObjectInBothQueuesIsHandledOnceAtATime(t *testing.T) {
	w := newWorld(t, standalone(running))
	w.settings.SweepInterval = time.Hour
	w.temporal.running[jobID] = "j1"
	w.lead().hears("start " + jobID)

	letGo := w.temporal.hold(jobID)
	w.putJob(standalone(func(j *batchv1.Job) { j.UID = "j2" }))
	w.eventually(func() bool { return w.temporal.underWay(jobID) == 1 }, "the change is being sent")
	swept := w.measured("workqueue_adds_total", "bridge-sweep")
	w.clock.Step(time.Hour)
	w.eventually(func() bool {
		return w.measured("workqueue_adds_total", "bridge-sweep") > swept && w.measured("workqueue_depth", "bridge-sweep") == 0
	}, "the sweep has come to the Job")
	assert.Never(t, func() bool { return w.temporal.underWay(jobID) > 1 }, 100*time.Millisecond, time.Millisecond)
	letGo()
	w.hears("signal-with-start "+jobID+" job-spec j2 generation 1 deleting false", "start "+jobID)
	assert.Equal(t, 1, w.temporal.most())
}

// A deletion is forgotten when it was sent, and no other with it.
func TestOnlyDeletionsThatWereSentAreForgotten(t *testing.T) {
	item := jobKey(standalone())
	var gone backlog[string]
	gone.add(item, "j1")
	first, second := gone.get(item), gone.get(item)
	gone.add(item, "j2")
	gone.done(item, first)
	gone.done(item, second)
	assert.Equal(t, []string{"j2"}, gone.get(item))
	gone.done(item, []string{"j2"})
	assert.Zero(t, gone.len())
}
