package activities_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// What happens where clocks differ: the table of docs/failures.md.

// apart are by how much clocks differ.
var apart = []time.Duration{5 * time.Second, time.Minute, time.Hour}

// twoClocks are that of Temporal, which FakeClock shows and timers go by, and that of a worker.
type twoClocks struct {
	*clocktesting.FakeClock
	// ahead is how far the worker's is ahead of Temporal's.
	ahead atomic.Int64
}

func (c *twoClocks) Now() time.Time                          { return c.temporal().Add(c.apart()) }
func (c *twoClocks) Since(since time.Time) time.Duration     { return c.Now().Sub(since) }
func (c *twoClocks) temporal() time.Time                     { return c.FakeClock.Now() }
func (c *twoClocks) apart() time.Duration                    { return time.Duration(c.ahead.Load()) }
func (c *twoClocks) stepTheWorkers(by time.Duration)         { c.ahead.Add(int64(by)) }
func (c *twoClocks) whenTheWorkersIs(at time.Time) time.Time { return at.Add(-c.apart()) }

// apartStage is a stage of a worker whose clock differs from Temporal's.
type apartStage struct {
	*stage
	environment *testsuite.TestActivityEnvironment
	clocks      *twoClocks
	// held is what happens while the start is held, one after the other.
	held []func()

	mutex sync.Mutex
	// created is when Jobs were created, by Temporal's clock.
	created []time.Time
}

// startLead is how long before its time Temporal asks for a run.
const startLead = schedule.MaxLead

// newApart returns a worker whose clock is so far ahead of Temporal's, which is about to ask for the run.
func newApart(t *testing.T, ahead time.Duration, cronJob *ostinatov1.CronJob) *apartStage {
	t.Helper()
	a := &apartStage{clocks: &twoClocks{FakeClock: clocktesting.NewFakeClock(scheduled.Add(-startLead))}}
	a.clocks.stepTheWorkers(ahead)
	a.stage = newStage(t, nil, []*ostinatov1.CronJob{cronJob}, withClock(a.clocks), func(o *activities.Options) { o.StartLead = startLead })
	a.environment = a.stage.environment()
	a.kubernetes.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.created = append(a.created, a.clocks.temporal())
		return false, nil, nil
	})
	return a
}

// creations are when Jobs were created, after the time of the run, by Temporal's clock.
func (a *apartStage) creations() []time.Duration {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var late []time.Duration
	for _, at := range a.created {
		late = append(late, at.Sub(scheduled))
	}
	return late
}

// start asks for the run, as often as the worker gives it back.
func (a *apartStage) start(request protocol.StartRunRequest) protocol.StartRunResult {
	a.t.Helper()
	for {
		result, err := a.attempt(request)
		switch {
		case isTooEarly(err):
			a.clocks.Step(retryOf(err))
		case err != nil:
			a.t.Fatal(err)
		default:
			return result
		}
	}
}

func (a *apartStage) attempt(request protocol.StartRunRequest) (result protocol.StartRunResult, err error) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		result, err = runIn[protocol.StartRunResult](a.stage, a.environment, protocol.StartRunActivity, request)
	}()
	for {
		select {
		case <-answered:
			return result, err
		case <-time.After(time.Millisecond):
		}
		due := a.clocks.whenTheWorkersIs(scheduled)
		switch {
		case !a.clocks.HasWaiters():
		case len(a.held) > 0:
			a.held[0]()
			a.held = a.held[1:]
		case a.clocks.temporal().Before(due):
			a.clocks.SetTime(due)
		}
	}
}

func (a *apartStage) givenBack() float64 {
	return a.metric("ostinato_starts_given_back_total", "clock")
}

func TestARunOfAWorkerWhoseClockIsBehindWaitsForIt(t *testing.T) {
	for behind, givenBack := range map[time.Duration]float64{apart[0]: 1, apart[1]: 19, apart[2]: 1199} {
		t.Run(behind.String(), func(t *testing.T) {
			a := newApart(t, -behind, helloCronJob())
			request := startRequest()
			request.Start.Before = scheduled.Add(time.Minute)
			result := a.start(request)
			if late := a.creations(); result.Started == nil || !slices.Equal(late, []time.Duration{behind}) {
				t.Errorf("created %v late, result %+v", late, result)
			}
			if got := a.givenBack(); got != givenBack {
				t.Errorf("given back %v times, want %v", got, givenBack)
			}
		})
	}
	t.Run("but not for more than a day", func(t *testing.T) {
		a := newApart(t, -25*time.Hour, helloCronJob())
		if result := a.start(startRequest()); result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed || a.givenBack() != 0 {
			t.Errorf("result %+v", result)
		}
	})
}

// By the clock of a worker that is ahead the time of the run comes too early, or has come as soon as it is asked for.
func TestARunOfAWorkerWhoseClockIsAheadBeginsWhenItIsAskedFor(t *testing.T) {
	for _, ahead := range apart {
		t.Run(ahead.String(), func(t *testing.T) {
			a := newApart(t, ahead, helloCronJob())
			result := a.start(startRequest())
			if early := a.creations(); result.Started == nil || !slices.Equal(early, []time.Duration{-min(ahead, startLead)}) || a.givenBack() != 0 {
				t.Errorf("created %v late, given back %v times, result %+v", early, a.givenBack(), result)
			}
		})
	}
}

// A worker whose clock is ahead takes the starting deadline, and the next time of the schedule, for over too soon.
func TestARunIsTooLateByAClockThatIsAhead(t *testing.T) {
	for _, test := range []struct {
		ahead, before time.Duration
		late          bool
	}{
		{5 * time.Second, 31 * time.Second, false},
		{5 * time.Second, time.Minute, false},
		{time.Minute, 31 * time.Second, true},
		{time.Minute, time.Minute, false},
		{time.Hour, time.Minute, true},
		{time.Hour, time.Hour, false},
	} {
		t.Run(test.ahead.String()+" for a run that may begin in "+test.before.String(), func(t *testing.T) {
			a := newApart(t, test.ahead, helloCronJob())
			request := startRequest()
			request.Start.Before = scheduled.Add(test.before)
			result := a.start(request)
			late := result.Refused != nil && result.Refused.Reason == ledger.TooLate
			if late != test.late || late == (result.Started != nil) || late == (len(a.creations()) > 0) {
				t.Errorf("created %v late, result %+v", a.creations(), result)
			}
		})
	}
}

// The clock of a worker is set back while it holds a start: the timer goes off, and the time has not come.
func TestARunIsHeldLongerByAClockThatIsSetBack(t *testing.T) {
	for _, back := range apart {
		t.Run(back.String(), func(t *testing.T) {
			a := newApart(t, 0, helloCronJob())
			nothing := func() {
				if early := a.creations(); len(early) != 0 {
					t.Errorf("created %v late", early)
				}
			}
			a.held = []func(){
				func() {
					a.clocks.stepTheWorkers(-back)
					a.clocks.SetTime(scheduled)
				},
				func() {
					nothing()
					a.clocks.SetTime(scheduled.Add(back - time.Millisecond))
				},
				nothing,
			}
			result := a.start(startRequest())
			if late := a.creations(); result.Started == nil || !slices.Equal(late, []time.Duration{back}) || len(a.held) != 0 {
				t.Errorf("created %v late, result %+v", late, result)
			}
		})
	}
}

// An attempt of a worker whose clock is ahead has made the Job, and its answer is lost: one whose clock is behind finds it.
func TestWorkersWhoseClocksDifferMakeOneJob(t *testing.T) {
	for _, by := range apart {
		t.Run(by.String(), func(t *testing.T) {
			a := newApart(t, by, helloCronJob())
			first := a.start(startRequest())
			a.clocks.stepTheWorkers(-2 * by)
			second := a.start(startRequest())
			if first.Started == nil || second.Started == nil || first.Started.Run.UID != second.Started.Run.UID {
				t.Fatalf("results %+v, then %+v", first, second)
			}
			if jobs, err := a.kubernetes.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(jobs.Items) != 1 {
				t.Errorf("Jobs %+v, %v", jobs, err)
			}
		})
	}
}

// serveBy makes the API server stamp Jobs by a clock that is so far ahead of the worker's.
func (a *apartStage) serveBy(ahead time.Duration) {
	store := clienttesting.ObjectReaction(a.kubernetes.Tracker())
	a.kubernetes.PrependReactor("create", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		now := a.clocks.temporal()
		a.created = append(a.created, now)
		made := action.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
		made.UID, made.CreationTimestamp = types.UID(made.Name+"-uid"), metav1.NewTime(now.Add(ahead))
		return store(action)
	})
}

// No run waits for the API server's clock. What it says is in the metric of the delay, and in the run.
func TestTheAPIServersClockStartsNoRun(t *testing.T) {
	for _, by := range apart {
		for _, ahead := range []time.Duration{by, -by} {
			t.Run(ahead.String(), func(t *testing.T) {
				a := newApart(t, 0, helloCronJob())
				a.serveBy(ahead)
				result := a.start(startRequest())
				if late := a.creations(); result.Started == nil || !slices.Equal(late, []time.Duration{0}) {
					t.Fatalf("created %v late, result %+v", late, result)
				}
				if started := result.Started.Run.Started; !started.Equal(scheduled.Add(ahead)) {
					t.Errorf("started at %s", started)
				}
				if sum := a.metric("cronjob_controller_job_creation_skew_duration_seconds"); sum != ahead.Seconds() {
					t.Errorf("the delay sums up to %v s", sum)
				}
			})
		}
	}
}

// A trigger has no time to wait for, but one that is said to come from the future is made up.
func TestATriggerByATemporalWhoseClockDiffers(t *testing.T) {
	for ahead, starts := range map[time.Duration]bool{
		-time.Hour: true, -time.Minute: true, -5 * time.Second: true, 5 * time.Second: true, time.Minute: true, time.Hour: false,
	} {
		t.Run(ahead.String(), func(t *testing.T) {
			a := newApart(t, -ahead, helloCronJob())
			request := startRequest()
			request.Start = schedule.Start{
				Name: names.TriggeredJob("hello", "cron-uid", 7), Scheduled: a.clocks.temporal().Truncate(time.Second), Manual: true, Sequence: 7,
			}
			result := a.start(request)
			if (result.Started != nil) != starts || (result.Refused != nil && strings.Contains(result.Refused.Message, "has not come")) == starts {
				t.Errorf("result %+v", result)
			}
		})
	}
}

// A worker makes no more Pods for a Job whose deadline is over by its clock. The Job's workflow goes by Temporal's.
func TestPodsOfAJobWhoseDeadlineIsOverByTheWorkersClock(t *testing.T) {
	for ahead, makes := range map[time.Duration]bool{
		-time.Hour: true, -time.Minute: true, -5 * time.Second: true, 5 * time.Second: true, time.Minute: false, time.Hour: false,
	} {
		t.Run(ahead.String(), func(t *testing.T) {
			running := helloJob()
			running.Spec.ActiveDeadlineSeconds, running.Status.StartTime = ptr.To(int64(30)), ptr.To(metav1.NewTime(scheduled))
			s := newStage(t, []runtime.Object{running}, nil, withClock(clocktesting.NewFakeClock(scheduled.Add(time.Second+ahead))))
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1)})
			if made := len(result.Created) == 1; made != makes || made != (len(s.writes()) == 1) {
				t.Errorf("result %+v, writes %v", result, s.writes())
			}
		})
	}
}
