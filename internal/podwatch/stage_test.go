package podwatch_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdklog "go.temporal.io/sdk/log"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/protocol"
	k8sfake "ostinato.dev/ostinato/internal/testing/fake"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

// stage is a fake cluster with watches on it.
type stage struct {
	t          *testing.T
	kubernetes *fake.Clientset
	signals    *signaller
	registry   *prometheus.Registry
	// watches counts the watches of Pods that were opened.
	watches *atomic.Int64
	// reports counts the reports of the watches, every two seconds.
	reports atomic.Int64
	options podwatch.Options
	// watcher is the watch that was started last.
	watcher *podwatch.Watcher
}

type option func(*podwatch.Options)

func takingOver(options *podwatch.Options) { options.TakeOverJobs = true }

func serving(namespaces ...string) option {
	return func(options *podwatch.Options) { options.Namespaces = namespaces }
}

func withClock(clock clock.WithTicker) option {
	return func(options *podwatch.Options) { options.Clock = clock }
}

// newStage returns a stage with the objects on it. The fake API server gives
// created objects a UID and a creation time, as the real one does.
func newStage(t *testing.T, objects []runtime.Object, with ...option) *stage {
	t.Helper()
	s := &stage{
		t:          t,
		kubernetes: fake.NewClientset(objects...),
		signals:    &signaller{},
		registry:   prometheus.NewRegistry(),
	}
	s.watches = k8sfake.SelectPods(s.kubernetes)
	k8sfake.Identify(s.kubernetes, noon.Add(3*time.Second))
	s.options = podwatch.Options{
		Kubernetes: s.kubernetes, Temporal: s.signals, Shards: 1, Metrics: podwatch.NewMetrics(s.registry),
		Logger: sdklog.NewStructuredLogger(testLogger(t)), Clock: clock.RealClock{},
		Report: func(podwatch.Details) { s.reports.Add(1) },
		Job:    func(string, string, types.UID) *batchv1.Job { return nil }, // as without the right to watch Jobs
		Jobs:   func() iter.Seq[*batchv1.Job] { return func(func(*batchv1.Job) bool) {} },
		Begins: func(string, string, types.UID) bool { return false },
	}
	for _, apply := range with {
		apply(&s.options)
	}
	return s
}

// run starts a watch; stop ends it and returns its error.
func (s *stage) run() (stop func() error) {
	watcher, err := podwatch.New(s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.watcher = watcher
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Second):
			s.t.Error("the watch does not stop")
			return nil
		}
	})
	s.t.Cleanup(func() { _ = stop() })
	return stop
}

// watch runs a watch until the test ends or stop is called. It returns when the watch
// is open.
func (s *stage) watch() (stop func() error) {
	opened := s.watches.Load()
	stop = s.run()
	eventually(s.t, "the watch is open", func() bool { return s.watches.Load() > opened })
	return stop
}

// createPod creates a Pod as Ostinato does; as someone else, if the Pod says so.
func (s *stage) createPod(pod podBuilder) {
	s.t.Helper()
	options := metav1.CreateOptions{FieldManager: k8s.JobFieldManager}
	for _, entry := range pod.ManagedFields {
		options.FieldManager = entry.Manager
	}
	if _, err := s.kubernetes.CoreV1().Pods(pod.Namespace).Create(s.t.Context(), pod.Pod, options); err != nil {
		s.t.Fatalf("create Pod: %v", err)
	}
}

func (s *stage) pod(name string) *corev1.Pod {
	s.t.Helper()
	return fixture.StoredPod(s.t, s.kubernetes, name)
}

func (s *stage) updatePod(pod podBuilder) {
	s.t.Helper()
	if _, err := s.kubernetes.CoreV1().Pods(pod.Namespace).Update(s.t.Context(), pod.Pod, metav1.UpdateOptions{}); err != nil {
		s.t.Fatalf("update Pod %s: %v", pod.Name, err)
	}
}

func (s *stage) deletePod(name string) {
	s.t.Helper()
	if err := s.kubernetes.CoreV1().Pods(namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatalf("delete Pod %s: %v", name, err)
	}
}

func (s *stage) tracked(name string) bool { return claim.Tracked(s.pod(name)) }

// seen reports whether a watch sees the Pod.
func (s *stage) seen(name string) bool {
	_, labelled := s.pod(name).Labels[names.WatchBucketLabel]
	return labelled
}

func (s *stage) controlled(name string, owner *batchv1.Job) bool {
	return metav1.IsControlledBy(s.pod(name), owner)
}

func (s *stage) ready(job string) int32 {
	s.t.Helper()
	found, err := s.kubernetes.BatchV1().Jobs(namespace).Get(s.t.Context(), job, metav1.GetOptions{})
	if err != nil {
		s.t.Fatalf("get Job %s: %v", job, err)
	}
	if found.Status.Ready == nil {
		return 0
	}
	return *found.Status.Ready
}

// told describes what workflows were told, in short and in order.
func (s *stage) told() []string {
	var facts []string
	for _, signal := range s.signals.all() {
		for _, fact := range signal.facts.Facts {
			text := fact.Name
			switch {
			case fact.Disowned:
				text += " disowned"
			case fact.Gone:
				text += " gone"
			case fact.Ended():
				text += " ended"
			}
			facts = append(facts, text)
		}
	}
	return facts
}

func (s *stage) eventuallyTold(want ...string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the workflow is told %q", want), func() bool { return slices.Equal(s.told(), want) })
}

// quiet checks that the watch has nothing more to say: another Pod's end, which
// comes after what was there before, is all that is told.
func (s *stage) quiet(want ...string) {
	s.t.Helper()
	s.createPod(helloPod("zz-last", corev1.PodFailed))
	s.eventuallyTold(append(want, "zz-last ended")...)
}

// asked counts the requests to the API server of a kind.
func (s *stage) asked(verb, resource string) int {
	count := 0
	for _, action := range s.kubernetes.Actions() {
		if action.Matches(verb, resource) {
			count++
		}
	}
	return count
}

// passes lets a fake clock go on, a second at a time, until the condition holds.
func (s *stage) passes(clock *clocktesting.FakeClock, what string, condition func() bool) {
	s.t.Helper()
	eventually(s.t, what, func() bool {
		clock.Step(time.Second)
		return condition()
	})
}

// passesQuietly lets a fake clock go on for as long as it takes the watch to report so
// often, which it does every two seconds.
func (s *stage) passesQuietly(clock *clocktesting.FakeClock, reports int64) {
	s.t.Helper()
	until := s.reports.Load() + reports
	s.passes(clock, "the time passes", func() bool { return s.reports.Load() >= until })
}

func (s *stage) metric(name string, values ...string) float64 {
	s.t.Helper()
	return fixture.Metric(s.t, s.registry, name, values...)
}

// signaller is Temporal as far as a watch sees it.
type signaller struct {
	mutex sync.Mutex
	taken []signal
	calls int
	// answer decides what a signal meets; nil takes all.
	answer func(workflowID string) error
	now    func() time.Time
}

type signal struct {
	workflowID string
	facts      protocol.PodFacts
	at         time.Time
}

func (s *signaller) SignalWorkflow(_ context.Context, workflowID, _, name string, argument any) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls++
	if s.answer != nil {
		if err := s.answer(workflowID); err != nil {
			return err
		}
	}
	taken := signal{workflowID: workflowID, facts: argument.(protocol.PodFacts)}
	if s.now != nil {
		taken.at = s.now()
	}
	if name == protocol.PodsSignal {
		s.taken = append(s.taken, taken)
	}
	return nil
}

func (s *signaller) all() []signal {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.taken)
}

// names lists the Pods that were signalled, in order, across signals.
func (s *signaller) names() []string {
	var names []string
	for _, signal := range s.all() {
		for _, fact := range signal.facts.Facts {
			names = append(names, fact.Name)
		}
	}
	return names
}

func (s *signaller) attempts() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.calls
}

func (s *signaller) set(answer func(string) error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answer = answer
}
