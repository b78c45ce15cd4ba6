package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestUnmarkedJobIsOurs(t *testing.T) {
	for name, edits := range map[string][]func(*batchv1.Job){
		"by itself":                       {foreign},
		"of a native CronJob":             {foreign, ofNativeCronJob},
		"that names the built-in manager": {managedBy(batchv1.JobControllerName)},
	} {
		t.Run(name, func(t *testing.T) {
			unmarked := func(more ...func(*batchv1.Job)) *batchv1.Job { return standalone(append(edits, more...)...) }
			w := newWorld(t).takingOver().lead()
			w.putJob(unmarked())
			w.hears("start " + jobID)
			w.putJob(unmarked(running, edited))
			w.hears("signal-with-start " + jobID + " job-spec j1 generation 2 deleting false")
			w.putJob(unmarked(running, edited, edited, func(j *batchv1.Job) { j.DeletionTimestamp = at(9) }))
			w.hears("signal-with-start " + jobID + " job-spec j1 generation 3 deleting true")
			w.deleteJob(unmarked())
			w.hears("signal " + jobID + " deleted j1")
		})
	}
}

func TestAtTakeOverEveryUnfinishedJobGetsItsWorkflow(t *testing.T) {
	called := func(name string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Name, j.UID = name, "uid-of-it" }
	}
	w := newWorld(t,
		standalone(foreign, called("new")),
		standalone(foreign, called("begun"), running, statusBy(builtInManager, 1)),
		standalone(foreign, called("edited"), running, edited, statusBy(builtInManager, 1)),
		standalone(foreign, called("done"), complete, statusBy(builtInManager, 1)),
		standalone(called("theirs"), managedBy("other.example/controller"), running),
		standalone(foreign, probeIn(ProbeNamespace), called("probe-of-another-bridge"), suspended),
	).takingOver().lead()
	w.hears(
		"start job/shop/new",
		"start job/shop/begun",
		"signal-with-start job/shop/edited job-spec uid-of-it generation 2 deleting false",
	)
}

func TestAWorkflowBehindTheJobStartsAnew(t *testing.T) {
	object := standalone(foreign, running, statusBy(k8s.JobFieldManager, 5), statusBy(builtInManager, 10))
	decide := func(w *world) {
		// The fake API server drops what it notes of writes.
		c := w.bridge().newController()
		reached, err := c.actOnJob(t.Context(), object, decideJob(all, object, jobMemory{}, true, after(20)))
		require.NoError(t, err)
		assert.True(t, reached)
	}
	t.Run("that slept while the built-in controller went on", func(t *testing.T) {
		w := newWorld(t).takingOver()
		w.temporal.running[jobID], w.temporal.began[jobID] = "j1", after(2)
		decide(w)
		w.hears("terminate "+jobID, "start "+jobID)
		assert.Equal(t, "j1", w.temporal.running[jobID])
	})
	t.Run("but not one that began afterwards", func(t *testing.T) {
		w := newWorld(t).takingOver()
		w.temporal.running[jobID], w.temporal.began[jobID] = "j1", after(15)
		decide(w)
		w.hears("start "+jobID, "signal-with-start "+jobID+" job-spec j1 generation 1 deleting false")
	})
}

func TestWorkflowsOfJobsThatAnotherControllerHasAreEnded(t *testing.T) {
	called := func(name string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Name, j.UID = name, types.UID("uid-of-"+name) }
	}
	w := newWorld(t,
		standalone(foreign, running, called("given-up")),
		standalone(foreign, running, called("re-created")),
		standalone(running, called("ours")),
		standalone(foreign, running, called("never-taken")),
	)
	for id, uid := range map[string]string{"given-up": "uid-of-given-up", "re-created": "uid-of-old", "ours": "uid-of-ours"} {
		w.temporal.running["job/shop/"+id] = uid
	}
	w.lead().hears(
		"terminate job/shop/given-up",
		"signal job/shop/re-created deleted uid-of-old",
		"start job/shop/ours",
	)
}

func TestStrayJobs(t *testing.T) {
	byUs, byBuiltIn := statusBy(k8s.JobFieldManager, 2), statusBy(builtInManager, 3)
	for name, test := range map[string]struct {
		owner ownership
		job   *batchv1.Job
		want  bool
	}{
		"ours":                                {all, standalone(running), false},
		"taken over":                          {all, standalone(foreign, running, byUs), false},
		"taken over, to start anew":           {all, standalone(foreign, running, byUs, byBuiltIn), false},
		"finished here, the workflow ends":    {all, standalone(foreign, complete, statusBy(builtInManager, 1), byUs), false},
		"finished by the built-in controller": {all, standalone(foreign, complete, byUs, byBuiltIn), true},
		"not taken over any more":             {ownership{}, standalone(foreign, running, byUs), true},
		"another's":                           {all, standalone(managedBy("other.example/controller")), true},
	} {
		t.Run(name, func(t *testing.T) {
			trimmed, err := test.owner.trimJob(test.job)
			require.NoError(t, err)
			assert.Equal(t, test.want, foreignJob(test.owner, trimmed.(*batchv1.Job)))
		})
	}
}

func TestProbeOfAnotherBridgeIsLeftAlone(t *testing.T) {
	w := newWorld(t).takingOver().lead()
	probe := standalone(foreign, probeIn(ProbeNamespace))
	w.putJob(probe)
	probe = probe.DeepCopy()
	probe.Generation++
	w.putJob(probe)
	require.NoError(t, w.native.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), ProbeNamespace, probe.Name))
	w.putJob(standalone(foreign))
	w.hears("start " + jobID)
}

func TestUnmarkedJobRecreatedAtOnce(t *testing.T) {
	second := func(j *batchv1.Job) { j.UID = "j2" }
	for name, first := range map[string]*batchv1.Job{
		"while it ran":        standalone(foreign, running),
		"after it was edited": standalone(foreign, running, edited, edited),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).takingOver().lead()
			w.putJob(standalone(foreign))
			w.hears("start " + jobID)
			w.putJob(first)
			w.deleteJob(first)
			w.putJob(standalone(foreign, second))
			w.becomes("j2")
		})
	}
	t.Run("after it had finished, its workflow not yet ended", func(t *testing.T) {
		w := newWorld(t).takingOver().lead()
		w.putJob(standalone(foreign))
		w.hears("start " + jobID)
		w.putJob(standalone(foreign, complete))
		w.deleteJob(standalone(foreign))
		w.putJob(standalone(foreign, second))
		w.becomes("j2")
	})
	t.Run("before anybody led", func(t *testing.T) {
		w := newWorld(t, standalone(foreign, second, running, statusBy(builtInManager, 5))).takingOver()
		w.temporal.running[jobID] = "j1"
		w.lead().hears("terminate "+jobID, "start "+jobID)
		w.becomes("j2")
	})
}

// becomes waits until the workflow is that of the Job of this UID, and checks
// that nothing sent later changes that.
func (w *world) becomes(uid string) {
	w.t.Helper()
	runs := func() string {
		w.temporal.mu.Lock()
		defer w.temporal.mu.Unlock()
		return w.temporal.running[jobID]
	}
	w.eventually(func() bool { return runs() == uid }, "the workflow is the new Job's")
	for _, name := range []string{"next", "last"} {
		w.putJob(standalone(foreign, func(j *batchv1.Job) { j.Name = name }))
		w.eventually(func() bool { return slices.Contains(w.temporal.said(), "start job/shop/"+name) }, "the next Job is heard of")
	}
	assert.Equal(w.t, uid, runs())
}

func TestEditedSettingsAreForwarded(t *testing.T) {
	for name, edits := range map[string][]func(*batchv1.Job){
		"marked":   nil,
		"unmarked": {foreign},
	} {
		t.Run(name, func(t *testing.T) {
			job := func(more ...func(*batchv1.Job)) *batchv1.Job { return standalone(append(edits, more...)...) }
			w := newWorld(t).takingOver().lead()
			w.putJob(job(missed))
			w.hears("start " + jobID)
			for _, value := range []string{"600", "900"} {
				w.putJob(job(running, setting(names.PendingDeadlineAnnotation, value)))
				w.hears("signal-with-start " + jobID + " job-spec j1 generation 1 deleting false")
			}
			w.putJob(job(running))
			w.hears("signal-with-start " + jobID + " job-spec j1 generation 1 deleting false")
			w.putJob(job(running, setting("team", "a")))
			w.putJob(job(complete, setting(names.BackoffBaseAnnotation, "5")))
			w.putJob(standalone(append(edits, missed, func(j *batchv1.Job) { j.Name = "next" })...))
			w.hears("start job/shop/next")
		})
	}
}

// The workflow of a run is started by its CronJob's; the bridge hears of the
// edit all the same.
func TestEditedSettingsOfARunAreForwarded(t *testing.T) {
	patient := setting(names.PendingDeadlineAnnotation, "600")
	w := newWorld(t, cronJob(taken, active("r1", "r2")), run("r1", running)).lead()
	w.hears("start "+cronJobID, "start job/shop/report-r1")
	w.putJob(run("r2", func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.putJob(run("r2", running, func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.putJob(run("r2", running, patient, func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.hears("signal-with-start job/shop/report-r2 job-spec r2 generation 1 deleting false")
	w.putJob(run("r2", running, func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.hears("signal-with-start job/shop/report-r2 job-spec r2 generation 1 deleting false")
}

func TestDefaultsAreInTheMessage(t *testing.T) {
	w := newWorld(t)
	w.settings.JobDefaults = job.Defaults{BackoffBase: 3 * time.Second, BackoffCap: 90 * time.Second}
	w.lead()
	w.putJob(standalone(missed, setting(names.BackoffBaseAnnotation, "7")))
	w.hears("start " + jobID)
	w.temporal.mu.Lock()
	defer w.temporal.mu.Unlock()
	spec := w.temporal.inputs[0].(protocol.JobInput).Spec
	assert.EqualValues(t, 7, spec.BackoffBaseSeconds, "the Job's own")
	assert.Equal(t, w.settings.JobDefaults, spec.Defaults)
}

func TestJobsOfOtherControllersAreCounted(t *testing.T) {
	const metric = "job_controller_jobs_by_external_controller_total"
	called := func(name string) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Name = name } }
	w := newWorld(t, standalone(managedBy("a.example/x"), called("before"))).takingOver().lead()
	w.putJob(standalone(managedBy("a.example/x"), called("one")))
	w.putJob(standalone(managedBy("b.example/y"), called("two")))
	w.putJob(standalone(managedBy("b.example/y"), called("two"), running))
	w.putJob(standalone(managedBy(batchv1.JobControllerName), called("built-in")))
	w.putJob(standalone(foreign, called("unmarked")))
	w.putJob(standalone(missed, called("ours")))
	w.hears("start job/shop/built-in", "start job/shop/unmarked", "start job/shop/ours")
	assert.EqualValues(t, 2, w.measured(metric, "a.example/x"))
	assert.EqualValues(t, 1, w.measured(metric, "b.example/y"))
	assert.Zero(t, w.measured(metric, batchv1.JobControllerName))
	assert.Zero(t, w.measured(metric, names.JobController))
}

// Whoever may create Jobs names their controllers.
func TestTheControllersThatAreCountedAreFew(t *testing.T) {
	const metric = "job_controller_jobs_by_external_controller_total"
	w := newWorld(t).takingOver()
	bridge := w.bridge()
	for range 2 {
		c := bridge.newController()
		for n := range 1000 {
			c.jobAdded(standalone(managedBy(fmt.Sprintf("c%d.example/x", n))), false)
		}
	}
	series := 0
	families, err := w.metrics.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == metric {
			series = len(family.GetMetric())
		}
	}
	assert.Equal(t, 101, series, "a hundred and the others")
	assert.EqualValues(t, 2, w.measured(metric, "c7.example/x"))
	assert.EqualValues(t, 2*900, w.measured(metric, "other"))
}

func TestABuiltInControllerThatStartsLaterIsReported(t *testing.T) {
	w := newWorld(t).takingOver()
	c := w.bridge().newController()
	before := standalone(foreign)
	for seconds := range 3 {
		after := standalone(foreign, running, statusBy(builtInManager, 30+seconds))
		c.jobUpdated(before, after)
		c.jobUpdated(after, after)
		before = after
	}
	c.jobUpdated(before, standalone(managedBy("other.example/controller"), statusBy(builtInManager, 99)))
	assert.EqualValues(t, 3, w.measured("ostinato_bridge_builtin_job_status_writes_total"))
	assert.Equal(t, 1, strings.Count(w.log.String(), "kube-controller-manager wrote the status of a Job taken over"), "one line a minute")
}
