package activities_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// What the API server answers to the create of a run is an outcome: refused where that proves that it has made nothing, and
// unclear otherwise. What it has not answered is repeated.
func TestAnAnswerToACreateIsAnOutcome(t *testing.T) {
	webhook := apierrors.NewInternalError(errors.New(`failed calling webhook "jobs.example.com": connection refused`))
	for name, test := range map[string]struct {
		err error
		// refused is the reason; unclear and repeated are the other two outcomes.
		refused           string
		unclear, repeated bool
	}{
		"forbidden":                      {err: apierrors.NewForbidden(jobs, "x", errors.New("no")), refused: ledger.Forbidden},
		"invalid":                        {err: apierrors.NewInvalid(ostinatov1.CronJobKind.GroupKind(), "x", nil), refused: ledger.Invalid},
		"a webhook that is down":         {err: webhook, refused: ledger.RefusedOtherwise},
		"a webhook that denies by a 500": {err: apierrors.NewInternalError(errors.New(`admission webhook "x" denied the request: no`)), refused: ledger.RefusedOtherwise},
		"too many requests":              {err: apierrors.NewTooManyRequests("later", 1), refused: ledger.RefusedOtherwise},
		"a conflict, of a quota":         {err: apierrors.NewConflict(jobs, "x", errors.New("quota")), refused: ledger.RefusedOtherwise},
		"credentials that have expired":  {err: apierrors.NewUnauthorized("expired"), refused: ledger.RefusedOtherwise},
		"an error of the server":         {err: apierrors.NewInternalError(errors.New("etcdserver: leader changed")), unclear: true},
		"unavailable":                    {err: apierrors.NewServiceUnavailable("starting"), unclear: true},
		"a timeout of the server":        {err: apierrors.NewTimeoutError("slow", 0), unclear: true},
		"a timeout of the request":       {err: apierrors.NewGenericServerResponse(http.StatusRequestTimeout, "post", jobs, "x", "", 0, true), unclear: true},
		"no connection":                  {err: errors.New("connection refused"), repeated: true},
		"no answer in time, to a client": {err: context.DeadlineExceeded, repeated: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
			s.refuse("create", "jobs", -1, test.err)
			result, err := run[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
			assert.Equal(t, test.repeated, err != nil, "%v", err)
			assert.Equal(t, test.unclear, result.Unclear != "")
			assert.False(t, result.Unsent)
			if test.refused == "" {
				assert.Nil(t, result.Refused)
			} else if assert.NotNil(t, result.Refused) {
				assert.Equal(t, test.refused, result.Refused.Reason)
				assert.Contains(t, result.Refused.Message, test.err.Error())
			}
			assert.Zero(t, s.cronJob().Status.ObservedGeneration, "the status was written")
		})
	}
}

// An answer to a read that comes before the create is an outcome too: no create was sent.
func TestAnAnswerToAReadIsAnOutcome(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	s.cronJobs.PrependReactor("get", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(jobs, "hello", errors.New("no"))
	})
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
	assert.Contains(t, result.Unclear, "forbidden")
	assert.True(t, result.Unsent)
	assert.Empty(t, s.writes())
}

// A run that may have started is looked for by its name, and nothing is created.
func TestARunIsLookedFor(t *testing.T) {
	request := startRequest()
	request.Find = true
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	assert.True(t, result.Missing)
	assert.Empty(t, s.writes())

	s = newStage(t, []runtime.Object{cronJobsJob(start().Name)}, []*ostinatov1.CronJob{helloCronJob()})
	result = must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	if assert.NotNil(t, result.Started) {
		assert.Equal(t, start().Name+"-uid", result.Started.Run.UID)
	}
	assert.Empty(t, s.writes())

	s = newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	s.refuse("get", "jobs", -1, apierrors.NewServiceUnavailable("starting"))
	result = must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	assert.False(t, result.Missing)
	assert.Contains(t, result.Unclear, "starting")
}

// A trigger does not take an older Job for its own.
func TestAnOlderJobIsNotThatOfATrigger(t *testing.T) {
	request := startRequest()
	request.Start = schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1}
	older := cronJobsJob(request.Start.Name)
	older.CreationTimestamp.Time = request.Start.Scheduled.Add(-2 * time.Hour)
	s := newStage(t, []runtime.Object{older}, []*ostinatov1.CronJob{helloCronJob()})
	result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
	if assert.NotNil(t, result.Refused) {
		assert.Equal(t, ledger.ForeignObject, result.Refused.Reason)
	}

	older.CreationTimestamp.Time = request.Start.Scheduled.Add(time.Second)
	s = newStage(t, []runtime.Object{older}, []*ostinatov1.CronJob{helloCronJob()})
	assert.NotNil(t, must[protocol.StartRunResult](s, protocol.StartRunActivity, request).Started)
}

// Where admission stamps who has made a Job, no one gives a run that another has asked for a Job of their own under its name.
func TestAJobThatAPersonHasMadeIsNotThatOfAManualRun(t *testing.T) {
	trigger := schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1}
	backfill := schedule.Start{Name: names.BackfilledJob("hello", "cron-uid", 2, scheduled), Scheduled: scheduled, Manual: true, Backfill: 2}
	for name, test := range map[string]struct {
		start  schedule.Start
		change func(*stage, *protocol.StartRunRequest)
		// unstamped says that no admission policy stamps users: the annotation is anybody's.
		unstamped, taken bool
		refused          string
	}{
		"a trigger":                 {start: trigger, refused: ledger.ForeignObject},
		"a backfill":                {start: backfill, refused: ledger.ForeignObject},
		"a run of the schedule":     {start: *start(), taken: true},
		"where no one stamps users": {start: trigger, unstamped: true, taken: true},
		"looked for":                {start: trigger, change: func(_ *stage, r *protocol.StartRunRequest) { r.Find = true }},
		"the create is refused by quota": {start: trigger, refused: ledger.Forbidden, change: func(s *stage, r *protocol.StartRunRequest) {
			s.refuse("create", "jobs", 1, apierrors.NewForbidden(jobs, r.Start.Name, errors.New("exceeded quota")))
		}},
		"the status lists it": {start: trigger, refused: ledger.ForeignObject, change: func(s *stage, r *protocol.StartRunRequest) {
			cronJob := s.cronJob()
			cronJob.Status.Active = []corev1.ObjectReference{{Name: r.Start.Name, UID: types.UID(r.Start.Name + "-uid")}}
			_, err := s.cronJobs.CronJobs(namespace).UpdateStatus(s.t.Context(), cronJob, metav1.UpdateOptions{})
			assert.NoError(s.t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			request := startRequest()
			request.Start = test.start
			made := cronJobsJob(test.start.Name)
			made.CreationTimestamp.Time = scheduled.Add(time.Second)
			made.Annotations = map[string]string{names.RunUserAnnotation: "mallory"}
			s := newStage(t, []runtime.Object{made}, []*ostinatov1.CronJob{helloCronJob()}, func(o *activities.Options) { o.StampedUsers = !test.unstamped })
			if test.change != nil {
				test.change(s, &request)
			}
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, request)
			assert.Equal(t, test.taken, result.Started != nil, "%+v", result.Started)
			assert.Equal(t, request.Find, result.Missing)
			if test.refused == "" {
				assert.Nil(t, result.Refused)
			} else if assert.NotNil(t, result.Refused) {
				assert.Equal(t, test.refused, result.Refused.Reason)
			}
			if test.refused == ledger.ForeignObject {
				assert.Contains(t, s.recorded(), `Warning FailedCreate Error creating job: Job "`+made.Name+`" exists, and mallory has made it`)
			}
		})
	}
}

// A start that is cancelled while its create is under way ends with the answer to it.
func TestAStartThatIsCancelledEndsWithTheAnswerToItsCreate(t *testing.T) {
	for verb, starts := range map[string]bool{"create": true, "get": false} {
		s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
		ctx, cancel := context.WithCancel(t.Context())
		cancelling := func(clienttesting.Action) (bool, runtime.Object, error) {
			cancel()
			return false, nil, nil
		}
		s.kubernetes.PrependReactor(verb, "jobs", cancelling)
		s.cronJobs.PrependReactor(verb, "cronjobs", cancelling)
		environment := s.environment()
		environment.SetWorkerOptions(worker.Options{
			BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by)},
		})
		result, err := runIn[protocol.StartRunResult](s, environment, protocol.StartRunActivity, startRequest())
		assert.NoError(t, err)
		assert.Equal(t, !starts, result.GaveUp && result.Unsent)
		assert.Equal(t, starts, result.Started != nil)
		assert.Equal(t, starts, s.jobExists(start().Name))
	}
}

// cancelling answers reports: an attempt goes on until it is cancelled.
type cancelling struct {
	cancelled atomic.Bool
	count     atomic.Int32
}

func (c *cancelling) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	c.count.Add(1)
	if c.cancelled.Load() {
		return temporal.NewCanceledError()
	}
	return nil
}

// reporting gives attempts a heartbeat timeout, which a test environment has none of.
type reporting struct {
	interceptor.WorkerInterceptorBase
	timeout time.Duration
}

type reportingInbound struct {
	interceptor.ActivityInboundInterceptorBase
	timeout time.Duration
}

type reportingOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	timeout time.Duration
}

func (r *reporting) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	inbound := &reportingInbound{timeout: r.timeout}
	inbound.Next = next
	return inbound
}

func (r *reportingInbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	outbound := &reportingOutbound{timeout: r.timeout}
	outbound.Next = next
	return r.Next.Init(outbound)
}

func (r *reportingOutbound) GetInfo(ctx context.Context) activity.Info {
	info := r.Next.GetInfo(ctx)
	info.HeartbeatTimeout = r.timeout
	return info
}

// Its create may take half a minute: the attempt keeps the call for as long, and hears from the API server what has become of it.
func TestAStartThatIsCancelledKeepsItsCallUntilItsCreateHasAnAnswer(t *testing.T) {
	const timeout, takes = 4 * time.Second, 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		reports := &cancelling{}
		s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()}, withClock(clocktesting.NewFakeClock(scheduled)), func(o *activities.Options) {
			o.Heartbeats = reports
			o.Kubernetes = slowClient{o.Kubernetes, func(string) {
				reports.cancelled.Store(true)
				cancel()
				time.Sleep(takes)
			}}
		})
		environment := s.environment()
		environment.SetWorkerOptions(worker.Options{
			BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by), &reporting{timeout: timeout}},
		})
		result, err := runIn[protocol.StartRunResult](s, environment, protocol.StartRunActivity, startRequest())
		assert.NoError(t, err)
		assert.NotNil(t, result.Started, "%+v", result)
		assert.False(t, result.GaveUp)
		assert.True(t, s.jobExists(start().Name))
		assert.Greater(t, reports.count.Load(), int32(takes/timeout), "reports")
	})
}
