package bridge

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
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
// limits when it has ended. While it writes nothing it is asked once for each.
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

// A workflow takes in so many at a time and drops the rest: those that its next status does
// not list are reported again, those that it lists are not.
func TestJobsThatTheStatusDoesNotListAreMentionedAgain(t *testing.T) {
	w := newWorld(t, cronJob(taken, nextRun(24*3600)))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	var listed, all, dropped []string
	for n := range 150 {
		uid := fmt.Sprintf("m%03d", n)
		w.putJob(run(uid, foreign, madeByHand, running))
		reported := "signal " + cronJobID + " job-seen report-" + uid
		all = append(all, reported)
		if n < 100 {
			listed = append(listed, uid)
		} else {
			dropped = append(dropped, reported)
		}
	}
	w.hearsInTime(all...)
	w.clock.Step(time.Hour)
	w.hears()
	w.put(cronJob(taken, nextRun(24*3600), active(listed...), func(c *ostinatov1.CronJob) { c.ResourceVersion = "2" }))
	w.hearsInTime(dropped...)
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
	object := cronJob(active("listed"), func(c *ostinatov1.CronJob) { c.ResourceVersion = "2" })
	reported := func(times, seconds int, version string) attempts[string] {
		return attempts[string]{version, times, after(seconds)}
	}
	for name, test := range map[string]struct {
		job   *batchv1.Job
		known attempts[string]
		now   int
		due   bool
		again time.Duration
	}{
		"listed":                            {job: nativeRun("listed", running), now: 60},
		"of a run, status not written":      {job: nativeRun("r1", running, created(15)), now: 20, again: 25 * time.Second},
		"of a run, and status forgot it":    {job: nativeRun("r1", running), now: 30, due: true},
		"of a run, ended":                   {job: nativeRun("r1", complete), now: 60},
		"by hand, just now":                 {job: nativeRun("r1", running, madeByHand), now: 9, again: time.Second},
		"by hand":                           {job: nativeRun("r1", running, madeByHand), now: 10, due: true},
		"by hand, ended":                    {job: nativeRun("r1", madeByHand, complete), now: 20, due: true},
		"by hand, listed by the workflow":   {job: nativeRun("listed", madeByHand, running), now: 60},
		"by hand, and not even a start yet": {job: nativeRun("r1", madeByHand), now: 20, due: true},

		"mentioned, and status still lacks it":             {job: nativeRun("r1", running), known: reported(1, 30, "1"), now: 60, due: true},
		"mentioned a moment ago":                           {job: nativeRun("r1", running), known: reported(1, 30, "1"), now: 40, again: 20 * time.Second},
		"mentioned twice":                                  {job: nativeRun("r1", running), known: reported(2, 60, "1"), now: 90, again: 30 * time.Second},
		"mentioned, and no status since":                   {job: nativeRun("r1", running), known: reported(1, 30, "2"), now: 3600, again: 30 * time.Second},
		"mentioned, and listed":                            {job: nativeRun("listed", running), known: reported(1, 30, "1"), now: 60},
		"ended, mentioned, and another status since":       {job: nativeRun("r1", madeByHand, complete), known: reported(1, 30, "1"), now: 60, due: true},
		"ended, mentioned twice, and another status since": {job: nativeRun("r1", madeByHand, complete), known: reported(2, 30, "1"), now: 3600},
	} {
		t.Run(name, func(t *testing.T) {
			due, again := unexpected(object, []*batchv1.Job{test.job}, reports{subjectOf(test.job): test.known}, after(test.now))
			assert.Equal(t, test.due, len(due) == 1)
			assert.Equal(t, test.again, again)
		})
	}
}

func created(seconds int) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.CreationTimestamp = *at(seconds) }
}
