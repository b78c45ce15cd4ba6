package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/k8s/fake"
	"ostinato.dev/ostinato/internal/protocol"
)

// world is a Bridge that leads, between a fake API server and a fake Temporal.
type world struct {
	t        *testing.T
	native   *kubernetesfake.Clientset
	cronJobs *fake.CronJobs
	temporal *fakeTemporal
	events   *record.FakeRecorder
	clock    *clocktesting.FakeClock
	settings config.Bridge
	objects  *objects
	cancel   context.CancelFunc
	ended    chan error
}

// newWorld makes a world that holds CronJobs and Jobs; lead makes it go.
func newWorld(t *testing.T, contents ...runtime.Object) *world {
	t.Helper()
	var cronJobs []*ostinatov1.CronJob
	var others []runtime.Object
	for _, object := range contents {
		if cronJob, ok := object.(*ostinatov1.CronJob); ok {
			cronJobs = append(cronJobs, cronJob)
		} else {
			others = append(others, object)
		}
	}
	return &world{
		t:        t,
		native:   kubernetesfake.NewClientset(others...),
		cronJobs: fake.NewCronJobs(cronJobs...),
		temporal: newFakeTemporal(),
		events:   record.NewFakeRecorder(10),
		clock:    clocktesting.NewFakeClock(after(20)),
		settings: config.Bridge{Workers: 2, SweepRate: 1000, OverdueGrace: 15 * time.Second},
	}
}

func (w *world) bridge() *Bridge {
	w.t.Helper()
	b, err := New(Options{
		Config:            w.settings,
		Clients:           &k8s.Clients{Kubernetes: w.native, CronJobs: listed{w.cronJobs}},
		Temporal:          w.temporal,
		TemporalNamespace: "default",
		Recorder:          w.events,
		Metrics:           NewMetrics(prometheus.NewRegistry()),
		Logger:            slog.New(slog.DiscardHandler),
		Clock:             w.clock,
	})
	require.NoError(w.t, err)
	w.objects = b.objects
	return b
}

func (w *world) lead() *world {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	b := w.bridge()
	go func() { w.ended <- b.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		w.stopped()
	})
	w.eventually(func() bool { return b.Ready(ctx) == nil }, "caches filled")
	return w
}

func (w *world) stopped() {
	w.t.Helper()
	select {
	case err := <-w.ended:
		assert.NoError(w.t, err)
		w.ended <- nil
	case <-time.After(20 * time.Second):
		assert.Fail(w.t, "the bridge did not stop")
	}
}

func (w *world) eventually(condition func() bool, what string) {
	w.t.Helper()
	require.Eventually(w.t, condition, 10*time.Second, 5*time.Millisecond, what)
}

// hears waits until Temporal was told exactly this since the last forget.
func (w *world) hears(want ...string) {
	w.t.Helper()
	assert.EventuallyWithT(w.t, func(collect *assert.CollectT) {
		assert.ElementsMatch(collect, want, w.temporal.said())
	}, 10*time.Second, 5*time.Millisecond)
	w.temporal.forget()
}

// settles lets the clock run in steps, so that whatever waits for it happens.
func (w *world) settles(seconds int) {
	w.t.Helper()
	for range seconds {
		w.eventually(w.clock.HasWaiters, "somebody waits for the clock")
		w.clock.Step(time.Second)
	}
}

func (w *world) put(cronJob *ostinatov1.CronJob) {
	w.t.Helper()
	client := w.cronJobs.CronJobs(cronJob.Namespace)
	_, err := client.Update(context.Background(), cronJob, metav1.UpdateOptions{})
	if err != nil {
		_, err = client.Create(context.Background(), cronJob, metav1.CreateOptions{})
	}
	require.NoError(w.t, err)
}

func (w *world) putJob(job *batchv1.Job) {
	w.t.Helper()
	client := w.native.BatchV1().Jobs(job.Namespace)
	_, err := client.Update(context.Background(), job, metav1.UpdateOptions{})
	if err != nil {
		_, err = client.Create(context.Background(), job, metav1.CreateOptions{})
	}
	require.NoError(w.t, err)
}

func (w *world) deleteJob(job *batchv1.Job) {
	w.t.Helper()
	require.NoError(w.t, w.native.BatchV1().Jobs(job.Namespace).Delete(context.Background(), job.Name, metav1.DeleteOptions{}))
}

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

func TestStartedWorkflowLearnsWhereTheObjectWas(t *testing.T) {
	newWorld(t, cronJob(active("r2")), run("r1", complete), run("r2", running), run("r3", failed)).
		lead().startedWith(func(input protocol.CronJobInput) bool {
		names := map[string]string{}
		for _, child := range input.Children {
			names[child.Run.Name] = string(child.Outcome)
		}
		return assert.Equal(t, map[string]string{"report-r1": "Complete", "report-r3": "Failed"}, names) &&
			assert.Len(t, input.Status.Active, 1)
	})
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
		cronJob(taken),
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

func TestOverdueCronJobIsPoked(t *testing.T) {
	w := newWorld(t, cronJob(taken, nextRun(40)))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.settles(50)
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue true")
	assert.Contains(t, <-w.events.Events, "Warning RunOverdue The run due at 2026-01-02T03:04:40Z has not started")

	w.settles(30)
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue true")
	assert.Empty(t, w.events.Events, "one Event for one run")
}

func TestUntakenGenerationIsSentAgain(t *testing.T) {
	w := newWorld(t, cronJob()).lead()
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
	w.settles(40)
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
}

func TestStandaloneJob(t *testing.T) {
	w := newWorld(t).lead()
	w.putJob(standalone())
	w.hears("start " + jobID)
	w.putJob(standalone(running))
	w.putJob(standalone(running, edited))
	w.hears("signal-with-start " + jobID + " job-spec j1 generation 2 deleting false")
	w.putJob(standalone(running, edited, edited, func(j *batchv1.Job) { j.DeletionTimestamp = at(9) }))
	w.hears("signal-with-start " + jobID + " job-spec j1 generation 3 deleting true")
	w.deleteJob(standalone())
	w.hears("signal " + jobID + " deleted j1")
}

func TestRecreatedJobReachesTheOldWorkflow(t *testing.T) {
	second := func(j *batchv1.Job) { j.UID = "j2" }
	t.Run("seen", func(t *testing.T) {
		w := newWorld(t).lead()
		w.putJob(standalone())
		w.hears("start " + jobID)
		w.putJob(standalone(second))
		w.hears("signal-with-start " + jobID + " job-spec j2 generation 1 deleting false")
	})
	t.Run("not seen", func(t *testing.T) {
		w := newWorld(t, standalone(second))
		w.temporal.running[jobID] = "j1"
		w.lead().hears("start "+jobID, "signal-with-start "+jobID+" job-spec j2 generation 1 deleting false")
	})
}

func TestRunWithoutWorkflowIsStartedAfterTheGrace(t *testing.T) {
	w := newWorld(t, cronJob(taken))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.putJob(run("r1", func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.putJob(run("r2", running, func(j *batchv1.Job) { j.CreationTimestamp = *at(20) }))
	w.settles(10)
	w.hears()
	w.settles(10)
	w.hears("start job/shop/report-r1")
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
	w.settles(30)
	w.hears(
		"signal "+cronJobID+" job-closed report-r1 Complete",
		"signal "+cronJobID+" job-closed report-r2 Failed",
		"signal "+cronJobID+" job-closed report-r3 Deleted",
	)
}

func TestRunThatTheCacheDoesNotHaveYetIsNotClosed(t *testing.T) {
	w := newWorld(t, cronJob(taken, active("r1")))
	w.temporal.running[cronJobID] = "c1"
	asked := make(chan struct{}, 10)
	w.native.PrependReactor("get", "jobs", jobReactor(run("r1", running), asked))
	w.lead().hears("start " + cronJobID)
	w.settles(30)
	<-asked
	w.hears()
}

func TestTemporalDownIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.temporal.failures = 3
	w.lead().put(cronJob())
	for range 20 {
		if len(w.temporal.said()) > 0 {
			break
		}
		w.settles(1)
	}
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
}

func TestOnlyTheNamespacesServed(t *testing.T) {
	w := newWorld(t, cronJob(), cronJob(func(c *ostinatov1.CronJob) { c.Namespace = "elsewhere" }))
	w.settings.Namespaces = []string{"shop", "empty"}
	w.temporal.running["job/elsewhere/import"] = "j1"
	w.lead().hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")
}

func TestNoMessageHoldsATemplate(t *testing.T) {
	w := newWorld(t, cronJob(), standalone(), run("r1", complete)).lead()
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
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "bridge"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: pointer("other"), LeaseDurationSeconds: pointer(int32(1)),
			RenewTime: &metav1.MicroTime{Time: time.Now()}, AcquireTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	w := newWorld(t, cronJob(), lease)
	w.settings.LeaderElection = config.LeaderElection{
		Enabled: true, Namespace: "system", Name: "bridge",
		LeaseDuration: time.Second, RenewDeadline: 600 * time.Millisecond, RetryPeriod: 100 * time.Millisecond,
	}
	w.lead()
	assert.Empty(t, w.temporal.said(), "ready, and following")
	w.hears("signal-with-start " + cronJobID + " cronjob-spec c1 generation 1 overdue false")

	w.cancel()
	w.stopped()
	released, err := w.native.CoordinationV1().Leases("system").Get(context.Background(), "bridge", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, *released.Spec.HolderIdentity, "the lease is given back")
}

func TestLostLeaseEndsTheProcess(t *testing.T) {
	w := newWorld(t, cronJob())
	w.settings.LeaderElection = config.LeaderElection{
		Enabled: true, Namespace: "system", Name: "bridge",
		LeaseDuration: time.Second, RenewDeadline: 600 * time.Millisecond, RetryPeriod: 100 * time.Millisecond,
	}
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
