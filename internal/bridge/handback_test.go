package bridge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// counting makes a Job's status count so many Pods.
func counting(succeeded, failed int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Status.Succeeded, j.Status.Failed = succeeded, failed }
}

// knowing is a workflow that knows this of its Job and Pods.
func knowing(status batchv1.JobStatus, pods ...job.Pod) JobWorkflow {
	return JobWorkflow{Running: true, Description: protocol.JobDescription{Status: status, Pods: pods}}
}

func TestWhenAJobIsDrained(t *testing.T) {
	pod := func(fate job.Fate, tracked bool) job.Pod {
		return job.Pod{PodFact: job.PodFact{Name: "import-x", UID: "x", Tracked: tracked}, Fate: fate}
	}
	gone := pod(job.PodFailed, true)
	gone.Gone = true
	atWork := knowing(batchv1.JobStatus{})
	atWork.AtWork = true
	for _, test := range []struct {
		name     string
		job      *batchv1.Job
		workflow JobWorkflow
		want     string
	}{
		{name: "nothing has ended", job: standalone(running), workflow: knowing(batchv1.JobStatus{}, pod(job.Undecided, true))},
		{name: "all that is counted is released", job: standalone(counting(3, 1)),
			workflow: knowing(batchv1.JobStatus{Succeeded: 3, Failed: 1}, pod(job.PodSucceeded, false), pod(job.Undecided, true))},
		{name: "a counted Pod is gone", job: standalone(counting(0, 1)), workflow: knowing(batchv1.JobStatus{Failed: 1}, gone)},
		{name: "something is under way", job: standalone(running), workflow: atWork, want: "its workflow is at work"},
		{name: "a success was written and is not known to be", job: standalone(counting(1, 0)), workflow: knowing(batchv1.JobStatus{}),
			want: "its workflow has not heard that its status was written"},
		{name: "a failure too", job: standalone(counting(0, 1)), workflow: knowing(batchv1.JobStatus{}),
			want: "its workflow has not heard that its status was written"},
		{name: "an index too", job: standalone(func(j *batchv1.Job) { j.Status.CompletedIndexes = "0" }), workflow: knowing(batchv1.JobStatus{}),
			want: "its workflow has not heard that its status was written"},
		{name: "a failed index too", job: standalone(func(j *batchv1.Job) { j.Status.FailedIndexes = ptr.To("0") }), workflow: knowing(batchv1.JobStatus{}),
			want: "its workflow has not heard that its status was written"},
		{name: "a counted Pod is not released", job: standalone(counting(1, 0)), workflow: knowing(batchv1.JobStatus{Succeeded: 1}, pod(job.PodSucceeded, true)),
			want: "Pod import-x is counted and not released"},
		{name: "nor one that is never to be counted", job: standalone(), workflow: knowing(batchv1.JobStatus{}, pod(job.PodUncounted, true)),
			want: "Pod import-x is counted and not released"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, undrained(test.job, test.workflow))
		})
	}
}

func TestAJobThatIsHandedBackIsDrainedFirst(t *testing.T) {
	w := newWorld(t, standalone(foreign, running, counting(2, 0), statusBy(k8s.JobFieldManager, 2)))
	w.temporal.running[jobID] = "j1"
	w.temporal.describes(jobID, knowing(batchv1.JobStatus{Succeeded: 1}))
	w.lead().eventually(func() bool { return w.measured("ostinato_bridge_jobs_to_hand_back") == 1 }, "it waits")
	w.eventually(func() bool { return w.said("a Job is handed back later") == 1 }, "and it is said")
	w.clock.Step(drainRetry)
	w.hears()

	w.temporal.describes(jobID, knowing(batchv1.JobStatus{Succeeded: 2}))
	w.hearsInTime("terminate " + jobID)
	w.eventually(func() bool { return w.measured("ostinato_bridge_jobs_to_hand_back") == 0 }, "none is left")
	w.eventually(func() bool { return w.said("every Job that is another controller's is handed back") == 1 }, "and it is said")
	assert.Equal(t, 1, w.said("a Job is handed back later"), "said once")
}

// Where two controllers have the Job already, the end comes at once.
func TestAJobThatTheBuiltInControllerHasBegunIsNotDrained(t *testing.T) {
	w := newWorld(t, standalone(foreign, running, counting(2, 0), statusBy(k8s.JobFieldManager, 2), statusBy(builtInManager, 3)))
	w.temporal.running[jobID] = "j1"
	w.temporal.describes(jobID, knowing(batchv1.JobStatus{Succeeded: 1}))
	w.lead().hears("terminate " + jobID)
}

// A workflow that ends while it is waited for, by itself or by hand, is waited for no more.
func TestAJobThatIsDrainedByItsEnd(t *testing.T) {
	w := newWorld(t, standalone(foreign, running, counting(2, 0), statusBy(k8s.JobFieldManager, 2)))
	w.temporal.running[jobID] = "j1"
	w.temporal.describes(jobID, knowing(batchv1.JobStatus{}))
	w.lead().eventually(func() bool { return w.measured("ostinato_bridge_jobs_to_hand_back") == 1 }, "it waits")
	w.temporal.lose(jobID)
	w.eventually(func() bool {
		w.clock.Step(drainRetry)
		return w.measured("ostinato_bridge_jobs_to_hand_back") == 0
	}, "none is left")
	w.hears()
}
