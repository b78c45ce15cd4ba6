package bridge

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	cronJobID = "cronjob/shop/report"
	jobID     = "job/shop/import"
)

func TestCronJobIsUpserted(t *testing.T) {
	w := newWorld(t).lead()
	w.put(cronJob())
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")

	// The workflow writes status, which is no reason to send anything.
	w.put(cronJob(taken, nextRun(60)))
	w.put(cronJob(taken, nextRun(120)))
	w.put(cronJob(taken, nextRun(120), generation(2)))
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 2 overdue false")

	require.NoError(t, w.cronJobs.CronJobs("shop").Delete(context.Background(), "report", metav1.DeleteOptions{}))
	w.hears("signal " + cronJobID + " deleted c1")
}

func (w *world) startedWith(check func(protocol.CronJobInput) bool) {
	w.t.Helper()
	var started protocol.CronJobInput
	w.eventually(func() bool {
		w.temporal.mu.Lock()
		defer w.temporal.mu.Unlock()
		for _, input := range w.temporal.inputs {
			if input, ok := input.(protocol.CronJobInput); ok {
				started = input
				return true
			}
		}
		return false
	}, "a CronJob workflow started")
	assert.True(w.t, check(started))
}

func TestLeaderStartSendsOnlyWhatWasNotTaken(t *testing.T) {
	w := newWorld(t,
		cronJob(taken, active("r1")),
		cronJob(func(c *ostinatov1.CronJob) { c.Name, c.UID = "edited", "c2" }, taken, generation(3)),
		run("r1", running), standalone(running), standalone(complete, func(j *batchv1.Job) { j.Name = "old" }),
		standalone(foreign, func(j *batchv1.Job) { j.Name = "theirs" }))
	w.temporal.running[cronJobID] = "c1"
	w.temporal.running["job/shop/report-r1"] = "r1"
	w.lead()
	w.hears(
		"start "+cronJobID,
		"signal-with-start cronjob/shop/edited cronjob-spec c2 generation 3 overdue false",
		"start job/shop/report-r1",
		"start "+jobID,
	)
}

func TestObjectsDeletedWhileNobodyLed(t *testing.T) {
	w := newWorld(t)
	w.temporal.running[cronJobID] = "c1"
	w.temporal.running[jobID] = "j1"
	w.temporal.running["podwatch/0-of-1"] = ""
	w.temporal.running["other-cluster/job/shop/import"] = "x"
	w.lead()
	w.hears("signal "+cronJobID+" deleted c1", "signal "+jobID+" deleted j1")
}

func TestRecreatedCronJobReachesTheOldWorkflow(t *testing.T) {
	w := newWorld(t, cronJob(taken))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.put(cronJob(func(c *ostinatov1.CronJob) { c.UID = "c2" }))
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c2 generation 1 overdue false")
}

func TestOverdueCronJobIsNudged(t *testing.T) {
	w := newWorld(t, cronJob(taken, nextRun(40)))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.hearsInTime("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue true")
	assert.Contains(t, <-w.events.Events, "Warning RunOverdue The run due at 2026-01-02T03:04:40Z has not started")

	w.hearsInTime("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue true")
	assert.Empty(t, w.events.Events, "one Event for one run")
}

// In a herd the Job of a run is there long before its status.
func TestACronJobWhoseRunHasStartedIsNotOverdue(t *testing.T) {
	object := cronJob(taken, nextRun(40))
	ofItsName := func(j *batchv1.Job) {
		j.Name, j.CreationTimestamp = names.ScheduledJob(object.Name, object.Status.NextScheduleTime.Time), *at(40)
	}
	another := func(j *batchv1.Job) { j.OwnerReferences[0].UID = "another" }
	for name, test := range map[string]struct {
		run *batchv1.Job
		// unseen says that the cache does not have the Job yet.
		unseen  bool
		overdue bool
	}{
		"its Job is there":                {run: run("j1", ofItsName)},
		"its Job is there and has ended":  {run: run("j1", ofItsName, complete)},
		"the cache is behind":             {run: run("j1", ofItsName), unseen: true},
		"another's Job has its name":      {run: run("j1", ofItsName, another), overdue: true},
		"only another run's Job is there": {run: run("j1"), overdue: true},
	} {
		t.Run(name, func(t *testing.T) {
			contents := []runtime.Object{object.DeepCopy()}
			if !test.unseen {
				contents = append(contents, test.run)
			}
			w := newWorld(t, contents...)
			w.temporal.running[cronJobID] = "c1"
			w.lead()
			if test.unseen {
				w.native.PrependReactor("get", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
					return action.(clienttesting.GetAction).GetName() == test.run.Name, test.run, nil
				})
			}
			nudged := func() bool { return len(w.reminded()) > 0 }
			if test.overdue {
				w.eventually(func() bool { w.clock.Step(time.Second); return nudged() }, "its workflow is nudged")
				assert.Contains(t, <-w.events.Events, "Warning RunOverdue")
				return
			}
			for range 6 {
				w.clock.Step(watchdogPeriod)
				time.Sleep(50 * time.Millisecond)
			}
			assert.False(t, nudged())
			assert.Empty(t, w.events.Events)
			assert.Zero(t, w.measured("ostinato_bridge_overdue_pokes_total"))
		})
	}
}

func TestUntakenGenerationIsSentAgain(t *testing.T) {
	w := newWorld(t, cronJob()).lead()
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
	w.hearsInTime("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
}

func TestStandaloneJob(t *testing.T) {
	w := newWorld(t).lead()
	w.putJob(standalone(missed))
	w.hears("start " + jobID)
	w.putJob(standalone(running))
	w.putJob(standalone(running, edited))
	w.hears("signal-with-start " + jobID + " job-spec j1 generation 2 deleting false")
	w.putJob(standalone(running, edited, edited, func(j *batchv1.Job) { j.DeletionTimestamp = at(9) }))
	w.hears("signal-with-start " + jobID + " job-spec j1 generation 3 deleting true")
	w.deleteJob(standalone())
	w.hears("signal " + jobID + " deleted j1")
}

// The API server's data comes back from an older state, with older generations and
// the status of then.
func TestRestoredObjectsReachTheirWorkflows(t *testing.T) {
	w := newWorld(t, cronJob(generation(5), taken), standalone(running, edited))
	w.temporal.running[cronJobID], w.temporal.running[jobID] = "c1", "j1"
	w.lead().hears("start "+cronJobID, "signal-with-start "+jobID+" job-spec j1 generation 2 deleting false")
	w.put(cronJob(generation(4), taken))
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 4 overdue false")
	w.putJob(standalone(running))
	w.hears("signal-with-start " + jobID + " job-spec j1 generation 1 deleting false")
}

func TestRecreatedJobReachesTheOldWorkflow(t *testing.T) {
	second := func(j *batchv1.Job) { j.UID = "j2" }
	t.Run("seen", func(t *testing.T) {
		w := newWorld(t).lead()
		w.putJob(standalone(missed))
		w.hears("start " + jobID)
		w.putJob(standalone(second))
		w.hears("signal-with-start " + jobID + " job-spec j2 generation 1 deleting false")
	})
	t.Run("not seen", func(t *testing.T) {
		w := newWorld(t, standalone(second, missed))
		w.temporal.running[jobID] = "j1"
		w.lead().hears("start "+jobID, "signal-with-start "+jobID+" job-spec j2 generation 1 deleting false")
	})
}

func TestRunWithoutWorkflowIsStartedAfterTheGrace(t *testing.T) {
	w := newWorld(t, cronJob(taken, active("r1", "r2")))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.temporal.starts("job/shop/report-r2", "r2")
	w.putJob(run("r1", func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.putJob(run("r2", running, func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.hearsInTime("start job/shop/report-r1")
	assert.GreaterOrEqual(t, w.clock.Since(after(20)), startGrace)
}

func TestEndOfRunIsBroughtToTheCronJob(t *testing.T) {
	w := newWorld(t, cronJob(taken, active("r1", "r2", "r3")), run("r1", running), run("r2", running), run("r3", running))
	for _, id := range []string{cronJobID, "job/shop/report-r1", "job/shop/report-r2", "job/shop/report-r3"} {
		w.temporal.running[id] = "c1"
	}
	w.lead().hears("start "+cronJobID, "start job/shop/report-r1", "start job/shop/report-r2", "start job/shop/report-r3")

	w.putJob(run("r1", complete))
	w.putJob(run("r2", failed))
	w.deleteJob(run("r3"))
	w.hears("signal job/shop/report-r3 deleted r3")
	w.hearsInTime(
		"signal "+cronJobID+" job-seen report-r1",
		"signal "+cronJobID+" job-seen report-r2",
		"signal "+cronJobID+" job-seen report-r3",
	)
}

func TestEndOfRunOfAnotherControllerIsBroughtAtOnce(t *testing.T) {
	w := newWorld(t, cronJob(taken, active("r1")), run("r1", foreign, running))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.putJob(run("r1", foreign, complete))
	w.hears("signal " + cronJobID + " job-seen report-r1")
}

func TestRunThatTheCacheDoesNotHaveYetIsNotClosed(t *testing.T) {
	w := newWorld(t, cronJob(taken, active("r1")))
	w.temporal.running[cronJobID] = "c1"
	asked := make(chan struct{}, 1000)
	w.native.PrependReactor("get", "jobs", jobReactor(run("r1", running), asked))
	w.lead().hears("start " + cronJobID)
	w.eventually(func() bool {
		w.clock.Step(time.Second)
		return len(asked) > 0
	}, "the API server is asked")
	w.hears()
}

func TestTemporalDownIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.temporal.failures = 3
	w.lead().put(cronJob())
	w.hearsInTime("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
}

func TestOnlyTheNamespacesServed(t *testing.T) {
	w := newWorld(t, cronJob(), cronJob(func(c *ostinatov1.CronJob) { c.Namespace = "elsewhere" }))
	w.settings.Namespaces = []string{"shop", "empty"}
	w.temporal.running["job/elsewhere/import"] = "j1"
	w.lead().hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
}

func TestNoMessageHoldsATemplate(t *testing.T) {
	w := newWorld(t, cronJob(), standalone(missed), run("r1", complete)).lead()
	w.eventually(func() bool { return len(w.temporal.said()) == 2 }, "both started")
	w.temporal.mu.Lock()
	defer w.temporal.mu.Unlock()
	for _, input := range w.temporal.inputs {
		text, err := json.Marshal(input)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "secret")
	}
}

func TestFollowerSendsNothingAndTakesOver(t *testing.T) {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: Lease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("other"), LeaseDurationSeconds: ptr.To(int32(1)),
			RenewTime: &metav1.MicroTime{Time: time.Now()}, AcquireTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	w := newWorld(t, cronJob(), lease)
	w.settings.LeaderElection = config.LeaderElection{Enabled: true, Namespace: "system", LeaseDuration: time.Second}
	w.lead()
	assert.Empty(t, w.temporal.said(), "ready, and following")
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")

	w.cancel()
	w.stopped()
	released, err := w.native.CoordinationV1().Leases("system").Get(context.Background(), Lease, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, *released.Spec.HolderIdentity, "the lease is given back")
}

func TestLostLeaseEndsTheProcess(t *testing.T) {
	w := newWorld(t, cronJob())
	w.settings.LeaderElection = config.LeaderElection{Enabled: true, Namespace: "system", LeaseDuration: time.Second}
	var refused atomic.Bool
	w.native.PrependReactor("update", "leases", refuseWhen(&refused))
	ended := make(chan error, 1)
	b := w.bridge()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() { ended <- b.Run(ctx) }()
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
	refused.Store(true)
	assert.ErrorIs(t, <-ended, ErrLeadershipLost)
}
