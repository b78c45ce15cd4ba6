package workflows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// maxNote bounds the note and the sender's name, in bytes: they end up in annotations and Events.
const maxNote = 512

// Why nothing is made of an argument.
const (
	unreadBytes  = "it is not text"
	unreadFields = "it has no field that is known"
)

// argument is what a signal says that people send.
type argument struct {
	protocol.ResumeRequest
	// overlap is a trigger's.
	overlap string
	// unread says why the argument has no meaning, or an object neither note nor by.
	unread string
}

// argumentOf reads the argument of a signal that people type. The signal counts whatever it is.
func argumentOf(ctx workflow.Context, received message) argument {
	read := decodeArgument(received.payload.GetData())
	workflow.GetLogger(ctx).Info("Signal received", "signal", received.signal, "by", read.By, "note", read.Note, "unread", read.unread)
	return read
}

// decodeArgument reads a JSON object (possibly quoted as a string); other JSON and bare text become the note. Values
// that are not strings are kept as their JSON text.
//
//workflowcheck:ignore encoding/json uses reflection; decoding these bytes into strings is deterministic.
func decodeArgument(data []byte) argument {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return argument{}
	}
	var text string
	quoted := json.Unmarshal(data, &text) == nil
	if !quoted {
		text = string(data)
	}
	var fields struct{ Note, By, Reason, Overlap, Force json.RawMessage }
	object := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(object, "{") && json.Unmarshal([]byte(object), &fields) == nil:
		read := argument{overlap: decodeField(fields.Overlap)}
		read.Note, read.By = decodeField(fields.Note), decodeField(fields.By)
		read.Reason, read.Force = decodeField(fields.Reason), string(fields.Force) == "true"
		if fields.Note == nil && fields.By == nil && strings.Trim(object, "{} \t\r\n") != "" {
			read.unread = unreadFields
		}
		return read
	case !quoted && !utf8.Valid(data):
		return argument{unread: unreadBytes}
	}
	var read argument
	read.Note = trimNote(text)
	return read
}

func decodeField(field json.RawMessage) string {
	if len(field) == 0 || string(field) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(field, &text) != nil {
		text = string(field)
	}
	return trimNote(text)
}

// trimNote makes text fit for an annotation and an Event: printable, bounded, cut at a character.
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
	return strings.ToValidUTF8(text[:maxNote], "")
}

// wishes wait, in their order.
type wishes []protocol.Wish

// steeringOf reads a signal suspend or resume.
func steeringOf(ctx workflow.Context, received message) protocol.Wish {
	read := argumentOf(ctx, received)
	wish := protocol.Wish{Suspend: received.signal == protocol.SuspendSignal, Note: read.SignalNote, Unread: read.unread, At: workflow.Now(ctx).UTC()}
	switch {
	case read.Reason == "" && !read.Force:
	case wish.Suspend:
		// A suspend may call its note reason, as a resume does.
		wish.Note.Note, wish.Unread = cmp.Or(read.Note, read.Reason), ""
	default:
		wish.Reason, wish.Force, wish.Unread = read.Reason, read.Force, ""
	}
	return wish
}

// and returns the wishes with one more. Of too many the first is superseded by the next. SetSuspend tells them apart by
// their times, which differ.
func (w wishes) and(wish protocol.Wish) wishes {
	if last := len(w) - 1; last >= 0 && !wish.At.After(w[last].At) {
		wish.At = w[last].At.Add(time.Nanosecond)
	}
	w = append(w, wish)
	if len(w) <= protocol.MaxWishes {
		return w
	}
	return w[1:].after(w[0])
}

// after returns the wishes behind one that was given up, perhaps after its write: the next supersedes it, or it goes on
// waiting.
func (w wishes) after(wish protocol.Wish) wishes {
	if len(w) == 0 {
		return wishes{wish}
	}
	w[0].Superseded += wish.Superseded + 1
	for n, earlier := 0, wish.At; n < len(w) && !w[n].At.After(earlier); n++ {
		w[n].At = earlier.Add(time.Nanosecond)
		earlier = w[n].At
	}
	return w
}
