package podwatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/internal/podwatch"
)

// outage is an API server that does not serve Pods, of all namespaces or of some.
type outage struct {
	mutex   sync.Mutex
	refuses map[string]error
	streams []*watch.FakeWatcher
	refused atomic.Int64
}

// outages makes watches of Pods fail when they are told to.
func (s *stage) outages() *outage {
	o := &outage{refuses: map[string]error{}}
	fail := func(action clienttesting.Action) error {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		err := o.refuses[action.GetNamespace()]
		if err != nil {
			o.refused.Add(1)
		}
		return err
	}
	s.kubernetes.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		err := fail(action)
		return err != nil, nil, err
	})
	s.kubernetes.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		if err := fail(action); err != nil {
			return true, nil, err
		}
		stream := watch.NewFake()
		o.mutex.Lock()
		o.streams = append(o.streams, stream)
		o.mutex.Unlock()
		s.watches.Add(1)
		return true, stream, nil
	})
	return o
}

// begin breaks what is open, and refuses what is asked of these namespaces.
func (o *outage) begin(err error, namespaces ...string) {
	o.mutex.Lock()
	for _, namespace := range namespaces {
		o.refuses[namespace] = err
	}
	streams := o.streams
	o.streams = nil
	o.mutex.Unlock()
	for _, stream := range streams {
		stream.Stop()
	}
}

func (o *outage) end() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	clear(o.refuses)
}

// isRefused waits until the API server has refused something again.
func (o *outage) isRefused(t *testing.T) {
	t.Helper()
	before := o.refused.Load()
	eventually(t, "the watch tries again", func() bool { return o.refused.Load() > before })
}

// starts runs a watch and returns what it ends with, by itself.
func (s *stage) starts() (ended <-chan error) {
	watcher, err := podwatch.New(s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, result := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(done)
		result <- watcher.Run(ctx)
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	return result
}

func TestAWatchThatCannotWatchGivesUp(t *testing.T) {
	for name, refused := range map[string]error{
		"not reached":      errors.New("connection refused"),
		"not known":        apierrors.NewUnauthorized("token expired"),
		"not allowed":      apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no role")),
		"not served":       apierrors.NewServiceUnavailable("shutting down"),
		"not understood":   apierrors.NewBadRequest("what?"),
		"out of its depth": apierrors.NewInternalError(errors.New("etcd is away")),
	} {
		for _, begun := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after it has watched"}[begun], func(t *testing.T) {
				t.Parallel()
				clock := clocktesting.NewFakeClock(noon)
				s := newStage(t, objects(helloJob()), withClock(clock))
				away := s.outages()
				if !begun {
					away.begin(refused, "")
				}
				ended := s.starts()
				if begun {
					eventually(t, "the watch is open", func() bool { return s.watches.Load() == 1 })
					away.begin(refused, "")
				}
				away.isRefused(t)
				outageBegan := clock.Now()
				var err error
				s.passes(clock, "the watch ends", func() bool {
					select {
					case err = <-ended:
						return true
					default:
						return false
					}
				})
				if lasted := clock.Since(outageBegan); lasted < 29*time.Second {
					t.Errorf("after %v", lasted)
				}
				if !strings.Contains(err.Error(), refused.Error()) || !strings.Contains(err.Error(), "could not be watched for 3") {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

func TestAWatchThatIsServedNowAndThenGoesOn(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(helloJob()), withClock(clock))
	away := s.outages()
	ended := s.starts()
	for round := range 2 {
		eventually(t, "the watch is open", func() bool { return s.watches.Load() == int64(round+1) })
		away.begin(errors.New("connection refused"), "")
		away.isRefused(t)
		s.passesQuietly(clock, 10) // 20 s
		away.end()
	}
	eventually(t, "the watch is open again", func() bool { return s.watches.Load() == 3 })
	s.passesQuietly(clock, 30)
	select {
	case err := <-ended:
		t.Errorf("the watch ended: %v", err)
	default:
	}
}

// TestANamespaceThatCannotBeWatchedEndsNoOther: its rights are missing for every worker.
func TestANamespaceThatCannotBeWatchedEndsNoOther(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(helloJob()), withClock(clock), serving("shop", "billing"))
	var details atomic.Pointer[podwatch.Details]
	report := s.options.Report
	s.options.Report = func(now podwatch.Details) { details.Store(&now); report(now) }
	away := s.outages()
	ended := s.starts()
	eventually(t, "both watches are open", func() bool { return s.watches.Load() == 2 })
	away.begin(errors.New("no role in billing"), "billing")
	away.isRefused(t)
	eventually(t, "the other is open again", func() bool { return s.watches.Load() == 3 })
	s.passesQuietly(clock, 60)
	select {
	case err := <-ended:
		t.Fatalf("the watch ended: %v", err)
	default:
	}
	if failing := details.Load().Failing; !strings.Contains(failing, "no role in billing") {
		t.Errorf("reported %q", failing)
	}
	away.begin(errors.New("no role at all"), "billing", "shop")
	var err error
	s.passes(clock, "the watch ends", func() bool {
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	if !strings.Contains(err.Error(), "no role at all") {
		t.Errorf("error %v", err)
	}
}

// One of the namespaces was deleted, and its RoleBinding with it, before the watch begins.
func TestANamespaceThatCannotBeListedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(noon)
	left := helloPod("left", corev1.PodSucceeded).Of(otherJob()).Unseen().Labelled(batchv1.JobNameLabel, otherJob().Name)
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded), left), withClock(clock), serving("billing", namespace), takingOver)
	away := s.outages()
	away.begin(apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no role in billing")), "billing")
	ended := s.starts()
	away.isRefused(t)
	s.eventuallyTold("a ended")
	eventually(t, "a Pod that the built-in controller has left is released", func() bool { return !s.tracked("left") })
	s.passesQuietly(clock, 60) // two minutes
	select {
	case err := <-ended:
		t.Fatalf("the watch ended: %v", err)
	default:
	}
	away.end()
	eventually(t, "the namespace is watched when it can be", func() bool { return s.watches.Load() == 2 })
}

// TestAWatchWithoutAnyAnswerGivesUp: a request that hangs is no failure. It may only take long, so each attempt waits a minute more.
func TestAWatchWithoutAnyAnswerGivesUp(t *testing.T) {
	for name, test := range map[string]struct {
		attempt int32
		minutes int64
	}{
		"in the first attempt":  {1, 1},
		"in the third":          {3, 3},
		"in the thirtieth":      {30, 10},
		"in none that is known": {0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakeClock(noon)
			s := newStage(t, objects(helloJob()), withClock(clock))
			s.options.Attempt = test.attempt
			hang := make(chan struct{})
			s.kubernetes.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				<-hang
				return true, nil, errors.New("too late")
			})
			ended := s.starts()
			s.passesQuietly(clock, 30*test.minutes-5)
			clock.Step(20 * time.Second)
			close(hang)
			err := <-ended
			if want := fmt.Sprintf("could not be watched for %dm", test.minutes); !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}
