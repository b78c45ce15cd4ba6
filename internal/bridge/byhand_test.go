package bridge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/names"
)

// madeByHand makes the Job one that "kubectl create job --from" has made.
func madeByHand(j *batchv1.Job) {
	j.Annotations = map[string]string{names.InstantiateAnnotation: "manual"}
}

func TestAJobMadeByHandFromANativeCronJobStartsAtOnce(t *testing.T) {
	w := newWorld(t).takingOver().takingOverCronJobs().lead()
	w.putJob(nativeRun("r1", foreign, madeByHand))
	w.hears("start job/shop/report-r1")
	w.putJob(nativeRun("r2", foreign))
	w.hears()
}

// Its CronJob says that it did not start the Job, once, and its workflow hears of the end,
// since the Job counts for the history limits.
func TestAJobMadeByHandFromANativeCronJob(t *testing.T) {
	w := newWorld(t, native(nativeTaken, nativeNextRun(600))).takingOverCronJobs()
	w.temporal.running[nativeID] = "n1"
	w.lead().hears("start " + nativeID)
	w.putJob(nativeRun("r1", foreign, madeByHand, running))
	w.eventually(func() bool {
		w.clock.Step(closedGrace)
		return len(w.events.Events) > 0
	}, "an Event")
	assert.Equal(t, "Warning UnexpectedJob Saw a job that the controller did not create or forgot: report-r1", <-w.events.Events)
	w.putJob(nativeRun("r1", foreign, madeByHand, complete))
	w.hearsInTime("signal " + nativeID + " job-closed report-r1 Complete")
	assert.Empty(t, w.events.Events, "said once")
}

func TestWhichJobsAreMadeByHand(t *testing.T) {
	object := cronJob(active("listed"))
	for name, test := range map[string]struct {
		job             *batchv1.Job
		underWay, ended bool
	}{
		"listed":                            {job: nativeRun("listed", running)},
		"of a run, status not written":      {job: nativeRun("r1", running, created(15))},
		"of a run, and status forgot it":    {job: nativeRun("r1", running), underWay: true},
		"of a run, ended":                   {job: nativeRun("r1", complete)},
		"by hand":                           {job: nativeRun("r1", running, madeByHand), underWay: true},
		"by hand, ended":                    {job: nativeRun("r1", madeByHand, complete), ended: true},
		"by hand, listed by the workflow":   {job: nativeRun("listed", madeByHand, running)},
		"by hand, and not even a start yet": {job: nativeRun("r1", madeByHand), underWay: true},
	} {
		t.Run(name, func(t *testing.T) {
			underWay, ended := byHand(object, []*batchv1.Job{test.job}, after(20))
			assert.Equal(t, test.underWay, len(underWay) == 1)
			assert.Equal(t, test.ended, len(ended) == 1)
		})
	}
}

func created(seconds int) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.CreationTimestamp = *at(seconds) }
}
