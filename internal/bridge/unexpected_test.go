package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

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

// The workflow takes such a Job in when it has looked, and counts it for the history
// limits when it has ended. It is asked once for each.
func TestAJobThatTheWorkflowDidNotStartIsMentioned(t *testing.T) {
	w := newWorld(t, native(nativeTaken, nativeNextRun(24*3600))).takingOverCronJobs()
	w.temporal.running[nativeID] = "n1"
	w.lead().hears("start " + nativeID)
	w.putJob(nativeRun("r1", foreign, madeByHand, running))
	w.hearsInTime("signal " + nativeID + " job-seen report-r1")
	w.putJob(nativeRun("r1", foreign, madeByHand, complete))
	w.hearsInTime("signal " + nativeID + " job-seen report-r1")
	w.clock.Step(time.Hour)
	w.putJob(nativeRun("r2", foreign, madeByHand, running))
	w.hearsInTime("signal " + nativeID + " job-seen report-r2")
}

// What others delete no longer counts for a history limit; what the workflow deletes
// itself leaves as many as the limit allows.
func TestWhichDeletedJobsTheWorkflowStillCounts(t *testing.T) {
	object := cronJob()
	object.Spec.SuccessfulJobsHistoryLimit, object.Spec.FailedJobsHistoryLimit = ptr.To[int32](2), ptr.To[int32](0)
	gone := []pruned{{"a", "a", batchv1.JobComplete}, {"b", "b", batchv1.JobFailed}}
	for name, test := range map[string]struct {
		left []*batchv1.Job
		want []string
	}{
		"as many are left as are kept": {[]*batchv1.Job{nativeRun("r1", complete), nativeRun("r2", complete)}, nil},
		"fewer are left":               {[]*batchv1.Job{nativeRun("r1", complete), nativeRun("r2", running)}, []string{"a"}},
		"none are left, and none kept": {[]*batchv1.Job{nativeRun("r1", complete), nativeRun("r2", complete), nativeRun("r3", complete)}, nil},
		"all are gone":                 {nil, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, one := range prunedByOthers(object, gone, test.left) {
				names = append(names, one.name)
			}
			assert.Equal(t, test.want, names)
		})
	}
}

func TestWhichJobsAreUnexpected(t *testing.T) {
	object := cronJob(active("listed"))
	for name, test := range map[string]struct {
		job             *batchv1.Job
		behind          time.Duration
		underWay, ended bool
		again           time.Duration
	}{
		"listed":                            {job: nativeRun("listed", running)},
		"of a run, status not written":      {job: nativeRun("r1", running, created(15)), again: 5 * time.Second},
		"of a run, and status forgot it":    {job: nativeRun("r1", running), underWay: true},
		"of a run, and all are late":        {job: nativeRun("r1", running), behind: 15 * time.Second, again: 5 * time.Second},
		"by hand, and all are late":         {job: nativeRun("r1", running, madeByHand), behind: 15 * time.Second, underWay: true},
		"of a run, ended":                   {job: nativeRun("r1", complete)},
		"by hand":                           {job: nativeRun("r1", running, madeByHand), underWay: true},
		"by hand, ended":                    {job: nativeRun("r1", madeByHand, complete), ended: true},
		"by hand, listed by the workflow":   {job: nativeRun("listed", madeByHand, running)},
		"by hand, and not even a start yet": {job: nativeRun("r1", madeByHand), underWay: true},
	} {
		t.Run(name, func(t *testing.T) {
			underWay, ended, again := unexpected(object, []*batchv1.Job{test.job}, closedGrace+test.behind, after(20))
			assert.Equal(t, test.again, again)
			assert.Equal(t, test.underWay, len(underWay) == 1)
			assert.Equal(t, test.ended, len(ended) == 1)
		})
	}
}

func created(seconds int) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.CreationTimestamp = *at(seconds) }
}
