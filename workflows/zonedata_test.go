package workflows_test

import (
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"

	"ostinato.dev/ostinato/workflows"
)

// minutely is a recorded history of a CronJob that ran every minute.
const minutely = "testdata/history/cronjob-scheduled.json.gz"

// A worker whose zone data would give other times, or does not know the zone, comes to
// the decisions that were recorded, and not to its own.
func TestReplayFollowsTheRecordedTimes(t *testing.T) {
	const written = `"schedule":"* * * * *"`
	for name, test := range map[string]struct {
		now      string
		replays  bool
		recorded string
	}{
		"as it was recorded":                       {written, true, ""},
		"this worker would compute other times":    {`"schedule":"0 0 1 1 *"`, true, ""},
		"this worker would compute none":           {`"schedule":"0 0 31 2 *"`, true, ""},
		"this worker does not know the zone":       {written + `,"timeZone":"Mars/Olympus"`, true, ""},
		"but for other recorded times nothing ran": {written, false, `:30Z","20`},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := read(t, minutely)
			rewritten := 0
			for _, payload := range payloadsOf(recorded) {
				text := strings.ReplaceAll(string(payload.Data), written, test.now)
				if text != string(payload.Data) || test.now == written {
					rewritten++
				}
				if test.recorded != "" && strings.Contains(text, `"upcoming"`) {
					text = strings.ReplaceAll(text, `:00Z","20`, test.recorded)
				}
				payload.Data = []byte(text)
			}
			if rewritten < 3 {
				t.Fatalf("%d payloads name the schedule, want the input, a signal and the recorded times", rewritten)
			}
			if err := replay(t, recorded, workflows.Options{}); (err == nil) != test.replays {
				t.Errorf("replays: %v, want %v: %v", err == nil, test.replays, err)
			}
		})
	}
}

// payloadsOf lists the payloads in which a history holds specs and recorded times.
func payloadsOf(recorded *history.History) []*commonpb.Payload {
	var payloads []*commonpb.Payload
	for _, event := range recorded.GetEvents() {
		payloads = append(payloads, event.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()...)
		payloads = append(payloads, event.GetWorkflowExecutionSignaledEventAttributes().GetInput().GetPayloads()...)
		payloads = append(payloads, event.GetMarkerRecordedEventAttributes().GetDetails()["data"].GetPayloads()...)
	}
	return payloads
}

// The worker that goes on may be one that knows the zone.
func TestCronJobThatContinuesAsNewLooksUpItsZoneAgain(t *testing.T) {
	k := newCronJobKube(t)
	spec := cron("* * * * *", allow)
	state := schedule.NewState(schedule.Identity{Namespace: "default", Name: "hello", UID: hello.UID, Created: cronStart}, ostinatov1.CronJobStatus{}, ledger.Ledger{}, nil)
	state.Calendar = schedule.Calendar{Made: true, Evaluation: schedule.Evaluation{
		Schedule: spec.Schedule, TimeZone: spec.TimeZone, Recheck: cronStart.Add(time.Hour),
		Problem: &times.Problem{Reason: times.UnknownTimeZone, Message: "unknown time zone"},
	}}
	k.signal(2*time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: spec, State: &state}); err != nil {
		t.Fatal(err)
	}
	expectList(t, "runs", k.scheduled(), "00:00", "01:00")
}

// A time that is far away is computed again by a timer ahead of it; what comes soon has
// the timer of its run alone.
func TestCronJobLooksAtZoneDataAgainAheadOfAFarRun(t *testing.T) {
	for expression, want := range map[string][]string{
		"0 10 * * *":   {"02 10:00", "03 08:00", "03 10:00", "04 08:00"},
		"0 */12 * * *": {"02 12:00", "03 00:00", "03 12:00"},
	} {
		t.Run(expression, func(t *testing.T) {
			k := newCronJobKube(t)
			timers := []string{}
			k.environment.SetOnTimerScheduledListener(func(_ string, delay time.Duration) {
				if delay > k.runs[0] {
					timers = append(timers, k.environment.Now().Add(delay).UTC().Format("02 15:04"))
				}
			})
			k.runUntil(25*time.Hour, cron(expression, allow))
			expectList(t, "timers", timers, want...)
		})
	}
}
