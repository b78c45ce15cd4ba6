package job

import (
	"encoding/json"
	"strings"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
)

// maxStopText bounds the note of a Stop, in bytes, and maxStopName the name: a row of the ledger, which is cut, is to say that the name
// is claimed.
const maxStopText, maxStopName = 448, 128

// Stop says who ends a Job, as claimed, and why. Whoever may patch the Job may write it (names.StopAnnotation).
type Stop struct {
	By   string `json:"by,omitempty"`
	Note string `json:"note,omitempty"`
}

// Annotation returns the value of names.StopAnnotation.
//
//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func (s Stop) Annotation() string {
	// Two strings can always be encoded.
	data, _ := json.Marshal(s.bounded())
	return string(data)
}

// StopOf reads the annotation; nil where there is none. Text that is no such object is the note, and an empty one stops
// the Job too: whoever writes it can hardly mean anything else.
func StopOf(annotations map[string]string) *Stop {
	value, found := annotations[names.StopAnnotation]
	if !found {
		return nil
	}
	var stop Stop
	if json.Unmarshal([]byte(value), &stop) != nil || !strings.HasPrefix(strings.TrimSpace(value), "{") {
		stop = Stop{Note: value}
	}
	stop = stop.bounded()
	return &stop
}

func (s Stop) bounded() Stop {
	return Stop{By: stopText(s.By, maxStopName), Note: stopText(s.Note, maxStopText)}
}

// stopText makes a text fit for a condition and an Event: printable and bounded.
func stopText(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return clip.Text(strings.TrimSpace(text), limit)
}

// WasStopped begins the message of the verdict.
const WasStopped = "Job was stopped"

// String is the message of the verdict.
func (s Stop) String() string {
	text := WasStopped
	if s.By != "" {
		text += " by " + s.By + " (claimed)"
	}
	if s.Note != "" {
		text += ": " + s.Note
	}
	return text
}

// stopped reports whether the Job is to end because a person says so: not one whose work is done.
func (p *pass) stopped() bool { return p.spec.Stop != nil && p.completionsReached() == nil }

// Misquoted says that a verdict of failure is not in the Job's own words: not that which its status has, or another
// stop than the Job's annotation, which may be edited later. It is empty otherwise.
func Misquoted(object *batchv1.Job, verdict Verdict) string {
	said := firstTrue(takenConditions(object.Status.Conditions), batchv1.JobFailureTarget, batchv1.JobFailed)
	switch {
	case said != nil && (said.Reason != verdict.Reason || said.Message != verdict.Message):
		return "the Job fails by " + said.Reason
	case said == nil && verdict.Reason == event.Stopped && verdict.Message != SpecOf(object).stopMessage():
		return "the Job names another stop"
	}
	return ""
}

func (s Spec) stopMessage() string {
	if s.Stop == nil {
		return ""
	}
	return s.Stop.String()
}
