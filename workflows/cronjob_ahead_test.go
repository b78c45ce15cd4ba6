package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/workflows"
)

// holding is a cronJobKube whose workers prepare runs ahead, and hold their starts until their time.
type holding struct {
	*cronJobKube
	// held lists for how long each start was held.
	held []time.Duration
	// full says that no start can be held.
	full bool
	// during happens in the middle of each hold.
	during func()
	// silent says how long each start may be silent, by the names of their Jobs; manual are those that somebody asked for.
	silent map[string]time.Duration
	manual map[string]bool
}

func newHolding(t *testing.T, lead time.Duration) *holding {
	h := &holding{
		cronJobKube: newCronJobKubeWith(t, client.MetricsNopHandler, workflows.Options{StartLead: lead}),
		silent:      map[string]time.Duration{}, manual: map[string]bool{},
	}
	registerCronJobActivities(h.environment, h.reconcileHeld)
	return h
}

func (h *holding) reconcileHeld(ctx context.Context, request cronJobRequest) (cronJobResult, error) {
	if start := request.Start; start != nil {
		h.silent[start.Name], h.manual[start.Name] = activity.GetInfo(ctx).HeartbeatTimeout, start.Manual
	}
	if start := request.Start; start != nil && !start.Manual {
		wait := start.Scheduled.Sub(h.environment.Now())
		if wait > 0 && h.full {
			return cronJobResult{}, temporal.NewApplicationErrorWithOptions("the time has not come", activities.TooEarlyErrorType,
				temporal.ApplicationErrorOptions{NextRetryDelay: wait})
		}
		h.held = append(h.held, wait)
		if h.during != nil && wait > 0 {
			h.during()
		}
	}
	result, err := h.reconcile(ctx, request)
	if result.Started != nil {
		if wait := request.Start.Scheduled.Sub(result.Started.Run.Started); wait > 0 && !request.Start.Manual {
			// The clock of the test stands still while an activity runs.
			h.jobs[len(h.jobs)-1].Started = request.Start.Scheduled
			result.Started.Run.Started = request.Start.Scheduled
		}
	}
	return result, err
}

func TestCronJobPreparesRunsAheadOfTheirTime(t *testing.T) {
	h := newHolding(t, time.Second)
	h.runUntil(5*time.Minute, cron("* * * * *", allow))
	expectList(t, "runs", h.scheduled(), "00:00", "01:00", "02:00", "03:00", "04:00")
	for i, held := range h.held {
		if held != time.Second {
			t.Errorf("start %d was held for %s", i, held)
		}
	}
	// As many calls and timers as without a lead.
	if len(h.requests) != 18 || h.timers-len(h.children) != 6 || h.cancels != 0 {
		t.Errorf("%d calls, %d timers, %d cancelled", len(h.requests), h.timers-len(h.children), h.cancels)
	}
	for _, row := range h.ledger().Rows {
		if row.Outcome != ledger.Started || !row.Recorded.Equal(row.Scheduled) {
			t.Errorf("row %+v", row)
		}
	}
}

func TestCronJobStartsAtItsTimeWhatCannotBeHeld(t *testing.T) {
	h := newHolding(t, 2*time.Second)
	h.full = true
	h.runUntil(5*time.Minute, cron("* * * * *", allow))
	expectList(t, "runs", h.scheduled(), "00:00", "01:00", "02:00", "03:00", "04:00")
	for i, held := range h.held {
		if held > 0 {
			t.Errorf("start %d was held for %s", i, held)
		}
	}
	for _, row := range h.ledger().Rows {
		if row.Outcome != ledger.Started {
			t.Errorf("row %+v", row)
		}
	}
}

// TestCronJobSuspendedBeforeTheHoldStartsNothing: a signal wins that is accepted longer
// before the due time than a hold takes at most.
func TestCronJobSuspendedBeforeTheHoldStartsNothing(t *testing.T) {
	for _, before := range []time.Duration{2001 * time.Millisecond, 3 * time.Second} {
		h := newHolding(t, 2*time.Second)
		h.signal(90*time.Second-before, protocol.SuspendSignal, nil)
		h.runUntil(5*time.Minute, cron("* * * * *", allow))
		expectList(t, "runs", h.scheduled(), "00:00")
	}
}

// TestCronJobEditedDuringTheHoldStartsNothing: the activity sees the edit at the due time.
func TestCronJobEditedDuringTheHoldStartsNothing(t *testing.T) {
	for name, edit := range map[string]func(*schedule.Spec){
		"suspended":    func(spec *schedule.Spec) { spec.Suspend = true },
		"its schedule": func(spec *schedule.Spec) { spec.Schedule = "30 12 * * *" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolding(t, 2*time.Second)
			h.during = func() {
				if len(h.jobs) == 0 {
					return
				}
				h.during = nil
				h.object.Generation++
				edit(&h.object)
			}
			h.runUntil(5*time.Minute, cron("* * * * *", allow))
			expectList(t, "runs", h.scheduled(), "00:00")
		})
	}
	t.Run("gone", func(t *testing.T) {
		h := newHolding(t, 2*time.Second)
		h.during = func() { h.gone = len(h.jobs) > 0 }
		h.runUntil(5*time.Minute, cron("* * * * *", allow))
		expectList(t, "runs", h.scheduled(), "00:00")
	})
}

// A worker that is lost is missed after four seconds, or where it waits for the time of a run after six.
func TestAStartThatWaitsMayBeSilentForLonger(t *testing.T) {
	for lead, want := range map[time.Duration]time.Duration{0: 4 * time.Second, time.Second: 5 * time.Second, schedule.MaxLead: 6 * time.Second} {
		h := newHolding(t, lead)
		h.signal(150*time.Second, protocol.TriggerSignal, nil)
		h.runUntil(3*time.Minute, cron("* * * * *", allow))
		if len(h.silent) < 4 {
			t.Fatalf("lead %s: %d starts", lead, len(h.silent))
		}
		for name, silent := range h.silent {
			if h.manual[name] {
				expect(t, "silent, triggered", silent, 4*time.Second)
			} else {
				expect(t, "silent, scheduled", silent, want)
			}
		}
	}
}

// TestCronJobOfNinetyDaysIsNeverEarly: with workers of many leads, over the changes of
// the clocks and every continue-as-new.
func TestCronJobOfNinetyDaysIsNeverEarly(t *testing.T) {
	spec := cron("30 */6 * * *", forbid)
	spec.TimeZone = new(string)
	*spec.TimeZone = "Europe/Berlin"
	end := cronStart.Add(90 * 24 * time.Hour)
	input := protocol.CronJobInput{CronJob: hello, Spec: spec}
	var starts []schedule.Run
	leads := []time.Duration{0, 500 * time.Millisecond, schedule.MaxLead, time.Second}
	for start := cronStart; start.Before(end); leads = append(leads[1:], leads[0]) {
		h := newHolding(t, leads[0])
		h.environment.SetStartTime(start)
		h.answer = func(request cronJobRequest) (*cronJobResult, error) {
			if request.Start != nil && request.Start.Scheduled.Sub(h.environment.Now()) > schedule.MaxLead {
				t.Errorf("%s was asked for at %s", request.Start.Name, h.environment.Now())
			}
			return nil, nil
		}
		h.signal(end.Sub(start), protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
		err := h.runInput(input)
		starts = append(starts, h.jobs...)
		if err == nil {
			break
		}
		input, start = h.continuedAs(err), h.environment.Now()
	}
	if len(starts) != 90*4 {
		t.Errorf("%d starts", len(starts))
	}
	for i, run := range starts {
		if run.Started.Before(run.Scheduled) || run.Started.Sub(run.Scheduled) > time.Second {
			t.Errorf("%s started at %s", run.Name, run.Started)
		}
		if i > 0 && !run.Scheduled.After(starts[i-1].Scheduled) {
			t.Errorf("%s was started twice", run.Name)
		}
	}
}

// TestRecordedHistoryHasAStartAheadOfItsTime: what is replayed is known to have woken before the
// run.
func TestRecordedHistoryHasAStartAheadOfItsTime(t *testing.T) {
	var ahead int
	for _, event := range read(t, "testdata/history/cronjob-scheduled.json.gz").GetEvents() {
		var reason string
		if summary := event.GetUserMetadata().GetSummary(); event.GetTimerStartedEventAttributes() != nil &&
			converter.GetDefaultDataConverter().FromPayload(summary, &reason) == nil && strings.HasPrefix(reason, "before next run ") {
			ahead++
		}
	}
	if ahead == 0 {
		t.Error("no timer is ahead of a run")
	}
}

// The clock of the worker that sends the create may be ahead of Temporal's: the attempt says whether it may have sent one.
func TestCronJobAStartThatGaveUpBeforeItsTimeMayHaveAJob(t *testing.T) {
	h := newHolding(t, time.Second)
	var looks []string
	h.answer = func(request cronJobRequest) (*cronJobResult, error) {
		switch {
		case request.Start == nil || request.Start.Scheduled.After(firstTime):
		case request.Find:
			looks = append(looks, h.environment.Now().Sub(firstTime).Round(time.Second).String())
		case !h.object.Suspend:
			h.object.Suspend, h.object.Generation = true, 2
			return &cronJobResult{GaveUp: true}, nil
		}
		return nil, nil
	}
	h.runUntil(5*time.Minute, cron("* * * * *", allow))
	expectList(t, "looks for its Job", looks, "34s")
}
