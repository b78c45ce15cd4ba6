package activities_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// turns is how many Jobs a process creates at a time.
const turns = 64

// crowd is a herd of CronJobs on a stage. Each create of a Job waits until it is let through.
type crowd struct {
	*stage
	clock *clocktesting.FakeClock
	// passes is a namespace whose creates do not wait.
	passes   string
	mutex    sync.Mutex
	creates  []string
	tooEarly []string
	proceed  chan struct{}
	requests map[string]protocol.StartRunRequest
	group    sync.WaitGroup
}

// newCrowd has so many CronJobs in each namespace.
func newCrowd(t *testing.T, at time.Time, count map[string]int, with ...option) *crowd {
	c := &crowd{clock: clocktesting.NewFakeClock(at), proceed: make(chan struct{}), requests: map[string]protocol.StartRunRequest{}}
	var cronJobs []*ostinatov1.CronJob
	for namespace, n := range count {
		for i := range n {
			cronJob := helloCronJob()
			cronJob.Namespace, cronJob.Name = namespace, fmt.Sprintf("%s-%d", namespace, i)
			cronJob.UID = types.UID(cronJob.Name + "-uid")
			// The API server gives each Job's Pods labels.
			cronJob.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": cronJob.Name}
			cronJobs = append(cronJobs, cronJob)
			request := startRequest()
			request.CronJob.Namespace, request.CronJob.Name, request.CronJob.UID = namespace, cronJob.Name, string(cronJob.UID)
			request.Start.Name = names.ScheduledJob(cronJob.Name, scheduled)
			c.requests[cronJob.Name] = request
		}
	}
	c.stage = newStage(t, nil, cronJobs, append(with, withClock(c.clock), func(o *activities.Options) {
		o.Kubernetes = slowClient{o.Kubernetes, func(name string) {
			c.mutex.Lock()
			c.creates = append(c.creates, name)
			c.mutex.Unlock()
			if c.passes == "" || !strings.HasPrefix(name, c.passes) {
				<-c.proceed
			}
		}}
	})...)
	return c
}

// start asks for the runs of some CronJobs of a namespace, and waits until each has got as far as it can.
func (c *crowd) start(namespace string, from, to int) {
	for i := from; i < to; i++ {
		request := c.requests[fmt.Sprintf("%s-%d", namespace, i)]
		c.group.Go(func() {
			switch _, err := run[protocol.StartRunResult](c.stage, protocol.StartRunActivity, request); {
			case isTooEarly(err):
				c.mutex.Lock()
				defer c.mutex.Unlock()
				c.tooEarly = append(c.tooEarly, request.CronJob.Name)
			case err != nil:
				c.t.Error(err)
			}
		})
	}
	synctest.Wait()
}

// letThrough lets one create through, and waits until all has come of it that can.
func (c *crowd) letThrough() {
	c.proceed <- struct{}{}
	synctest.Wait()
}

// early returns the CronJobs whose starts could not be held.
func (c *crowd) early() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.tooEarly)
}

// done lets all through.
func (c *crowd) done() {
	close(c.proceed)
	c.group.Wait()
}

func (c *crowd) begun(namespace string, i int) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Index(c.creates, names.ScheduledJob(fmt.Sprintf("%s-%d", namespace, i), scheduled))
}

// A herd has all turns and waits for more when the one run of another namespace comes: that has the next turn.
func TestTurnsAreSharedByNamespaces(t *testing.T) {
	for _, test := range []struct {
		name, weights string
		// want is what is created after the first turns: the herd's 64th and later, or quiet ones.
		want []string
	}{
		{"one after another", "", []string{"quiet-0", "herd-64", "quiet-1", "herd-65"}},
		{"by weight", "quiet=3", []string{"quiet-0", "quiet-1", "quiet-2", "herd-64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, scheduled, map[string]int{"herd": turns + 6, "quiet": 3}, func(o *activities.Options) {
					if err := o.Weights.Set(test.weights); err != nil {
						t.Fatal(err)
					}
				})
				for i := range turns + 6 {
					c.start("herd", i, i+1)
				}
				for i := range 3 {
					c.start("quiet", i, i+1)
				}
				for range test.want {
					c.letThrough()
				}
				var got []string
				for _, job := range c.creates[turns:] {
					for name := range c.requests {
						if names.ScheduledJob(name, scheduled) == job {
							got = append(got, name)
						}
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("created %v, want %v", got, test.want)
				}
				c.done()
			})
		})
	}
}

// Admission hangs for the Jobs of one namespace: their creates have all turns, and make room for others.
func TestAdmissionThatHangsForOneNamespaceHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, scheduled, map[string]int{"herd": 2 * turns, "quiet": 1})
		c.passes = "quiet"
		c.start("herd", 0, 2*turns)
		came := time.Now()
		c.start("quiet", 0, 1)
		for c.begun("quiet", 0) < 0 && time.Since(came) < 25*time.Second {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if waited := time.Since(came); waited > time.Second {
			t.Errorf("the create of the run of another namespace began after %s", waited)
		}
		c.done()
	})
}

// A start that waits for its turn has a place among the activities of its worker, which others could use: it waits ten seconds.
func TestAStartWhoseTurnDoesNotComeIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, scheduled, map[string]int{"herd": 2 * turns})
		c.start("herd", 0, 2*turns)
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		if early := c.early(); len(early) > 0 {
			t.Errorf("given back too early: %v", early)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if early := c.early(); len(early) == 0 || len(early)+len(c.creates) != 2*turns {
			t.Errorf("%d starts were given back, and %d creates sent, want %d in all", len(early), len(c.creates), 2*turns)
		}
		c.done()
	})
}

// If it hangs for Pods, the start of their run waits a second for them, 64 at a time, and so does a run of another namespace.
func TestAdmissionOfPodsThatHangsHoldsUpNoStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, scheduled, map[string]int{"herd": 2 * turns, "quiet": 1}, func(o *activities.Options) {
			o.Kubernetes = hangingPods{o.Kubernetes, "herd"}
		})
		close(c.proceed)
		came := time.Now()
		c.start("herd", 0, 2*turns)
		c.start("quiet", 0, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		if c.begun("quiet", 0) < 0 {
			t.Error("the create of the run of another namespace has not begun after a second")
		}
		c.group.Wait()
		// A herd's starts let one another go first, for two seconds.
		if took := time.Since(came); took > 4*time.Second {
			t.Errorf("the starts took %s", took)
		}
		time.Sleep(time.Minute) // for the requests
	})
}

// hangingPods is a client whose creates of Pods have no answer in one namespace.
type hangingPods struct {
	kubernetes.Interface
	namespace string
}

type hangingCore struct {
	typedcorev1.CoreV1Interface
	namespace string
}

type hanging struct{ typedcorev1.PodInterface }

func (h hangingPods) CoreV1() typedcorev1.CoreV1Interface {
	return hangingCore{h.Interface.CoreV1(), h.namespace}
}

func (h hangingCore) Pods(namespace string) typedcorev1.PodInterface {
	if namespace != h.namespace {
		return h.CoreV1Interface.Pods(namespace)
	}
	return hanging{h.CoreV1Interface.Pods(namespace)}
}

func (hanging) Create(ctx context.Context, _ *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A status whose turn does not come in time is not begun: the API server would give it up in the middle.
func TestAStatusThatCouldNotEndInTimeIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		var writes atomic.Int32
		c := newCrowd(t, scheduled, map[string]int{"herd": 2 * turns}, func(o *activities.Options) {
			o.CronJobs = slowCronJobs{o.CronJobs, func() {
				writes.Add(1)
				<-answer
			}}
		})
		begun := time.Now()
		c.start("herd", 0, 2*turns)
		for range 2 * turns {
			c.letThrough()
		}
		const budget = 10 * time.Minute // which the SDK's test environment gives an activity
		time.Sleep(budget - time.Since(begun) - 1500*time.Millisecond)
		close(answer)
		c.done()
		// A namespace has 32 turns that last longer than a second, and those that others did not need before.
		if got := writes.Load(); got < turns || got > turns+32 {
			t.Errorf("%d statuses were written, want those that had their turn in time", got)
		}
	})
}

// What follows on a create waits for the other creates of its herd, but not where it is of a namespace that has few of
// them.
func TestAHerdDoesNotHoldUpWhatFollowsOnAnothersCreate(t *testing.T) {
	for _, test := range []struct {
		name  string
		herd  int
		waits bool
	}{{"one of thirty-three goes on", 32, false}, {"one of four waits", 3, true}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, scheduled, map[string]int{"herd": test.herd, "quiet": 1})
				c.passes = "quiet"
				c.start("herd", 0, test.herd)
				c.start("quiet", 0, 1)
				if waits := len(c.cronJobs.Stored("quiet", "quiet-0").Status.Active) == 0; waits != test.waits {
					t.Errorf("the status waits: %v, want %v", waits, test.waits)
				}
				c.done()
				if c.cronJobs.Stored("quiet", "quiet-0").Status.Active == nil {
					t.Error("the status was not written")
				}
			})
		})
	}
}

// Starts that are held leave places for those of other namespaces.
func TestAHerdDoesNotHoldAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, scheduled.Add(-time.Second), map[string]int{"herd": 140, "quiet": 1}, func(o *activities.Options) { o.MaxHeld = 130 })
		c.start("herd", 0, 140)
		c.start("quiet", 0, 1)
		if early := c.early(); len(early) != 12 || slices.Contains(early, "quiet-0") {
			t.Errorf("these could not be held: %v", early)
		}
		c.clock.SetTime(scheduled)
		c.done()
		if c.begun("quiet", 0) < 0 {
			t.Error("the run that was held was not started")
		}
	})
}

// A status that has no answer is tried again later: what has been started is told before.
func TestAStartWhoseStatusHangsHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, scheduled, map[string]int{"quiet": 1}, func(o *activities.Options) { o.CronJobs = hangingStatus{o.CronJobs, "quiet"} })
		close(c.proceed)
		began := time.Now()
		result := must[protocol.StartRunResult](c.stage, protocol.StartRunActivity, c.requests["quiet-0"])
		if result.Started == nil || result.StatusFailed == "" || time.Since(began) > 30*time.Second {
			t.Errorf("after %s result %+v", time.Since(began), result)
		}
	})
}

// Admission hangs for the statuses of one namespace: those of another are written.
func TestStatusesThatHangForOneNamespaceHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, scheduled, map[string]int{"herd": 2 * turns, "quiet": 1}, func(o *activities.Options) {
			o.CronJobs = hangingStatus{o.CronJobs, "herd"}
		})
		close(c.proceed)
		c.start("herd", 0, 2*turns)
		began := time.Now()
		result := must[protocol.StartRunResult](c.stage, protocol.StartRunActivity, c.requests["quiet-0"])
		if took := time.Since(began); result.StatusFailed != "" || took > 4*time.Second {
			t.Errorf("after %s result %+v", took, result)
		}
		c.group.Wait()
	})
}

// hangingStatus is a client whose writes of CronJobs' statuses have no answer in one namespace.
type hangingStatus struct {
	k8s.CronJobsGetter
	namespace string
}

type hangingStatusOf struct{ k8s.CronJobInterface }

func (h hangingStatus) CronJobs(namespace string) k8s.CronJobInterface {
	if namespace != h.namespace {
		return h.CronJobsGetter.CronJobs(namespace)
	}
	return hangingStatusOf{h.CronJobsGetter.CronJobs(namespace)}
}

func (hangingStatusOf) UpdateStatus(ctx context.Context, _ *ostinatov1.CronJob, _ metav1.UpdateOptions) (*ostinatov1.CronJob, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
