package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// held is a start that was asked for before its time.
type held struct {
	*stage
	clock  *clocktesting.FakeClock
	answer chan error
	result protocol.StartRunResult

	mutex sync.Mutex
	// created is when Jobs were created or deleted.
	changed []time.Time
	edits   int
}

// hold asks for the start of the run so long before its time.
func hold(t *testing.T, early time.Duration, with ...option) *held {
	t.Helper()
	return holdRequest(t, early, func(*protocol.StartRunRequest) {}, with...)
}

func holdRequest(t *testing.T, early time.Duration, change func(*protocol.StartRunRequest), with ...option) *held {
	t.Helper()
	h := &held{clock: clocktesting.NewFakeClock(scheduled.Add(-early)), answer: make(chan error, 1)}
	h.stage = newStage(t, []runtime.Object{cronJobsJob("running")}, []*ostinatov1.CronJob{concurrent(batchv1.ReplaceConcurrent)}, append(with, withClock(h.clock))...)
	for _, verb := range []string{"create", "delete"} {
		h.kubernetes.PrependReactor(verb, "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			h.mutex.Lock()
			defer h.mutex.Unlock()
			h.changed = append(h.changed, h.clock.Now())
			return false, nil, nil
		})
	}
	request := startRequest()
	change(&request)
	go func() {
		var err error
		h.result, err = run[protocol.StartRunResult](h.stage, protocol.StartRunActivity, request)
		h.answer <- err
	}()
	return h
}

// waits waits until the start is held, or answered.
func (h *held) waits() (held bool) {
	h.t.Helper()
	for range 5000 {
		if h.clock.HasWaiters() {
			return true
		}
		if len(h.answer) > 0 {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	h.t.Fatal("the start is neither held nor answered")
	return false
}

// until moves the clock, and lets who waits for that notice.
func (h *held) until(at time.Time) *held {
	h.t.Helper()
	if h.waits() {
		h.clock.SetTime(at)
	}
	return h
}

// done moves the clock to the time of the run and returns what became of it.
func (h *held) done() protocol.StartRunResult {
	h.t.Helper()
	h.until(scheduled)
	select {
	case err := <-h.answer:
		if err != nil {
			h.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		h.t.Fatal("no answer")
	}
	return h.result
}

func (h *held) changes() []time.Time {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Clone(h.changed)
}

// edit changes the CronJob as kubectl does.
func (h *held) edit(change func(*ostinatov1.CronJob)) {
	h.t.Helper()
	cronJob := h.cronJobs.Stored(namespace, "hello").DeepCopy()
	change(cronJob)
	h.edits++
	cronJob.Generation++
	cronJob.ResourceVersion = fmt.Sprint(100 + h.edits)
	if _, err := h.cronJobs.CronJobs(namespace).Update(h.t.Context(), cronJob, metav1.UpdateOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *held) remove() {
	h.t.Helper()
	if err := h.cronJobs.CronJobs(namespace).Delete(h.t.Context(), "hello", metav1.DeleteOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

func suspend(cronJob *ostinatov1.CronJob) { cronJob.Spec.Suspend = ptr.To(true) }

func TestNoStartIsEarlyNotByAMillisecond(t *testing.T) {
	h := holdRequest(t, 1500*time.Millisecond, func(request *protocol.StartRunRequest) {
		request.Replace = []schedule.Delete{{Name: "running", UID: "running-uid", Replaced: true}}
	})
	h.edit(func(cronJob *ostinatov1.CronJob) {
		cronJob.Labels = map[string]string{"some": "label"}
		cronJob.Generation--
	})
	h.until(scheduled.Add(-time.Millisecond))
	if !h.waits() || len(h.changes()) != 0 {
		t.Fatalf("changes at %v", h.changes())
	}
	// A timer that goes off too early is none.
	h.clock.SetTime(scheduled.Add(-time.Nanosecond))
	if !h.waits() || len(h.changes()) != 0 {
		t.Fatalf("changes at %v", h.changes())
	}
	h.clock.SetTime(scheduled)
	if result := h.done(); result.Started == nil {
		t.Errorf("result %+v", result)
	}
	if events := h.recorded(); len(events) == 0 || events[len(events)-1] != "Normal SawCompletedJob said by the plan" {
		t.Errorf("events %v", events)
	}
}

func TestWhatHappensWhileAStartIsHeldCounts(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(*held)
		want    func(protocol.StartRunResult) bool
	}{
		"it is suspended": {func(h *held) { h.edit(suspend) }, func(r protocol.StartRunResult) bool {
			return r.CurrentSpec != nil && r.CurrentSpec.Suspend
		}},
		"its schedule is edited": {
			func(h *held) { h.edit(func(c *ostinatov1.CronJob) { c.Spec.Schedule = "30 12 * * *" }) },
			func(r protocol.StartRunResult) bool {
				return r.CurrentSpec != nil && r.CurrentSpec.Schedule == "30 12 * * *"
			},
		},
		"it is deleted": {(*held).remove, func(r protocol.StartRunResult) bool { return r.Gone }},
		"it is re-created": {func(h *held) {
			h.remove()
			another := helloCronJob()
			another.UID, another.ResourceVersion = "new-uid", ""
			if _, err := h.cronJobs.CronJobs(namespace).Create(h.t.Context(), another, metav1.CreateOptions{}); err != nil {
				h.t.Fatal(err)
			}
		}, func(r protocol.StartRunResult) bool { return r.Gone }},
	} {
		t.Run(name, func(t *testing.T) {
			h := hold(t, time.Second)
			h.until(scheduled.Add(-time.Millisecond))
			h.waits()
			test.happens(h)
			if result := h.done(); !test.want(result) || result.Started != nil {
				t.Errorf("result %+v", result)
			}
			if len(h.changes()) != 0 || h.jobExists(start().Name) {
				t.Errorf("changes at %v", h.changes())
			}
		})
	}
	t.Run("its template is edited", func(t *testing.T) {
		h := hold(t, time.Second)
		h.waits()
		h.edit(func(c *ostinatov1.CronJob) {
			// An edit that the digest does not tell, as metadata are.
			c.Generation--
			c.Spec.JobTemplate.Labels = map[string]string{"version": "two"}
		})
		h.done()
		if labels := h.job(start().Name).Labels; labels["version"] != "two" {
			t.Errorf("labels %v", labels)
		}
	})
}

func isTooEarly(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.Type() == activities.TooEarlyErrorType && !application.NonRetryable()
}

// retryOf is after what time the attempt is to be repeated.
func retryOf(err error) time.Duration {
	var application *temporal.ApplicationError
	errors.As(err, &application)
	return application.NextRetryDelay()
}

func TestAStartThatCannotBeHeldIsTooEarly(t *testing.T) {
	tooEarly := func(t *testing.T, h *held) {
		t.Helper()
		if h.waits() {
			t.Fatal("it is held")
		}
		if err := <-h.answer; !isTooEarly(err) || retryOf(err) != 3*time.Second || len(h.kubernetes.Actions())+len(h.cronJobs.Actions()) != 0 {
			t.Errorf("%v, %d requests", err, len(h.kubernetes.Actions()))
		}
		if given := h.metric("ostinato_starts_given_back_total", "clock"); given != 1 {
			t.Errorf("%v were given back", given)
		}
	}
	t.Run("for so long", func(t *testing.T) { tooEarly(t, hold(t, 3*time.Second+time.Millisecond)) })
	t.Run("for so long beyond the lead", func(t *testing.T) {
		lead := func(o *activities.Options) { o.StartLead = 2 * time.Second }
		tooEarly(t, hold(t, 5*time.Second+time.Millisecond, lead))
		if result := hold(t, 5*time.Second, lead).done(); result.Started == nil {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("beside so many", func(t *testing.T) {
		first := hold(t, time.Second, func(o *activities.Options) { o.MaxHeld = 1 })
		first.waits()
		second := make(chan error, 1)
		go func() {
			_, err := run[protocol.StartRunResult](first.stage, protocol.StartRunActivity, startRequest())
			second <- err
		}()
		if err := <-second; !isTooEarly(err) || retryOf(err) != time.Second {
			t.Errorf("%v, to be repeated after %s", err, retryOf(err))
		}
		if result := first.done(); result.Started == nil {
			t.Errorf("result %+v", result)
		}
	})
	t.Run("but a manual run has no time to wait for", func(t *testing.T) {
		h := holdRequest(t, time.Second, func(request *protocol.StartRunRequest) {
			request.Start = schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1}
		})
		if h.waits() {
			t.Fatal("it is held")
		}
		if err := <-h.answer; err != nil || h.result.Started == nil {
			t.Errorf("result %+v, %v", h.result, err)
		}
	})
}

// beats passes on each report.
type beats chan struct{}

func (b beats) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	b <- struct{}{}
	return nil
}

// A report is answered by Temporal with whether the start was cancelled: there is one shortly before the time comes.
func TestAStartThatWaitsReportsBeforeItsTime(t *testing.T) {
	reports := make(beats, 100)
	h := hold(t, 3*time.Second, func(o *activities.Options) { o.Heartbeats = reports })
	h.until(scheduled.Add(-2801 * time.Millisecond))
	if len(reports) != 0 {
		t.Error("it reports as soon as it waits")
	}
	time.Sleep(1100 * time.Millisecond) // an attempt that has begun within the last second does not report
	h.until(scheduled.Add(-2200 * time.Millisecond))
	select {
	case <-reports:
	case <-h.answer:
		t.Fatal("it has started without a report")
	case <-time.After(10 * time.Second):
		t.Fatal("no report")
	}
	if result := h.done(); result.Started == nil {
		t.Errorf("result %+v", result)
	}
}

// TestNoCreateIsEarlyOrAfterASuspend: whatever is done to the CronJob while the start is
// held, and however the clock goes.
func TestNoCreateIsEarlyOrAfterASuspend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		early := time.Duration(rapid.IntRange(0, 2500).Draw(rt, "early")) * time.Millisecond
		h := hold(t, early)
		suspended := false
		for now := scheduled.Add(-early); h.waits(); {
			step := time.Duration(rapid.IntRange(1, 1200).Draw(rt, "step")) * time.Millisecond
			if now = now.Add(step); !now.Before(scheduled) {
				break
			}
			h.clock.SetTime(now)
			if rapid.IntRange(0, 2).Draw(rt, "edit") == 0 {
				suspended = rapid.Bool().Draw(rt, "suspend")
				h.edit(func(c *ostinatov1.CronJob) { c.Spec.Suspend = ptr.To(suspended) })
			}
		}
		result := h.done()
		for _, at := range h.changes() {
			if at.Before(scheduled) {
				rt.Fatalf("a Job was created at %s", at)
			}
			if suspended {
				rt.Fatal("a Job was created after the suspend")
			}
		}
		if h.edits == 0 && result.Started == nil {
			rt.Fatalf("nothing was created: %+v", result)
		}
	})
}

// slowClient is a client with something before each create of a Job. A reactor of the fake
// client that waited would hold up every request.
type slowClient struct {
	kubernetes.Interface
	before func(name string)
}

type slowBatch struct {
	typedbatchv1.BatchV1Interface
	before func(name string)
}

type slowJobs struct {
	typedbatchv1.JobInterface
	before func(name string)
}

func (c slowClient) BatchV1() typedbatchv1.BatchV1Interface {
	return slowBatch{c.Interface.BatchV1(), c.before}
}

func (b slowBatch) Jobs(namespace string) typedbatchv1.JobInterface {
	return slowJobs{b.BatchV1Interface.Jobs(namespace), b.before}
}

func (j slowJobs) Create(ctx context.Context, job *batchv1.Job, options metav1.CreateOptions) (*batchv1.Job, error) {
	j.before(job.Name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return j.JobInterface.Create(ctx, job, options)
}

// slowCronJobs is a client with something before each write of a CronJob's status.
type slowCronJobs struct {
	k8s.CronJobsGetter
	before func()
}

type slowCronJobsOf struct {
	k8s.CronJobInterface
	before func()
}

func (c slowCronJobs) CronJobs(namespace string) k8s.CronJobInterface {
	return slowCronJobsOf{c.CronJobsGetter.CronJobs(namespace), c.before}
}

func (c slowCronJobsOf) UpdateStatus(ctx context.Context, cronJob *ostinatov1.CronJob, options metav1.UpdateOptions) (*ostinatov1.CronJob, error) {
	c.before()
	return c.CronJobInterface.UpdateStatus(ctx, cronJob, options)
}

// TestStatusAndEventsWaitForTheCreatesOfTheMoment: of other CronJobs, and only so long.
func TestStatusAndEventsWaitForTheCreatesOfTheMoment(t *testing.T) {
	for _, name := range []string{"until they are done", "but not for ever"} {
		t.Run(name, func(t *testing.T) {
			other := helloCronJob()
			other.Name, other.UID = "other", "other-uid"
			clock := clocktesting.NewFakeClock(scheduled)
			creating, proceed := make(chan bool), make(chan bool)
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob(), other}, withClock(clock), func(o *activities.Options) {
				o.Kubernetes = slowClient{o.Kubernetes, func(name string) {
					if name == names.ScheduledJob(other.Name, scheduled) {
						close(creating)
						<-proceed
					}
				}}
			})
			slow := startRequest()
			slow.CronJob.Name, slow.CronJob.UID = other.Name, string(other.UID)
			slow.Start.Name = names.ScheduledJob(other.Name, scheduled)
			answers := make(chan error, 2)
			ask := func(request protocol.StartRunRequest) {
				_, err := run[protocol.StartRunResult](s, protocol.StartRunActivity, request)
				answers <- err
			}
			go ask(slow)
			<-creating
			go ask(startRequest())
			for !clock.HasWaiters() {
				time.Sleep(time.Millisecond)
			}
			if !s.jobExists(start().Name) || len(s.cronJob().Status.Active) != 0 || len(s.recorded()) != 0 {
				t.Error("the status or an Event came before the other create")
			}
			if name == "but not for ever" {
				clock.Step(20 * time.Second)
				if err := <-answers; err != nil || len(s.cronJob().Status.Active) != 1 {
					t.Errorf("status %+v, %v", s.cronJob().Status, err)
				}
				close(proceed)
			} else {
				close(proceed)
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			if err := <-answers; err != nil || len(s.cronJob().Status.Active) != 1 {
				t.Errorf("status %+v, %v", s.cronJob().Status, err)
			}
		})
	}
}
