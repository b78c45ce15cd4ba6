package workflows

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// maxNote bounds the note and the sender's name, in bytes: they end up in
// annotations and Events.
const maxNote = 512

// Why nothing is made of an argument.
const (
	unreadBytes  = "it is not text"
	unreadFields = "it has no field that is known"
)

// noteOf reads the argument of a signal that people send. Whatever it is, the signal
// counts: people type them by hand. unread says why nothing is made of an argument.
func noteOf(ctx workflow.Context, received message) (note protocol.SignalNote, unread string) {
	note, unread = decodeNote(received.payload)
	workflow.GetLogger(ctx).Info("Signal received", "signal", received.signal, "by", note.By, "note", note.Note, "unread", unread)
	return note, unread
}

// decodeNote reads a signal's argument: a JSON object with "note" and "by" (also
// when it is quoted once more as a string), a plain JSON string, other JSON or
// bare text, which become the note, or nothing. It never fails; of what is neither
// JSON nor text, and of an object without either field, unread says so.
//
//workflowcheck:ignore encoding/json uses reflection; decoding these bytes into strings is deterministic.
func decodeNote(payload *commonpb.Payload) (note protocol.SignalNote, unread string) {
	data := bytes.TrimSpace(payload.GetData())
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return protocol.SignalNote{}, ""
	}
	if note, unread, ok := decodeNoteObject(data); ok {
		return note, unread
	}
	var text string
	if json.Unmarshal(data, &text) != nil {
		if !utf8.Valid(data) {
			return protocol.SignalNote{}, unreadBytes
		}
		text = string(data)
	}
	if note, unread, ok := decodeNoteObject([]byte(text)); ok {
		return note, unread
	}
	return protocol.SignalNote{Note: trimNote(text)}, ""
}

// decodeNoteObject reads {"note": ..., "by": ...}; values that are not strings
// are kept as their JSON text.
func decodeNoteObject(data []byte) (note protocol.SignalNote, unread string, ok bool) {
	var fields struct {
		Note json.RawMessage `json:"note"`
		By   json.RawMessage `json:"by"`
	}
	if !bytes.HasPrefix(data, []byte("{")) || json.Unmarshal(data, &fields) != nil {
		return protocol.SignalNote{}, "", false
	}
	if fields.Note == nil && fields.By == nil && len(bytes.Trim(data, "{} \t\r\n")) > 0 {
		unread = unreadFields
	}
	return protocol.SignalNote{Note: decodeNoteField(fields.Note), By: decodeNoteField(fields.By)}, unread, true
}

// decodeResume reads reason and force of a resume's argument, which may be quoted once more as a
// string. What is no true is no force.
//
//workflowcheck:ignore encoding/json uses reflection; decoding these bytes is deterministic.
func decodeResume(data []byte) (reason string, force bool) {
	var quoted string
	if json.Unmarshal(data, &quoted) == nil {
		data = []byte(quoted)
	}
	var fields struct {
		Reason json.RawMessage `json:"reason"`
		Force  json.RawMessage `json:"force"`
	}
	if data = bytes.TrimSpace(data); !bytes.HasPrefix(data, []byte("{")) || json.Unmarshal(data, &fields) != nil {
		return "", false
	}
	return decodeNoteField(fields.Reason), string(fields.Force) == "true"
}

func decodeNoteField(field json.RawMessage) string {
	if len(field) == 0 || string(field) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(field, &text) != nil {
		text = string(field)
	}
	return trimNote(text)
}

// trimNote makes text fit for an annotation and an Event: printable, bounded,
// cut at a character.
func trimNote(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if len(text) <= maxNote {
		return text
	}
	cut := maxNote
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
