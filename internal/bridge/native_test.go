package bridge

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const nativeID = "batch-cronjob/shop/report"

// takingOverCronJobs makes the world one in which CronJobs of batch/v1 are taken over.
func (w *world) takingOverCronJobs() *world {
	w.settings.TakeOver.CronJobs = true
	return w
}

// native builds a CronJob of batch/v1 that its workflow has not taken, with the name of
// the one that cronJob builds.
func native(edits ...func(*batchv1.CronJob)) *batchv1.CronJob {
	own := cronJob()
	n := &batchv1.CronJob{ObjectMeta: own.ObjectMeta, Spec: batchv1.CronJobSpec{Schedule: own.Spec.Schedule, JobTemplate: own.Spec.JobTemplate}}
	n.UID = "n1"
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func noted(annotation, value string) func(*batchv1.CronJob) {
	return func(n *batchv1.CronJob) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, annotation, value) }
}

// nativeTaken gives the CronJob the notes that the workflow of n1 writes.
func nativeTaken(n *batchv1.CronJob) {
	noted(names.ObservedUIDAnnotation, "n1")(n)
	noted(names.WorkflowAnnotation, "default/"+nativeID)(n)
	noted(names.ObservedGenerationAnnotation, "1")(n)
}

func nativeNextRun(seconds int) func(*batchv1.CronJob) {
	return noted(names.NextScheduleTimeAnnotation, after(seconds).Format(time.RFC3339))
}

func nativeStatusBy(manager string, seconds int) func(*batchv1.CronJob) {
	return func(n *batchv1.CronJob) {
		n.ManagedFields = append(n.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Subresource: "status", Time: at(seconds)})
	}
}

// nativeRun builds a Job that the CronJob n1 controls.
func nativeRun(uid string, edits ...func(*batchv1.Job)) *batchv1.Job {
	return run(uid, append([]func(*batchv1.Job){func(j *batchv1.Job) {
		ofNativeCronJob(j)
		j.OwnerReferences[0].Name = "report"
	}}, edits...)...)
}

func (w *world) putNative(cronJob *batchv1.CronJob) {
	w.t.Helper()
	client := w.native.BatchV1().CronJobs(cronJob.Namespace)
	_, err := client.Update(context.Background(), cronJob, metav1.UpdateOptions{})
	if err != nil {
		_, err = client.Create(context.Background(), cronJob, metav1.CreateOptions{})
	}
	require.NoError(w.t, err)
}

func (w *world) probedCronJobs() []batchv1.CronJob {
	w.t.Helper()
	list, err := w.native.BatchV1().CronJobs(ProbeNamespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}

func TestANativeCronJobIsUpserted(t *testing.T) {
	w := newWorld(t, cronJob(taken)).takingOverCronJobs()
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.putNative(native())
	w.hears("signal-with-start " + nativeID + " cronjob-spec n1 generation 1 overdue false")
	w.startedWith(func(input protocol.CronJobInput) bool {
		return assert.Equal(t, protocol.ObjectReference{Namespace: "shop", Name: "report", UID: "n1", Native: true}, input.CronJob)
	})

	// The workflow writes status and notes, which is no reason to send anything.
	w.putNative(native(nativeTaken, nativeNextRun(60)))
	w.putNative(native(nativeTaken, nativeNextRun(60), func(n *batchv1.CronJob) { n.Generation = 2 }))
	w.hears("signal-with-start " + nativeID + " cronjob-spec n1 generation 2 overdue false")
	require.NoError(t, w.native.BatchV1().CronJobs("shop").Delete(context.Background(), "report", metav1.DeleteOptions{}))
	w.hears("signal " + nativeID + " deleted n1")
	assert.Equal(t, "c1", w.temporal.running[cronJobID], "the CronJob of the same name is another")
}

// Who makes a CronJob from a copy of one that is deleted copies its notes: the name of the
// workflow is the same, and a generation of 1 is the one that they call taken.
func TestANativeCronJobMadeFromACopyIsUpserted(t *testing.T) {
	w := newWorld(t).takingOverCronJobs().lead()
	w.putNative(native(nativeTaken, nativeNextRun(3600), func(n *batchv1.CronJob) { n.UID = "n2" }))
	w.hears("signal-with-start " + nativeID + " cronjob-spec n2 generation 1 overdue false")
}

func TestNativeCronJobsAtLeaderStart(t *testing.T) {
	w := newWorld(t,
		native(nativeTaken, nativeNextRun(60), func(n *batchv1.CronJob) {
			n.Status.Active = []corev1.ObjectReference{{Name: "report-r2", UID: "r2"}}
		}),
		nativeRun("r1", foreign, complete), nativeRun("r2", foreign, running),
	).takingOverCronJobs()
	w.temporal.running["batch-cronjob/shop/gone"] = "old"
	w.lead().hears("start "+nativeID, "signal batch-cronjob/shop/gone deleted old")
}

func TestAnOverdueNativeCronJobIsNudged(t *testing.T) {
	w := newWorld(t, native(nativeTaken, nativeNextRun(40))).takingOverCronJobs()
	w.temporal.running[nativeID] = "n1"
	w.lead().hears("start " + nativeID)
	w.hearsInTime("signal-with-start " + nativeID + " cronjob-spec n1 generation 1 overdue true")
	assert.Contains(t, <-w.events.Events, "Warning RunOverdue")
}

// A Job that the built-in job controller runs has no workflow that could tell of its end.
func TestTheEndOfANativeRunIsBroughtAtOnce(t *testing.T) {
	w := newWorld(t, native(nativeTaken, nativeNextRun(60), func(n *batchv1.CronJob) {
		n.Status.Active = []corev1.ObjectReference{{Name: "report-r1", UID: "r1"}}
	}), nativeRun("r1", foreign, running)).takingOverCronJobs()
	w.temporal.running[nativeID] = "n1"
	w.lead().hears("start " + nativeID)
	w.putJob(nativeRun("r1", foreign, complete))
	w.hears("signal " + nativeID + " job-seen report-r1")
}

func TestWithoutTakeOverNativeCronJobsAreNobodysAndTheirWorkflowsEnd(t *testing.T) {
	w := newWorld(t, native(), nativeRun("r1", foreign, running))
	w.temporal.running[nativeID] = "n1"
	w.temporal.running["batch-cronjob/shop/gone"] = "old"
	w.lead().hears("terminate "+nativeID, "terminate batch-cronjob/shop/gone")
	w.putJob(nativeRun("r1", foreign, complete))
	w.hears()
}

func TestANativeWorkflowBehindTheCronJobStartsAnew(t *testing.T) {
	for name, test := range map[string]struct {
		object *batchv1.CronJob
		want   decision
	}{
		"never taken over: send": {native(nativeStatusBy(builtInManager, 5)),
			decision{action: send, again: 30 * time.Second, stale: after(6)}},
		"given back for a while: start anew": {native(nativeTaken, nativeStatusBy(k8s.CronJobFieldManager, 4), nativeStatusBy(builtInManager, 5)),
			decision{action: ensure, stale: after(6)}},
		"taken over since: nothing": {native(nativeTaken, nativeStatusBy(k8s.CronJobFieldManager, 6), nativeStatusBy(builtInManager, 5)),
			decision{action: leave}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).takingOverCronJobs()
			c := w.bridge().newController()
			trimmed, err := trimNativeCronJob(test.object)
			require.NoError(t, err)
			converted := trimmed.(*ostinatov1.CronJob)
			decision := decideCronJob(converted, c.reference(converted), cronJobMemory{uid: "n1"}, false, false, after(20))
			assert.Equal(t, test.want, decision)

			known := cronJobMemory{uid: "n1", sent: attempts[int64]{of: 1}}
			assert.Zero(t, decideCronJob(converted, c.reference(converted), known, true, false, after(20)).stale, "once for a leader")

			for _, uid := range []string{"n1", "of its predecessor"} {
				// It has begun in the second of the last write.
				w.temporal.running[nativeID], w.temporal.began[nativeID] = uid, after(5).Add(time.Second/2)
				require.NoError(t, c.endStale(t.Context(), cronJobKey(converted), decision.stale))
				_, runs := w.temporal.running[nativeID]
				assert.Equal(t, test.want.stale.IsZero(), runs)
			}
		})
	}
}

func TestTrimmedNativeCronJobHoldsNoTemplate(t *testing.T) {
	object := native(nativeTaken, nativeStatusBy(builtInManager, 5), func(n *batchv1.CronJob) { n.Labels = map[string]string{probeLabel: "x", "app": "y"} })
	trimmed, err := trimNativeCronJob(object)
	require.NoError(t, err)
	again, err := trimNativeCronJob(trimmed)
	require.NoError(t, err)
	assert.Equal(t, trimmed, again)
	cronJob := trimmed.(*ostinatov1.CronJob)
	assert.Empty(t, cronJob.Spec.JobTemplate)
	assert.Empty(t, cronJob.Annotations)
	assert.Len(t, cronJob.ManagedFields, 1)
	assert.EqualValues(t, 1, cronJob.Status.ObservedGeneration)
	assert.True(t, k8s.IsNative(cronJob))
}

func TestABuiltInCronJobControllerThatStartsLaterIsReported(t *testing.T) {
	w := newWorld(t).takingOverCronJobs()
	c := w.bridge().newController()
	trimmed := func(n *batchv1.CronJob) *ostinatov1.CronJob {
		object, err := trimNativeCronJob(n)
		require.NoError(t, err)
		return object.(*ostinatov1.CronJob)
	}
	before := trimmed(native(nativeTaken))
	after := trimmed(native(nativeTaken, nativeStatusBy(builtInManager, 30)))
	c.nativeCronJobUpdated(before, after)
	c.nativeCronJobUpdated(after, after)
	assert.EqualValues(t, 1, w.measured("ostinato_bridge_builtin_cronjob_status_writes_total"))
	assert.Equal(t, 1, w.said("kube-controller-manager wrote the status of a CronJob taken over"))
}

// cleans makes every CronJob that is looked at one whose status the built-in controller
// has put right.
func cleans(w *world) {
	w.native.PrependReactor("get", "cronjobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object, err := w.native.Tracker().Get(action.GetResource(), action.GetNamespace(), action.(clienttesting.GetAction).GetName())
		if err != nil {
			return true, nil, err
		}
		touched := object.(*batchv1.CronJob).DeepCopy()
		touched.Status.Active = nil
		return true, touched, nil
	})
}

func TestWhereNobodyAnswersCronJobsAreTakenOver(t *testing.T) {
	w := newWorld(t).takingOverCronJobs()
	require.NoError(t, w.asks())
	assert.Empty(t, w.probedCronJobs(), "the probe is deleted")
	assert.Contains(t, w.log.String(), "taking CronJobs over")
	assert.NotContains(t, w.log.String(), "taking Jobs over")
}

func TestWhereTheBuiltInCronJobControllerAnswersTheBridgeRefuses(t *testing.T) {
	w := newWorld(t, native()).takingOver().takingOverCronJobs()
	cleans(w)
	err := w.asks()
	require.ErrorIs(t, err, ErrBuiltInRuns)
	for _, want := range []string{"another controller gave CronJob ostinato-probe/ostinato-takeover-probe-", "--controllers=*,-cronjob-controller", "without --takeover=cronjobs"} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "-job-controller (", "the job controller does not run")
	assert.Empty(t, w.probedCronJobs(), "the probe is deleted")
	assert.Empty(t, w.temporal.said(), "nothing is sent")
}

func TestTheCronJobProbeStartsNothing(t *testing.T) {
	probe := probeCronJob(ProbeNamespace, "probe")
	assert.True(t, *probe.Spec.Suspend)
	assert.True(t, *probe.Spec.JobTemplate.Spec.Suspend)
	assert.Zero(t, *probe.Spec.JobTemplate.Spec.Parallelism)
	assert.True(t, all.probe(probe))
	w := newWorld(t).takingOverCronJobs().lead()
	probe.UID = "p1"
	w.putNative(probe)
	require.NoError(t, w.native.BatchV1().CronJobs(ProbeNamespace).Delete(context.Background(), "probe", metav1.DeleteOptions{}))
	w.clock.Step(watchdogPeriod)
	w.hears()
}

func TestWhoChangedTheCronJobProbesStatus(t *testing.T) {
	armed := func(n *batchv1.CronJob) {
		n.Status.Active = probeActive(ProbeNamespace, "probe")
		nativeStatusBy(probeManager, 1)(n)
	}
	cleaned := func(n *batchv1.CronJob) { n.Status.Active = nil }
	for name, test := range map[string]struct {
		touch []func(*batchv1.CronJob)
		want  string
	}{
		"nobody":                       {nil, ""},
		"the built-in controller":      {[]func(*batchv1.CronJob){cleaned, nativeStatusBy(builtInManager, 3)}, builtInManager},
		"nobody noted":                 {[]func(*batchv1.CronJob){cleaned}, "another controller"},
		"a worker of ours":             {[]func(*batchv1.CronJob){cleaned, nativeStatusBy(k8s.CronJobFieldManager, 3)}, ""},
		"built-in, then one of ours":   {[]func(*batchv1.CronJob){cleaned, nativeStatusBy(builtInManager, 3), nativeStatusBy(k8s.CronJobFieldManager, 4)}, builtInManager},
		"a schedule time, and nothing": {[]func(*batchv1.CronJob){func(n *batchv1.CronJob) { n.Status.LastScheduleTime = at(3) }, nativeStatusBy("k3s", 3)}, "k3s"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := probeCronJob(ProbeNamespace, "probe")
			armed(probe)
			for _, touch := range test.touch {
				touch(probe)
			}
			rival, err := cronJobRival(probe)
			assert.NoError(t, err)
			assert.Equal(t, test.want, rival)
		})
	}
}

// The CronJob's workflow starts the workflow of a Job that it has made. One that the
// built-in controllers have begun, or somebody has made by hand, nobody else will start.
func TestJobsOfANativeCronJobWhereBothAreTakenOver(t *testing.T) {
	both := ownership{takeOver: config.TakeOver{Jobs: true, CronJobs: true}}
	for name, test := range map[string]struct {
		object *batchv1.Job
		want   decision
	}{
		"a run, new: leave it to the CronJob's workflow": {nativeRun("r1", foreign), decision{action: leave, again: 59 * time.Second}},
		"begun by the built-in controller: start":        {nativeRun("r1", foreign, running, statusBy(builtInManager, 1)), decision{action: ensure, stale: after(2)}},
		"made by hand: start":                            {nativeRun("r1", foreign, madeByHand), decision{action: ensure}},
	} {
		t.Run(name, func(t *testing.T) {
			trimmed, err := both.trimJob(test.object)
			require.NoError(t, err)
			assert.Equal(t, test.want, decideJob(both, trimmed.(*batchv1.Job), jobMemory{}, false, after(1)))
		})
	}
}
