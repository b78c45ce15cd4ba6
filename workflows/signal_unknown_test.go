package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

const noSuchSignal = `Signal "triger" is not known, and nothing was done: `

// Temporal says "signalled" whatever the name is.
func TestACronJobAnswersAnUnknownSignalOnceForEachNameAndMinute(t *testing.T) {
	k := newCronJobKube(t)
	for _, after := range []time.Duration{5 * time.Second, 6 * time.Second, 7 * time.Second, 70 * time.Second} {
		k.signal(after, "triger", map[string]any{"by": "ada"})
	}
	k.signal(8*time.Second, "stop", nil)
	k.runUntil(100*time.Second, cron("0 12 * * *", allow))
	expectList(t, "events", k.reasons(), event.SignalUnknown, event.SignalUnknown, event.SignalUnknown)
	assert.Equal(t, event.Warning(event.SignalUnknown, noSuchSignal+"a CronJob takes suspend, resume and trigger, and the update backfill"), k.events[0])
	assert.Contains(t, k.events[1].Message, `"stop"`)
	assert.Empty(t, k.jobs)
	assert.Empty(t, k.suspends)
}

func TestACronJobDoesNotAnswerAgainAfterItContinuedAsNew(t *testing.T) {
	k := newCronJobKube(t)
	k.signal(5*time.Second, "triger", nil)
	k.after(6*time.Second, k.environment.CancelWorkflow)
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("0 12 * * *", allow)}))
	assert.Equal(t, []string{"triger"}, next.Unknown.Names)
	assert.NoError(t, next.Validate())

	again := newCronJobKube(t)
	again.signal(time.Second, "triger", nil)
	again.after(2*time.Second, again.environment.CancelWorkflow)
	next.Unknown.Minute = cronStart.Truncate(time.Minute)
	_ = again.continuedAs(again.runInput(next))
	assert.NotContains(t, again.reasons(), event.SignalUnknown)
}

func TestAJobAnswersAnUnknownSignalOnceForEachNameAndMinute(t *testing.T) {
	k := newJobKube(t)
	k.environment.SetStartTime(time.Now().Truncate(time.Minute))
	for n := range 3 {
		k.after(time.Duration(10+n)*time.Second, func() { k.environment.SignalWorkflow("triger", nil) })
	}
	k.after(20*time.Second, func() { k.environment.SignalWorkflow(protocol.TriggerSignal, nil) })
	k.after(30*time.Second, func() { k.end(1, corev1.PodSucceeded) })
	k.mustEnd(jobSpec(1, 1), job.Complete)
	var answers []event.Event
	for _, request := range k.requests {
		for _, emitted := range request.Events {
			if emitted.Reason == event.SignalUnknown {
				answers = append(answers, emitted)
			}
		}
	}
	if assert.Len(t, answers, 2) {
		assert.Equal(t, event.Warning(event.SignalUnknown, noSuchSignal+"a Job takes suspend, resume and stop"), answers[0])
		assert.Contains(t, answers[1].Message, `"trigger"`)
	}
}

// A trigger with arguments that run nothing would be taken for one that ran with them.
func TestACronJobRefusesATriggerWhoseArgumentCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		argument any
		want     string
	}{
		"a field that there is not": {map[string]any{"args": []string{"x"}, "note": "other args", "by": "ada"}, `there is no field "args"; use note, by, overlap`},
		"a misspelt field":          {map[string]any{"overlapp": "Allow"}, `there is no field "overlapp"`},
		"a field of resume":         {`{"force": true}`, `there is no field "force"`},
		"half of an object":         {[]byte(`{"overlap":`), "it begins as a JSON object and is none"},
		"a list":                    {[]string{"--day", "1"}, "it is a list"},
		"bytes":                     {[]byte{0xff, 0x00}, "it is not text"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.signal(10*time.Second, protocol.TriggerSignal, test.argument)
			k.after(15*time.Second, func() {
				rows := k.ledger().Rows
				if assert.Len(t, rows, 1) {
					assert.Equal(t, ledger.FailedToCreate, rows[0].Outcome)
					assert.Equal(t, ledger.ReasonInvalidSignal, rows[0].Reason)
				}
			})
			k.runUntil(20*time.Second, cron("0 12 * * *", allow))
			assert.Empty(t, k.jobs)
			expectList(t, "events", k.reasons(), "TriggerRefused")
			assert.Contains(t, k.events[0].Message, test.want)
			assert.True(t, strings.HasSuffix(k.events[0].Message, `want text, or JSON such as {"overlap": "Queue", "note": "once more", "by": "ada"}`), k.events[0].Message)
		})
	}
}

func TestSuspendAndResumeActWhateverTheirArgumentIs(t *testing.T) {
	for name, test := range map[string]struct {
		argument any
		note     protocol.SignalNote
		unread   string
	}{
		"a field that there is not": {map[string]any{"args": 1, "by": "ada"}, protocol.SignalNote{By: "ada"}, `there is no field "args"; use note, by, reason`},
		"half of an object":         {[]byte(`{"note":`), protocol.SignalNote{}, "it begins as a JSON object and is none"},
		"a list":                    {[]any{"a", 1}, protocol.SignalNote{}, "it is a list"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.signal(5*time.Second, protocol.SuspendSignal, test.argument)
			k.runUntil(10*time.Second, cron("0 12 * * *", allow))
			if assert.Len(t, k.suspends, 1) {
				assert.True(t, k.suspends[0].Suspend)
				assert.Equal(t, test.note, k.suspends[0].Note)
				assert.Equal(t, test.unread, k.suspends[0].Unread)
			}
		})
	}
}
