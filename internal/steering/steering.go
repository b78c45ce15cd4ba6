// Package steering decides which of the signals that people send through Temporal
// an object takes. It is pure.
package steering

import (
	"errors"
	"fmt"
	"strings"

	"ostinato.dev/ostinato/internal/names"
)

// Signals that people send. Suspend and Resume are for CronJobs and Jobs, Trigger and
// Backfill are for CronJobs.
const (
	Suspend  = "suspend"
	Resume   = "resume"
	Trigger  = "trigger"
	Backfill = "backfill"
)

// none is written for no signal at all.
const none = "none"

// words is what a list of signals may hold, for messages.
const words = Suspend + ", " + Resume + ", " + Trigger + " and " + Backfill + ", or none alone"

// Signals are those that are accepted.
type Signals struct {
	Suspend, Resume, Trigger, Backfill bool
}

// All returns every signal.
func All() Signals { return Signals{Suspend: true, Resume: true, Trigger: true, Backfill: true} }

// String and Set make *Signals a flag's value: a comma-separated list, or none.
func (s *Signals) String() string {
	var list []string
	for _, signal := range []string{Suspend, Resume, Trigger, Backfill} {
		if s.has(signal) {
			list = append(list, signal)
		}
	}
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ",")
}

// Set reads the list; the last one given counts. The error says which word is wrong.
func (s *Signals) Set(list string) error {
	read, mistakes := parse(list)
	if len(mistakes) > 0 {
		return errors.New(wrong(mistakes))
	}
	*s = read
	return nil
}

// Type names the value in a command's help.
func (s *Signals) Type() string { return "signals" }

func (s Signals) has(signal string) bool {
	switch signal {
	case Suspend:
		return s.Suspend
	case Resume:
		return s.Resume
	case Trigger:
		return s.Trigger
	case Backfill:
		return s.Backfill
	}
	return false
}

// parse reads a comma-separated list. What is no signal accepts nothing and is a mistake.
func parse(list string) (signals Signals, mistakes []string) {
	given := 0
	nothing := false
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		if word != "" {
			given++
		}
		switch word {
		case "":
		case none:
			nothing = true
		case Suspend:
			signals.Suspend = true
		case Resume:
			signals.Resume = true
		case Trigger:
			signals.Trigger = true
		case Backfill:
			signals.Backfill = true
		default:
			mistakes = append(mistakes, fmt.Sprintf("%.40q is no signal", word))
		}
	}
	if nothing && given > 1 {
		signals = Signals{}
		mistakes = append(mistakes, "none stands beside other words")
	}
	return signals, mistakes
}

// Accepts reports whether an object takes a signal that someone sends through
// Temporal, and if not, why, in words for an Event. The object's annotation
// (names.AcceptSignalsAnnotation) can only narrow what is allowed, which is the
// worker's flag. A word of it that can't be read accepts nothing.
func Accepts(allowed Signals, annotations map[string]string, signal string) (ok bool, why string) {
	if !All().has(signal) {
		return false, fmt.Sprintf("%.40q is no signal that people send: use %s, %s, %s or %s", signal, Suspend, Resume, Trigger, Backfill)
	}
	if !allowed.has(signal) {
		return false, fmt.Sprintf("the worker does not accept %s through Temporal (--accept-signals=%s)", signal, allowed.String())
	}
	list, narrowed := annotations[names.AcceptSignalsAnnotation]
	if !narrowed {
		return true, ""
	}
	accepted, mistakes := parse(list)
	if accepted.has(signal) {
		return true, ""
	}
	why = fmt.Sprintf("the object does not accept %s through Temporal (annotation %s is %.80q)", signal, names.AcceptSignalsAnnotation, list)
	if len(mistakes) > 0 {
		why += "; " + wrong(mistakes)
	}
	return false, why
}

// Mistake says what is wrong with an object's annotation; empty when nothing is.
func Mistake(annotations map[string]string) string {
	_, mistakes := parse(annotations[names.AcceptSignalsAnnotation])
	if len(mistakes) == 0 {
		return ""
	}
	return fmt.Sprintf("Annotation %s: %s", names.AcceptSignalsAnnotation, wrong(mistakes))
}

// wrong tells of the first mistakes: an Event has room for a few.
func wrong(mistakes []string) string {
	return strings.Join(mistakes[:min(len(mistakes), 3)], "; ") + ": want " + words
}
