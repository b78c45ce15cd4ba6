package workflows

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ostinato.dev/ostinato/internal/protocol"
)

func TestDecodeNote(t *testing.T) {
	tests := []struct {
		name   string
		data   string
		want   protocol.SignalNote
		unread string
	}{
		{"no argument", "", protocol.SignalNote{}, ""},
		{"null", "null", protocol.SignalNote{}, ""},
		{"an object", `{"note":"maintenance","by":"ann"}`, protocol.SignalNote{Note: "maintenance", By: "ann"}, ""},
		{"an object in other case", `{"Note":"maintenance"}`, protocol.SignalNote{Note: "maintenance"}, ""},
		{"an object with unknown fields", `{"note":"x","ticket":7}`, protocol.SignalNote{Note: "x"}, `there is no field "ticket"; use note, by, reason`},
		{"many unknown fields", `{"e":1,"d":1,"c":1,"b":1,"a":1}`, protocol.SignalNote{}, `there is no field "a", "b", "c"; use note, by, reason`},
		{"an object with other types", `{"note":7,"by":null}`, protocol.SignalNote{Note: "7"}, ""},
		{"an object quoted as a string", `"{\"note\":\"x\"}"`, protocol.SignalNote{Note: "x"}, ""},
		{"a plain string", `"maintenance"`, protocol.SignalNote{Note: "maintenance"}, ""},
		{"a number", `42`, protocol.SignalNote{Note: "42"}, ""},
		{"an array", `["a", "b"]`, protocol.SignalNote{}, "it is a list"},
		{"text that begins as an array", `[urgent] stop it`, protocol.SignalNote{Note: "[urgent] stop it"}, ""},
		{"bare words", `because I can`, protocol.SignalNote{Note: "because I can"}, ""},
		{"broken JSON", `{"note":`, protocol.SignalNote{}, "it begins as a JSON object and is none"},
		{"line breaks", `"a\nb\u0000c"`, protocol.SignalNote{Note: "a bc"}, ""},
		{"other fields only", `{"unknown":1}`, protocol.SignalNote{}, `there is no field "unknown"; use note, by, reason`},
		{"other fields only, quoted", `"{\"unknown\":1}"`, protocol.SignalNote{}, `there is no field "unknown"; use note, by, reason`},
		{"a book", `{"note":"` + strings.Repeat("x", 9000) + `"}`, protocol.SignalNote{}, "it is an object of 9011 bytes, use 8192 at most"},
		{"no fields", `{}`, protocol.SignalNote{}, ""},
		{"bytes that are no text", "\xff\xfe\x00", protocol.SignalNote{}, "it is not text"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := decodeArgument([]byte(test.data), fieldsOf[protocol.SuspendSignal]); got.SignalNote != test.want || got.unread != test.unread {
				t.Errorf("decodeArgument(%q) = %+v, want %+v, %q", test.data, got, test.want, test.unread)
			}
		})
	}
	if got := decodeArgument(nil, nil); got != (argument{}) {
		t.Errorf("decodeArgument(nil) = %+v, want nothing", got)
	}
}

func TestDecodeResume(t *testing.T) {
	for data, want := range map[string]struct {
		reason string
		force  bool
	}{
		``: {}, `null`: {}, `"upgrade"`: {}, `{"by":"ada"}`: {}, `{"reason":`: {}, `[{"force":true}]`: {},
		`{"reason":"upgrade","by":"ada"}`: {reason: "upgrade"},
		`"{\"reason\":\"upgrade\"}"`:      {reason: "upgrade"},
		`{"reason":7,"force":true}`:       {"7", true},
		`{"force":"true"}`:                {},
		`{"force":1}`:                     {},
		`{"reason":null,"force":null}`:    {},
	} {
		if got := decodeArgument([]byte(data), fieldsOf[protocol.ResumeSignal]); got.Reason != want.reason || got.Force != want.force {
			t.Errorf("decodeArgument(%q) = %+v", data, got)
		}
	}
}

func FuzzDecodeResume(f *testing.F) {
	f.Add([]byte(`{"reason":"x","force":true}`))
	f.Add([]byte(`"{\"reason\":\"` + strings.Repeat("é", maxNote) + `\"}"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if reason := decodeArgument(data, fieldsOf[protocol.ResumeSignal]).Reason; len(reason) > maxNote || !utf8.ValidString(reason) || strings.ContainsAny(reason, "\n\r\x00") {
			t.Errorf("decodeArgument(%q) gives %q, which is not fit for an Event", data, reason)
		}
	})
}

func FuzzDecodeNote(f *testing.F) {
	f.Add([]byte(`{"note":"x","by":"y"}`))
	f.Add([]byte(`"` + strings.Repeat("é", maxNote) + `"`))
	f.Add([]byte("\xff{"))
	f.Add([]byte(`"{\"overlap\":{\"a\":\"\\n\"}}"`))
	f.Add([]byte(`{"overlap":"Forbid"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := decodeArgument(data, fieldsOf[protocol.TriggerSignal])
		for _, text := range []string{read.Note, read.By, read.overlap} {
			if len(text) > maxNote || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00") {
				t.Errorf("of %q comes %q, which is not fit for an annotation", data, text)
			}
		}
	})
}

// A wish that was given up may have been written, and SetSuspend tells wishes apart by their times.
func TestWishesBehindOneThatWasGivenUpAreLater(t *testing.T) {
	now := time.Date(2126, 1, 2, 10, 0, 0, 0, time.UTC)
	for name, times := range map[string][]time.Duration{
		"one of the same time":   {0},
		"two, the first as old":  {0, 1},
		"two that are later":     {time.Second, time.Minute},
		"the second much later":  {0, time.Minute},
		"none, and it goes on":   {},
		"of the same time again": {0, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var behind wishes
			for _, after := range times {
				behind = append(behind, protocol.Wish{At: now.Add(after)})
			}
			earlier := protocol.Wish{At: now.Add(-1)}
			for _, wish := range behind.after(protocol.Wish{At: now}) {
				if !wish.At.After(earlier.At) || len(times) > 0 && !wish.At.After(now) {
					t.Errorf("%s comes after %s", wish.At, earlier.At)
				}
				earlier = wish
			}
		})
	}
}

// A stop may be refused, so it takes the place of no suspend or resume: one that gives way to it is carried out behind it.
func TestAStopTakesThePlaceOfNoOtherWish(t *testing.T) {
	now := time.Date(2126, 1, 2, 10, 0, 0, 0, time.UTC)
	suspend, resume := protocol.Wish{Suspend: true, At: now}, protocol.Wish{At: now.Add(time.Minute)}
	stop := protocol.Wish{Stop: true, At: now.Add(time.Second)}
	superseding := resume
	superseding.Superseded = 1
	for name, test := range map[string]struct {
		behind    []protocol.Wish
		gaveWay   protocol.Wish
		continues wishes
	}{
		"a suspend that gives way to a stop":             {[]protocol.Wish{stop}, suspend, wishes{stop, suspend}},
		"a suspend that gives way to a stop and another": {[]protocol.Wish{stop, resume}, suspend, wishes{stop, superseding}},
		"a suspend that gives way to another":            {[]protocol.Wish{resume}, suspend, wishes{superseding}},
		"a stop that gives way to another":               {[]protocol.Wish{resume}, stop, wishes{stop, resume}},
	} {
		var waiting wishes
		for _, wish := range test.behind {
			waiting = waiting.and(wish)
		}
		if got := waiting.after(test.gaveWay); !reflect.DeepEqual(got, test.continues) {
			t.Errorf("%s: then wait %+v, want %+v", name, got, test.continues)
		}
	}
}
