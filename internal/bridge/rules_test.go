package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

func TestDecideCronJob(t *testing.T) {
	const grace = 15 * time.Second
	sent := cronJobMemory{uid: "c1", sent: attempts[int64]{1, 1, after(0)}}
	nudged := cronJobMemory{uid: "c1", nudges: attempts[int64]{after(60).Unix(), 1, after(80)}}
	for _, test := range []struct {
		name   string
		object *ostinatov1.CronJob
		run    *batchv1.Job
		memory cronJobMemory
		sweep  bool
		now    int
		want   action
		again  time.Duration
	}{
		{name: "new: send", object: cronJob(), want: send, again: 30 * time.Second},
		{name: "sent and not yet taken: wait", object: cronJob(), memory: sent, now: 10, want: leave, again: 20 * time.Second},
		{name: "not taken in time: send again", object: cronJob(), memory: sent, now: 30, want: send, again: time.Minute},
		{name: "edited while waiting: send the edit at once", object: cronJob(generation(2)), memory: sent, now: 1, want: send, again: 30 * time.Second},
		{name: "re-created while waiting: send at once", object: cronJob(func(c *ostinatov1.CronJob) { c.UID = "c2" }), memory: sent, now: 1, want: send, again: 30 * time.Second},
		{name: "taken: nothing", object: cronJob(taken), want: leave},
		{name: "edited after it was taken: send", object: cronJob(taken, generation(2)), want: send, again: 30 * time.Second},
		{name: "taken, by a workflow of another Temporal namespace: send", object: cronJob(taken, func(c *ostinatov1.CronJob) { c.Status.Workflow.Namespace = "old" }), want: send, again: 30 * time.Second},
		{name: "taken, status without workflow: send", object: cronJob(taken, func(c *ostinatov1.CronJob) { c.Status.Workflow = nil }), want: send, again: 30 * time.Second},
		{name: "sweep of one taken: make sure of the workflow", object: cronJob(taken), sweep: true, want: ensure},
		{name: "sweep of one not taken: send", object: cronJob(), sweep: true, want: send, again: 30 * time.Second},
		{name: "next run in the future: nothing", object: cronJob(taken, nextRun(60)), now: 59, want: leave},
		{name: "next run past, inside the grace: nothing", object: cronJob(taken, nextRun(60)), now: 75, want: leave},
		{name: "next run past the grace: nudge", object: cronJob(taken, nextRun(60)), now: 76, want: nudge, again: 30 * time.Second},
		{name: "next run past the grace, which has its Job: nothing", object: cronJob(taken, nextRun(60)), run: run("r1"), now: 660, want: leave},
		{name: "next run past, which has its Job, long ago: nudge", object: cronJob(taken, nextRun(60)), run: run("r1"), now: 661, want: nudge, again: 30 * time.Second},
		{name: "nudged a moment ago: wait", object: cronJob(taken, nextRun(60)), memory: nudged, now: 90, want: leave, again: 20 * time.Second},
		{name: "nudged for this run long ago: nudge again", object: cronJob(taken, nextRun(60)), memory: nudged, now: 110, want: nudge, again: time.Minute},
		{name: "nudged for an earlier run: nudge for this one", object: cronJob(taken, nextRun(70)), memory: nudged, now: 90, want: nudge, again: 30 * time.Second},
		{name: "overdue and suspended: nothing", object: cronJob(taken, nextRun(60), func(c *ostinatov1.CronJob) { c.Spec.Suspend = ptr.To(true) }), now: 600, want: leave},
		{name: "overdue and being deleted: nothing", object: cronJob(taken, nextRun(60), func(c *ostinatov1.CronJob) { c.DeletionTimestamp = at(70) }), now: 600, want: leave},
		{name: "restored to a generation that its status calls taken, after a later one was: send", object: cronJob(taken, generation(1)),
			memory: cronJobMemory{uid: "c1", sent: attempts[int64]{of: 3}}, want: send, again: 30 * time.Second},
		{name: "restored, and sent: nothing", object: cronJob(taken), memory: sent, now: 1, want: leave},
		{name: "re-created, after a later generation of its predecessor: nothing", object: cronJob(taken),
			memory: cronJobMemory{uid: "old", sent: attempts[int64]{of: 3}}, want: leave},
		{name: "edited by its workflow, which has taken it: nothing", object: cronJob(generation(2), taken), memory: sent, now: 1, want: leave},
		{name: "overdue and edited: the edit wakes the workflow", object: cronJob(taken, nextRun(60), generation(2)), now: 600, want: send, again: 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			overdue := overdueCronJob(test.object, test.run, grace, after(test.now))
			got := decideCronJob(test.object, referenceFor("shop", "report"), test.memory.of(test.object), test.sweep, overdue, after(test.now))
			assert.Equal(t, decision{action: test.want, again: test.again}, got)
		})
	}
}

func TestRepeatsBecomeRare(t *testing.T) {
	assert.Zero(t, repeatWait(0))
	assert.Equal(t, 30*time.Second, repeatWait(1))
	assert.Equal(t, time.Minute, repeatWait(2))
	assert.Equal(t, 10*time.Minute, repeatWait(50))
}

func TestDecideJob(t *testing.T) {
	known := jobMemory{uid: "j1", spec: job.SpecOf(standalone())}
	knownRun := jobMemory{uid: "r1", spec: job.SpecOf(run("r1"))}
	old := jobMemory{uid: "old", spec: job.SpecOf(standalone(func(j *batchv1.Job) { j.Generation = 7 }))}
	patient := setting(names.PendingDeadlineAnnotation, "600")
	for _, test := range []struct {
		name   string
		object *batchv1.Job
		memory jobMemory
		sweep  bool
		now    int
		want   decision
	}{
		{name: "another controller's: nothing", object: standalone(foreign), want: decision{action: leave}},
		{name: "finished: nothing", object: standalone(complete), want: decision{action: leave}},
		{name: "finished, in the sweep: nothing", object: standalone(failed), sweep: true, want: decision{action: leave}},
		{name: "new: leave it to the watch", object: standalone(), now: 1, want: decision{again: 59 * time.Second}},
		{name: "new, in the sweep: the same", object: standalone(), now: 1, sweep: true, want: decision{again: 59 * time.Second}},
		{name: "still without workflow: start, and insist", object: standalone(), now: 60, want: decision{action: ensure, insist: true}},
		{name: "new and edited: send", object: standalone(edited), want: decision{action: send}},
		{name: "first seen running: nothing", object: standalone(running), want: decision{action: leave, taken: true}},
		{name: "first seen running, in the sweep: start, should its workflow be lost", object: standalone(running), sweep: true, want: decision{action: ensure}},
		{name: "first seen suspended by its workflow, in the sweep: start", object: standalone(suspended), sweep: true, want: decision{action: ensure}},
		{name: "first seen after an edit: send", object: standalone(running, edited), want: decision{action: send}},
		{name: "known: nothing", object: standalone(running), memory: known, want: decision{action: leave}},
		{name: "known, in the sweep: start", object: standalone(running), memory: known, sweep: true, want: decision{action: ensure}},
		{name: "known and edited: send", object: standalone(running, edited), memory: known, want: decision{action: send}},
		{name: "restored to an earlier generation: send", object: standalone(running),
			memory: jobMemory{uid: "j1", spec: job.SpecOf(standalone(edited))}, want: decision{action: send}},
		{name: "deletion that waits is an edit: send", object: standalone(running, edited, func(j *batchv1.Job) { j.DeletionTimestamp = at(5) }), memory: known, want: decision{action: send}},
		{name: "re-created: send", object: standalone(), memory: old, want: decision{action: send}},

		{name: "a run, new: leave it to the CronJob's workflow", object: run("r1"), now: 1, want: decision{action: leave, again: 59 * time.Second}},
		{name: "a run, new, in the sweep: the same", object: run("r1"), now: 1, sweep: true, want: decision{action: leave, again: 59 * time.Second}},
		{name: "a run still without workflow: start", object: run("r1"), now: 60, want: decision{action: ensure}},
		{name: "a run with a workflow: nothing", object: run("r1", running), now: 100, want: decision{action: leave, taken: true}},
		{name: "a run with a workflow, in the sweep: start", object: run("r1", running), now: 3, sweep: true, want: decision{action: ensure}},
		{name: "a run edited at once: only to a workflow that runs", object: run("r1", edited), now: 1, want: decision{action: send, runningOnly: true, again: time.Second}},
		{name: "a run edited later: send", object: run("r1", running, edited), now: 100, want: decision{action: send}},
		{name: "a known run edited again: send", object: run("r1", running, edited, edited), memory: knownRun, now: 100, want: decision{action: send}},

		{name: "a new setting is an edit, though the generation stays: send", object: standalone(running, patient), memory: known, want: decision{action: send}},
		{name: "a setting of another value too", object: standalone(running, setting(names.BackoffBaseAnnotation, "3")),
			memory: jobMemory{uid: "j1", spec: job.SpecOf(standalone(setting(names.BackoffBaseAnnotation, "2")))}, want: decision{action: send}},
		{name: "a setting taken back too", object: standalone(running), memory: jobMemory{uid: "j1", spec: job.SpecOf(standalone(patient))}, want: decision{action: send}},
		{name: "another annotation is none", object: standalone(running, setting("team", "a")), memory: known, want: decision{action: leave}},
		{name: "new with a setting: leave it to the watch", object: standalone(patient), now: 1, want: decision{again: 59 * time.Second}},
		{name: "first seen running with a setting, which may be an edit: send", object: standalone(running, patient), want: decision{action: send}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, decideJob(ownership{}, test.object, test.memory, test.sweep, after(test.now)))
		})
	}
}

func TestClosingsAreRunsThatStatusStillLists(t *testing.T) {
	jobs := map[string]*batchv1.Job{}
	for _, j := range []*batchv1.Job{
		run("going", running), run("done", complete), run("broken", failed),
		run("again", running, func(j *batchv1.Job) { j.UID = "again-2" }),
		run("theirs", foreign, complete),
	} {
		jobs[j.Name] = j
	}
	find := func(name types.NamespacedName) *batchv1.Job { return jobs[name.Name] }
	listed := cronJob(active("going", "done", "broken", "again", "vanished", "theirs"))

	closings := ownership{}.closings(listed, []closing{{uid: "done", since: after(3)}}, find, after(10))

	require.Len(t, closings, 5)
	assert.Equal(t, closing{name: "report-done", uid: "done", grace: closedGrace, since: after(3)}, closings[0], "what is known is kept")
	assert.Equal(t, closing{name: "report-broken", uid: "broken", grace: closedGrace, since: after(10)}, closings[1])
	for i, uid := range []string{"again", "vanished"} {
		assert.Equal(t, closing{name: "report-" + uid, uid: uid, deleted: true, grace: closedGrace, since: after(10)}, closings[2+i])
	}
	assert.False(t, closings[4].deleted, "a run of another controller too")
	assert.Zero(t, closings[4].grace, "nobody else brings its end")
}

func TestClosingIsSentAfterTheGraceAndSeldomAgain(t *testing.T) {
	for _, test := range []struct {
		name string
		run  closing
		now  int
		wait time.Duration
	}{
		{"just seen", closing{grace: closedGrace, since: after(0)}, 1, 9 * time.Second},
		{"after the grace", closing{grace: closedGrace, since: after(0)}, 10, 0},
		{"of another controller", closing{since: after(0)}, 0, 0},
		{"just sent", closing{since: after(0), sentAt: after(5)}, 15, 50 * time.Second},
		{"sent long ago", closing{since: after(0), sentAt: after(5)}, 65, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.wait, test.run.wait(after(test.now)))
		})
	}
}

func TestTrimmedObjectsHoldNoTemplate(t *testing.T) {
	trimmed, err := trimCronJob(cronJob(taken, active("r1")))
	require.NoError(t, err)
	c := trimmed.(*ostinatov1.CronJob)
	assert.Empty(t, c.Spec.JobTemplate)
	assert.Equal(t, "* * * * *", c.Spec.Schedule)
	assert.Len(t, c.Status.Active, 1)

	trimmed, err = ownership{}.trimJob(run("r1", running))
	require.NoError(t, err)
	j := trimmed.(*batchv1.Job)
	assert.Equal(t, corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure}}, j.Spec.Template)
	assert.Equal(t, start, k8s.ScheduledTime(j))
	assert.Equal(t, job.SpecOf(run("r1", running)), job.SpecOf(j), "trimming must not change what decides")
	assert.NotNil(t, j.Status.StartTime)

	trimmed, err = ownership{}.trimJob(standalone(foreign, complete))
	require.NoError(t, err)
	j = trimmed.(*batchv1.Job)
	assert.Equal(t, types.UID("j1"), j.UID)
	assert.Empty(t, j.Spec)
	assert.Empty(t, j.Status)
}
