package job_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
)

func TestAJobWithAPastIsBegunFromWhatThereIsOfIt(t *testing.T) {
	now := metav1.NewTime(start)
	tests := []struct {
		name    string
		spec    job.Spec
		status  batchv1.JobStatus
		rebuild bool
	}{
		{"it is new", specOf(1, 1), batchv1.JobStatus{}, false},
		{"it has started", specOf(1, 1), batchv1.JobStatus{StartTime: &now}, true},
		{"it is suspended", specOf(1, 1), batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended}}}, true},
		{"its Pods may be older than itself", job.Spec{Parallelism: 1, ManualSelector: true}, batchv1.JobStatus{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			state := job.Begin("default", "work", "uid-1", test.spec, false)
			plan := job.Decide(state, test.spec, start)
			if job.Overtaken(test.status, job.ByOthers{}, plan.Base()) {
				state, _ = state.Reread(test.spec, test.spec, test.status)
				plan = job.Decide(state, test.spec, start)
			}
			equal(t, "list, to rebuild", [2]bool{plan.List, plan.Rebuild}, [2]bool{test.rebuild, test.rebuild})
		})
	}
}

func TestAnEditIsTakenWhateverItsGeneration(t *testing.T) {
	known := specOf(3, 6)
	known.Generation = 7
	tests := []struct {
		name        string
		edit        func(*job.Spec)
		taken, list bool
	}{
		{"nothing", func(*job.Spec) {}, false, false},
		{"of the template only", func(spec *job.Spec) { spec.Generation++ }, true, false},
		{"back to the backup of an etcd", func(spec *job.Spec) { spec.Generation, spec.Parallelism = 2, 4 }, true, true},
		{"that follows another", func(spec *job.Spec) { spec.Generation, spec.Parallelism = spec.Generation+2, 4 }, true, true},
		{"to more Pods", func(spec *job.Spec) { spec.Generation, spec.Parallelism = spec.Generation+1, 4 }, true, false},
		{"to fewer Pods", func(spec *job.Spec) { spec.Parallelism = 2 }, true, true},
		{"to fewer completions", func(spec *job.Spec) { spec.Completions = pointer[int32](4) }, true, true},
		{"that suspends", func(spec *job.Spec) { spec.Suspend = true }, true, true},
		{"that deletes", func(spec *job.Spec) { spec.Deleting = true }, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, known)
			c.refuseCreates = 1
			c.settle()
			spec := known
			test.edit(&spec)
			state, taken := c.state.Edited(known, spec)
			equal(t, "the spec to plan with", taken, spec)
			equal(t, "the refused create is tried again", state.CreateRetry == (job.Retry{}), test.taken)
			plan := job.Decide(state, spec, c.now)
			equal(t, "looks", plan.List || plan.Terminate != "", test.list)
			equal(t, "terminates", plan.Terminate != "", spec.Suspend)
		})
	}
	t.Run("back to a Job that nobody deletes", func(t *testing.T) {
		deleted := known
		deleted.Deleting = true
		_, spec := newCluster(t, known).state.Edited(deleted, known)
		equal(t, "digest", spec.Digest(), known.Digest())
	})
}

// What is only told is planned with where it wants more Pods and the plan is one that a repeated
// workflow task may make again.
func TestAnEditThatIsOnlyToldIsPlannedWithWhereItWantsMorePods(t *testing.T) {
	known := specOf(3, 6)
	known.Generation = 7
	for name, test := range map[string]struct {
		edit    func(*job.Spec)
		failed  bool
		creates int
	}{
		"more Pods at a time":               {edit: func(spec *job.Spec) { spec.Parallelism = 5 }, creates: 2},
		"more completions, and more Pods":   {edit: func(spec *job.Spec) { spec.Parallelism, spec.Completions = 8, pointer[int32](8) }, creates: 5},
		"more completions":                  {edit: func(spec *job.Spec) { spec.Completions = pointer[int32](8) }},
		"more Pods, after a failure":        {edit: func(spec *job.Spec) { spec.Parallelism = 5 }, failed: true},
		"more Pods than are made at once":   {edit: func(spec *job.Spec) { spec.Parallelism, spec.Completions = 400, pointer[int32](400) }},
		"fewer Pods":                        {edit: func(spec *job.Spec) { spec.Parallelism = 2 }},
		"more Pods and fewer completions":   {edit: func(spec *job.Spec) { spec.Parallelism, spec.Completions = 5, pointer[int32](5) }},
		"more Pods, and an edit in between": {edit: func(spec *job.Spec) { spec.Parallelism, spec.Generation = 5, 9 }},
		"more Pods and something else":      {edit: func(spec *job.Spec) { spec.Parallelism, spec.BackoffLimit = 5, 9 }},
		"more Pods of a suspended Job":      {edit: func(spec *job.Spec) { spec.Parallelism, spec.Suspend = 5, true }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, known).settle()
			if test.failed {
				c.fail(1).deliver().pass(time.Hour).settle()
			}
			told := known
			told.Generation++
			test.edit(&told)
			plan, ok := job.DecideRaise(c.state, known, told, c.now)
			equal(t, "planned", ok, test.creates > 0)
			if ok {
				equal(t, "creates", len(plan.Creates), test.creates)
			}
		})
	}
}

func TestAStatusThatSomebodyElseWroteIsTakenOver(t *testing.T) {
	c := newCluster(t, specOf(1, 1)).settle()
	c.refuseStatus, c.reread = 1, true
	c.status.Conditions = []batchv1.JobCondition{{Type: "example.com/Mine", Status: corev1.ConditionTrue}}
	c.succeed(1).deliver().settle()
	equal(t, "wake", c.wake, job.Wake{At: c.now.Add(time.Second), Reason: job.WakeStatusRetry})
	c.pass(time.Second).settle()
	equal(t, "counters", counts(c.status), [5]int32{0, 0, 0, 1, 0})
	equal(t, "conditions", len(c.status.Conditions), 2)
}

// TestPodsThatSomebodyElseCounted: the built-in controller counted and released one of
// the Pods while the workflow slept. Its list does not show the Pod any more.
func TestPodsThatSomebodyElseCounted(t *testing.T) {
	c := newCluster(t, specOf(2, 2)).settle().succeed(1).deliver()
	c.status.Succeeded, c.status.Active, c.byOthers.Succeeded = 1, 1, true
	c.pods[0].tracked = false
	c.settle()
	equal(t, "counters", counts(c.status), [5]int32{1, 0, 0, 1, 0})
	c.succeed(1).deliver().settle()
	equal(t, "finished", c.finished.Outcome, job.Complete)
}

func TestAnErrorDelaysWhatIsPlanned(t *testing.T) {
	c := newCluster(t, specOf(1, 1))
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 1} {
		plan := job.Decide(c.state, c.spec, c.now)
		if plan.List { // The create may have landed.
			c.listed()
			plan = job.Decide(c.state, c.spec, c.now)
		}
		equal(t, "creates", len(plan.Creates), 1)
		c.state = job.Apply(plan, job.Report{Error: "no kind of answer"}, c.now)
		c.settle()
		equal(t, "wake", c.wake, job.Wake{At: c.now.Add(time.Duration(seconds) * time.Second), Reason: job.WakeErrorRetry})
		equal(t, "waiting says why", strings.Contains(c.waiting, "no kind of answer"), true)
		equal(t, "Pods", len(c.creates), 0)
		c.pass(time.Duration(seconds) * time.Second)
	}
	c.settle()
	equal(t, "active", c.status.Active, 1)
	equal(t, "wake", c.wake.Reason, job.WakeList)
}

// The status of a plan that is forgotten ended the Job, before a Pod was counted that
// has ended since.
func TestTheResultCountsWhatTheStatusDoes(t *testing.T) {
	spec := specOf(2, 2)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed), d.end(2, corev1.PodFailed)})
	d.terminate(d.decide())
	plan := d.decide()
	equal(t, "failed", plan.Status.Failed, 2)
	d.apply(plan, job.Report{StatusRefused: "conflict"})
	status := *plan.Status
	status.Failed = 1
	d.state.Written = &batchv1.JobStatus{Failed: 1}
	d.state, _ = d.state.Reread(spec, spec, status)
	d.listed()
	for plan = d.decide(); plan.Finished == nil; plan = d.decide() {
		d.apply(plan, job.Report{})
	}
	equal(t, "failed", plan.Finished.Failed, 1)
}
