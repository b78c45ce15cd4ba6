package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/names"
)

func TestAHerdIsNotCalledOverdue(t *testing.T) {
	s := skew{most: mostSkew}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	assert.Zero(t, s.worstOf(noon))
	s.saw(20*time.Second, noon)
	s.saw(5*time.Second, noon.Add(time.Second))
	s.saw(time.Hour, noon.Add(time.Second)) // it had to wait for the run before it
	s.saw(-time.Second, noon.Add(time.Second))
	assert.Equal(t, 20*time.Second, s.worstOf(noon.Add(30*time.Second)))
	s.saw(3*time.Second, noon.Add(5*time.Minute))
	assert.Equal(t, 20*time.Second, s.worstOf(noon.Add(9*time.Minute)))
	assert.Equal(t, 3*time.Second, s.worstOf(noon.Add(11*time.Minute)))
	assert.Zero(t, s.worstOf(noon.Add(time.Hour)))
}

// Whoever may create Jobs writes any scheduled time into them, and any owner.
func TestOnlyAJobOfARunSaysHowLateRunsAre(t *testing.T) {
	scheduled := after(60)
	made := func(change func(*batchv1.Job)) *batchv1.Job {
		job := run("r1", func(j *batchv1.Job) {
			j.Name = names.ScheduledJob("report", scheduled)
			j.Annotations[names.ScheduledTimestampAnnotation] = scheduled.Format(time.RFC3339)
			j.CreationTimestamp = *at(90)
		})
		change(job)
		return job
	}
	for name, test := range map[string]struct {
		change func(*batchv1.Job)
		counts bool
	}{
		"the run of a CronJob": {func(*batchv1.Job) {}, true},
		"another name":         {func(j *batchv1.Job) { j.Name = "forged" }, false},
		"another time": {func(j *batchv1.Job) {
			j.Annotations[names.ScheduledTimestampAnnotation] = after(0).Format(time.RFC3339)
		}, false},
		"an owner that is not there":  {func(j *batchv1.Job) { j.OwnerReferences[0].Name = "gone" }, false},
		"an owner of an earlier name": {func(j *batchv1.Job) { j.OwnerReferences[0].UID = "c0" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.bridge().newController()
			require.NoError(t, w.objects.of(w.objects.cronJobs, "shop").GetStore().Add(cronJob(taken)))
			w.clock.SetTime(after(90))
			c.jobAdded(made(test.change), false)
			late := c.skew.worstOf(w.clock.Now())
			assert.Equal(t, test.counts, late > 0, "late by %v", late)
		})
	}
}
