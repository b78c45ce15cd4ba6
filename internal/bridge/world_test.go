package bridge

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/testing/fake"
)

// world is a Bridge that leads, between a fake API server and a fake Temporal.
type world struct {
	t         *testing.T
	native    *kubernetesfake.Clientset
	cronJobs  *fake.CronJobs
	temporal  *fakeTemporal
	events    *record.FakeRecorder
	clock     *worldClock
	settings  config.Bridge
	sweepRate float64
	objects   *objects
	metrics   *prometheus.Registry
	log       *lockedBuffer
	// resources is what discovery says of batch.ostinato.dev.
	resources atomic.Pointer[metav1.APIResourceList]
	cancel    context.CancelFunc
	ended     chan error
}

// worldClock is a fake clock that knows which tickers it has: a step ahead of one is lost on it.
type worldClock struct {
	*clocktesting.FakeClock
	tickers sync.Map
}

func (c *worldClock) NewTicker(period time.Duration) clock.Ticker {
	ticker := c.FakeClock.NewTicker(period)
	c.tickers.Store(period, true)
	return ticker
}

// ticks reports whether somebody has a ticker of this period.
func (c *worldClock) ticks(period time.Duration) bool {
	_, found := c.tickers.Load(period)
	return found
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
	w := &world{
		t:        t,
		native:   kubernetesfake.NewClientset(others...),
		cronJobs: fake.NewCronJobs(cronJobs...),
		temporal: newFakeTemporal(),
		events:   record.NewFakeRecorder(10),
		clock:    &worldClock{FakeClock: clocktesting.NewFakeClock(after(20))},
		metrics:  prometheus.NewRegistry(),
		log:      &lockedBuffer{},
		settings: config.Bridge{Workers: 2, OverdueGrace: 15 * time.Second}, sweepRate: 1000,
	}
	w.install(cronJobResources())
	w.native.PrependReactor("get", "resource", w.discover)
	return w
}

func (w *world) bridge() *Bridge {
	w.t.Helper()
	b, err := New(Options{
		Config:            w.settings,
		SweepRate:         w.sweepRate,
		Clients:           &k8s.Clients{Kubernetes: w.native, CronJobs: listed{w.cronJobs}},
		Temporal:          w.temporal,
		TemporalNamespace: "default",
		Recorder:          w.events,
		Metrics:           NewMetrics(w.metrics),
		Logger:            slog.New(slog.NewTextHandler(w.log, nil)),
		Clock:             w.clock,
	})
	require.NoError(w.t, err)
	w.objects = b.objects
	return b
}

func (w *world) lead() *world {
	w.t.Helper()
	b := w.bridge()
	w.begin(b)
	w.eventually(func() bool {
		if w.settings.TakeOver != (config.TakeOver{}) {
			w.clock.Step(probePeriod)
		}
		return b.Ready(context.Background()) == nil && (w.settings.LeaderElection.Enabled || w.clock.ticks(ensurePeriod) && w.said("msg=serving") > 0)
	}, "caches filled, and a leader makes rounds and serves")
	return w
}

// begin runs a bridge until the test ends.
func (w *world) begin(b *Bridge) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	go func() { w.ended <- b.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		w.stopped()
	})
}

// takingOver makes the world one in which Jobs are taken over.
func (w *world) takingOver() *world {
	w.settings.TakeOver.Jobs = true
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

// hearsInTime is hears while the clock runs; what is said again counts once.
func (w *world) hearsInTime(want ...string) {
	w.t.Helper()
	assert.EventuallyWithT(w.t, func(collect *assert.CollectT) {
		w.clock.Step(time.Second)
		said := w.temporal.said()
		slices.Sort(said)
		assert.ElementsMatch(collect, want, slices.Compact(said))
	}, 20*time.Second, 20*time.Millisecond)
	w.temporal.forget()
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

// jobs lists the Jobs of a namespace.
func (w *world) jobs(namespace string) []batchv1.Job {
	w.t.Helper()
	list, err := w.native.BatchV1().Jobs(namespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}

// measured returns the value of a counter or gauge, or how often a histogram observed.
func (w *world) measured(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.metrics.Gather()
	require.NoError(w.t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			values := make([]string, 0, len(labels))
			for _, pair := range metric.GetLabel() {
				values = append(values, pair.GetValue())
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

func (w *world) deleteJob(job *batchv1.Job) {
	w.t.Helper()
	require.NoError(w.t, w.native.BatchV1().Jobs(job.Namespace).Delete(context.Background(), job.Name, metav1.DeleteOptions{}))
}

// lockedBuffer is a log that a test may read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// said is how often the log has a line.
func (w *world) said(line string) int { return strings.Count(w.log.String(), line) }
