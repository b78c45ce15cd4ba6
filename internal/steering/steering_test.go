package steering_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/steering"
)

func TestWhichSignalsAnObjectAccepts(t *testing.T) {
	all, stop := steering.All(), steering.Signals{steering.Suspend, steering.Resume}
	for _, test := range []struct {
		name    string
		allowed steering.Signals
		// annotation is what the object says; nil when it says nothing.
		annotation *string
		want       map[string]string
	}{
		{"everything by default", all, nil,
			map[string]string{"suspend": "", "resume": "", "trigger": ""}},
		{"all but a stop by default", steering.Default(), nil,
			map[string]string{"suspend": "", "trigger": "", "backfill": "", "stop": "the worker does not accept stop"}},
		{"the object can't have a stop that the worker does not take", steering.Default(), list("stop"),
			map[string]string{"stop": "the worker does not accept stop"}},
		{"a stop where the worker names it", all, nil, map[string]string{"stop": ""}},
		{"a stop where the object does not name it", all, list("suspend"), map[string]string{"stop": "the object does not accept stop"}},
		{"the worker narrows", stop, nil,
			map[string]string{"suspend": "", "resume": "", "trigger": "the worker does not accept trigger through Temporal (--accept-signals=suspend,resume)"}},
		{"the worker takes none", steering.Signals{}, nil,
			map[string]string{"suspend": "--accept-signals=none", "resume": "--accept-signals=none", "trigger": "--accept-signals=none"}},
		{"the object narrows", all, list(" resume , trigger"),
			map[string]string{"suspend": `the object does not accept suspend through Temporal (annotation ostinato.dev/accept-signals is " resume , trigger")`, "resume": "", "trigger": ""}},
		{"the object can't widen", stop, list("suspend,resume,trigger"),
			map[string]string{"suspend": "", "resume": "", "trigger": "the worker does not accept trigger"}},
		{"both narrow", stop, list("resume,trigger"),
			map[string]string{"suspend": "the object does not accept", "resume": "", "trigger": "the worker does not accept"}},
		{"none", all, list("none"),
			map[string]string{"suspend": "the object", "resume": "the object", "trigger": "the object"}},
		{"nothing said is none", all, list(""),
			map[string]string{"suspend": "the object", "resume": "the object", "trigger": "the object"}},
		{"unknown words accept nothing", all, list("suspend,restart"),
			map[string]string{"suspend": "", "resume": `"restart" is no signal: want suspend, resume, stop, trigger and backfill, or none alone`, "trigger": `"restart" is no signal`}},
		{"words are as they are written", all, list("Suspend"),
			map[string]string{"suspend": `"Suspend" is no signal`}},
		{"none beside others is none", all, list("none,suspend"),
			map[string]string{"suspend": "none stands beside other words"}},
		{"what is no signal", all, nil,
			map[string]string{"restart": `"restart" is no signal that people send: use suspend, resume, stop, trigger or backfill`, "job-spec": "no signal", "": "no signal"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			annotations := map[string]string{"note": "trigger"}
			if test.annotation != nil {
				annotations[names.AcceptSignalsAnnotation] = *test.annotation
			}
			for signal, want := range test.want {
				ok, why := steering.Accepts(test.allowed, annotations, signal)
				assert.Equal(t, want == "", ok, "%s: %s", signal, why)
				assert.Equal(t, want == "", why == "", signal)
				assert.Contains(t, why, want, signal)
			}
		})
	}
}

func list(value string) *string { return &value }

func TestMistakesInAnAnnotation(t *testing.T) {
	for list, want := range map[string]string{
		"suspend,trigger": "",
		"":                "",
		"none":            "",
		"suspend,restart": `Annotation ostinato.dev/accept-signals: "restart" is no signal: want suspend, resume, stop, trigger and backfill, or none alone`,
		"resume,none":     "none stands beside other words",
	} {
		mistake := steering.Mistake(map[string]string{names.AcceptSignalsAnnotation: list})
		assert.Contains(t, mistake, want, list)
		assert.Equal(t, want == "", mistake == "", list)
	}
	assert.Empty(t, steering.Mistake(nil))
}

// A message is for an Event, whatever the annotation holds.
func TestMessagesAreBounded(t *testing.T) {
	annotations := map[string]string{names.AcceptSignalsAnnotation: strings.Repeat("nonsense,", 20_000) + strings.Repeat("x", 20_000)}
	_, why := steering.Accepts(steering.All(), annotations, steering.Trigger)
	assert.Less(t, len(why), 512)
	_, why = steering.Accepts(steering.All(), nil, strings.Repeat("\x00", 20_000))
	assert.Less(t, len(why), 512)
}

func TestSignalsAsAFlag(t *testing.T) {
	for _, test := range []struct{ list, want, mistake string }{
		{list: "suspend,resume,trigger", want: "suspend,resume,trigger"},
		{list: " trigger, suspend,", want: "suspend,trigger"},
		{list: "none", want: "none"},
		{list: "", want: "none"},
		{list: "suspend,halt,go", mistake: `"halt" is no signal; "go" is no signal: want suspend, resume, stop, trigger and backfill, or none alone`},
		{list: "none,suspend", mistake: "none stands beside other words"},
	} {
		t.Run(test.list, func(t *testing.T) {
			signals := steering.All()
			err := signals.Set(test.list)
			if test.mistake != "" {
				require.ErrorContains(t, err, test.mistake)
				assert.Equal(t, steering.All(), signals, "a mistake changes nothing")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, signals.String())
		})
	}
}
