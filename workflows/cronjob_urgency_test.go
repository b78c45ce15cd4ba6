package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Nothing else that waits for the API server holds up a run that is due. What it is has its chance, and comes when the API
// server is back.
func TestCronJobWhatIsDueGoesFirst(t *testing.T) {
	away := errors.New("the attempt has timed out")
	refused := temporal.NewNonRetryableApplicationError("no", activities.RefusedErrorType, nil)
	looks := func(request cronJobRequest) bool { return len(request.Look) > 0 }
	tells := func(request cronJobRequest) bool { return request.Start == nil && !request.All && !looks(request) }
	all := func(request cronJobRequest) bool { return looks(request) || tells(request) }
	for name, test := range map[string]struct {
		hangs func(cronJobRequest) bool
		err   error
		spec  func(*schedule.Spec)
		takes time.Duration
	}{
		"a status":                 {hangs: tells, err: away},
		"a status that is refused": {hangs: tells, err: refused},
		"the status of a run that ends just then":   {hangs: tells, err: away, takes: 57 * time.Second},
		"the status of runs that are one at a time": {hangs: tells, err: away, spec: func(s *schedule.Spec) { s.ConcurrencyPolicy = forbid }},
		"a look":            {hangs: looks, err: away},
		"a look that fails": {hangs: looks, err: refused},
		"both":              {hangs: all, err: away},
	} {
		for _, lead := range []time.Duration{schedule.MaxLead, 0} {
			t.Run(name+", with a lead of "+lead.String(), func(t *testing.T) {
				h := newHolding(t, lead)
				h.cronJobKube.runs = []time.Duration{20 * time.Second}
				if test.takes > 0 {
					h.cronJobKube.runs = []time.Duration{test.takes}
				}
				hangs := false
				h.answer = func(request cronJobRequest) (*cronJobResult, error) {
					if hangs && test.hangs(request) {
						return nil, test.err
					}
					return nil, nil
				}
				h.after(75*time.Second, func() { hangs = true })
				for minute := range 8 {
					at := 80*time.Second + time.Duration(minute)*61*time.Second
					h.signal(at, protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: hello.UID, Name: "by-hand", UID: "of-by-hand"})
				}
				h.after(9*time.Minute, func() { hangs = false })
				spec := cron("* * * * *", allow)
				if test.spec != nil {
					test.spec(&spec)
				}
				h.runUntil(11*time.Minute, spec)
				for i, run := range h.jobs {
					if late := run.Started.Sub(run.Scheduled); late < 0 || late > time.Second {
						t.Errorf("the run of %s started after %s", run.Scheduled.Format("15:04:05"), late)
					}
					if i > 0 && run.Scheduled.Sub(h.jobs[i-1].Scheduled) > time.Minute {
						t.Errorf("no run after %s until %s", h.jobs[i-1].Scheduled.Format("15:04:05"), run.Scheduled.Format("15:04:05"))
					}
				}
				last, looked := h.requests[len(h.requests)-1], false
				for _, request := range h.requests {
					looked = looked || looks(request)
				}
				if written := h.status.LastScheduleTime; written == nil || written.Time.Before(cronStart.Add(10*time.Minute)) || !looked {
					t.Errorf("status of %v, last request %+v", written, last)
				}
				if len(h.requests) > 40*len(h.jobs) {
					t.Errorf("%d requests for %d runs", len(h.requests), len(h.jobs))
				}
			})
		}
	}
}

// A list of all Jobs of a namespace takes the time that it takes, and admission has 30 seconds for each webhook: a heartbeat
// says that a worker is lost.
func TestCronJobListsAndStartsMayTakeLong(t *testing.T) {
	k := newCronJobKube(t)
	may := map[string]time.Duration{}
	registerCronJobActivities(k.environment, func(ctx context.Context, request cronJobRequest) (cronJobResult, error) {
		info := activity.GetInfo(ctx)
		if may[info.ActivityType.Name] = info.StartToCloseTimeout; info.HeartbeatTimeout > 5*time.Second && !info.IsLocalActivity {
			t.Errorf("%s may be silent for %s", info.ActivityType.Name, info.HeartbeatTimeout)
		}
		return k.reconcile(ctx, request)
	})
	k.runUntil(time.Minute, cron("* * * * *", allow))
	expect(t, "a list", may[protocol.FindRunsActivity], 10*time.Minute)
	expect(t, "a start", may[protocol.StartRunActivity], 10*time.Minute)
}
