package workflows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// maxNote bounds the note and the sender's name, in bytes: they end up in annotations and Events.
const maxNote = 512

// argument is what a signal says that people send.
type argument struct {
	protocol.ResumeRequest
	// overlap is a trigger's.
	overlap string
	// unread says why nothing, or not all, is made of the argument.
	unread string
}

// fieldsOf are the fields that a signal's argument may have.
var fieldsOf = map[string][]string{
	protocol.SuspendSignal: {"note", "by", "reason"},
	protocol.ResumeSignal:  {"note", "by", "reason", "force"},
	protocol.StopSignal:    {"note", "by", "reason"},
	protocol.TriggerSignal: {"note", "by", "overlap"},
}

// offered are the descriptions of signals of people.
var offered = map[string]string{
	protocol.SuspendSignal: `Sets spec.suspend of the object: {"note": text, "by": name}`,
	protocol.ResumeSignal:  `Takes a suspension back: {"by": name, "reason": text, "force": bool}`,
	protocol.StopSignal:    `Ends the run as Failed, where the worker accepts that: {"note": text, "by": name}`,
	protocol.TriggerSignal: `Starts one run now: {"note": text, "by": name, "overlap": policy}`,
}

// offer makes signals part of the workflow's metadata, so that Temporal's UI offers them before one has come.
func offer(ctx workflow.Context, signals ...string) {
	for _, signal := range signals {
		workflow.GetSignalChannelWithOptions(ctx, signal, workflow.SignalChannelOptions{Description: offered[signal]})
	}
}

// argumentOf reads the argument of a signal that people type.
func argumentOf(ctx workflow.Context, received message) argument {
	read := decodeArgument(received.payload.GetData(), fieldsOf[received.signal])
	workflow.GetLogger(ctx).Info("Signal received", "signal", received.signal, "by", read.By, "note", read.Note, "unread", read.unread)
	return read
}

// decodeArgument reads a JSON object (possibly quoted as a string) with some of these fields; other JSON than a list, and bare
// text, become the note. Values that are not strings are kept as their JSON text.
//
//workflowcheck:ignore encoding/json uses reflection; decoding these bytes into strings is deterministic.
func decodeArgument(data []byte, known []string) (read argument) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return argument{}
	}
	var text string
	quoted := json.Unmarshal(data, &text) == nil
	if !quoted {
		text = string(data)
	}
	switch text = strings.TrimSpace(text); {
	case !quoted && !utf8.Valid(data):
		return argument{unread: "it is not text"}
	case strings.HasPrefix(text, "{"):
		return decodeObject([]byte(text), known)
	case strings.HasPrefix(text, "[") && json.Valid([]byte(text)):
		return argument{unread: "it is a list"}
	}
	read.Note = trimNote(text)
	return read
}

// maxObject bounds an object, in bytes: its fields are counted in memory. An update's is bounded alike.
const maxObject = 8192

// maxUnreadFields is how many unknown fields are named.
const maxUnreadFields = 3

//workflowcheck:ignore encoding/json uses reflection; what it decodes is deterministic, and the names are sorted.
func decodeObject(object []byte, known []string) (read argument) {
	if len(object) > maxObject {
		return argument{unread: fmt.Sprintf("it is an object of %d bytes, use %d at most", len(object), maxObject)}
	}
	var fields struct{ Note, By, Reason, Overlap, Force json.RawMessage }
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil || json.Unmarshal(object, &all) != nil {
		return argument{unread: "it begins as a JSON object and is none"}
	}
	read.overlap = decodeField(fields.Overlap)
	read.Note, read.By = decodeField(fields.Note), decodeField(fields.By)
	read.Reason, read.Force = decodeField(fields.Reason), string(fields.Force) == "true"
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(known, func(field string) bool { return strings.EqualFold(field, name) }) && len(unknown) < maxUnreadFields {
			unknown = append(unknown, fmt.Sprintf("%.40q", name))
		}
	}
	if len(unknown) > 0 {
		read.unread = "there is no field " + strings.Join(unknown, ", ") + "; use " + strings.Join(known, ", ")
	}
	return read
}

func decodeField(field json.RawMessage) (text string) {
	if len(field) == 0 || string(field) == "null" {
		return ""
	}
	if json.Unmarshal(field, &text) != nil {
		text = string(field)
	}
	return trimNote(text)
}

// trimNote makes text fit for an annotation and an Event: printable and bounded.
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
	return clip.Text(text, maxNote)
}

// maxCaller bounds the payload of a header that names a caller, in bytes.
const maxCaller = 4096

// callerOf returns the user that the header of a signal or update names; empty if it names none.
//
//workflowcheck:ignore encoding/json uses reflection; decoding these bytes into a string is deterministic.
func callerOf(ctx workflow.Context) (user string) {
	payload := interceptor.WorkflowHeader(ctx)[names.CallerHeader]
	var caller string
	if payload == nil || len(payload.GetData()) > maxCaller || converter.GetDefaultDataConverter().FromPayload(payload, &caller) != nil {
		return ""
	}
	return names.UserOf(caller)
}

// wishes wait, in their order.
type wishes []protocol.Wish

// steeringOf reads a signal suspend, resume or stop.
func steeringOf(ctx workflow.Context, received message) protocol.Wish {
	read := argumentOf(ctx, received)
	wish := protocol.Wish{
		Suspend: received.signal == protocol.SuspendSignal, Stop: received.signal == protocol.StopSignal,
		Note: read.SignalNote, Unread: read.unread, Caller: received.caller, At: workflow.Now(ctx).UTC(),
	}
	if wish.Suspend || wish.Stop {
		// They may call their note reason, as a resume does.
		wish.Note.Note = cmp.Or(read.Note, read.Reason)
	} else {
		wish.Reason, wish.Force = read.Reason, read.Force
	}
	return wish
}

// and returns the wishes with one more. Of too many the next supersedes the first. SetSuspend tells them apart by time. A stop goes
// first, and another one is the same wish: whatever else is wished, the Job ends.
func (w wishes) and(wish protocol.Wish) wishes {
	switch stops := w.stop(); {
	case stops && wish.Stop:
		return w
	case wish.Stop:
		return w.behind(wish)
	case stops:
		return append(wishes{w[0]}, w[1:].within(protocol.MaxWishes-1, wish)...)
	}
	return w.within(protocol.MaxWishes, wish)
}

// stop reports whether they begin with a stop, the only one that there is.
func (w wishes) stop() bool { return len(w) > 0 && w[0].Stop }

// behind returns a stop and the wishes that come after it, as many as may wait.
func (w wishes) behind(stop protocol.Wish) wishes {
	if w.stop() {
		w = w[1:]
	}
	return append(wishes{stop}, w[:min(len(w), protocol.MaxWishes-1)]...)
}

// within is and, of suspends and resumes.
func (w wishes) within(most int, wish protocol.Wish) wishes {
	if last := len(w) - 1; last >= 0 && !wish.At.After(w[last].At) {
		wish.At = w[last].At.Add(time.Nanosecond)
	}
	w = append(w, wish)
	if len(w) <= most {
		return w
	}
	return w[1:].after(w[0])
}

// after returns the wishes behind one given up, perhaps after its write: the next supersedes it, or it goes on waiting, as a stop does,
// and as one does that has given way to a stop, which may be refused.
func (w wishes) after(wish protocol.Wish) wishes {
	switch {
	case wish.Stop:
		return w.behind(wish)
	case w.stop():
		return append(wishes{w[0]}, w[1:].after(wish)...)
	case len(w) == 0:
		return wishes{wish}
	}
	w[0].Superseded += wish.Superseded + 1
	for n, earlier := 0, wish.At; n < len(w) && !w[n].At.After(earlier); n++ {
		w[n].At = earlier.Add(time.Nanosecond)
		earlier = w[n].At
	}
	return w
}
