// Package steering decides which of the signals that people send through Temporal an object takes. It is pure.
package steering

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ostinato.dev/ostinato/internal/names"
)

// Signals that people send, and the update Backfill. Suspend and Resume are for CronJobs and Jobs, Stop is for Jobs, and the others are
// for CronJobs.
const (
	Suspend  = "suspend"
	Resume   = "resume"
	Stop     = "stop"
	Trigger  = "trigger"
	Backfill = "backfill"
)

// RestoreLedger is the update that administrators send: it is no signal that an object can refuse, since it starts and ends nothing.
const RestoreLedger = "restore-ledger"

// none is written for no signal at all.
const none = "none"

// wanted is what a list of signals may hold, for messages.
const wanted = Suspend + ", " + Resume + ", " + Stop + ", " + Trigger + " and " + Backfill + ", or none alone"

// people are the signals that people send, in the order in which they are written.
var people = []string{Suspend, Resume, Stop, Trigger, Backfill}

// Signals are those that are accepted.
type Signals []string

// All returns every signal.
func All() Signals { return slices.Clone(people) }

// Default returns every signal but Stop, which ends Pods for good: it is taken where the worker names it.
func Default() Signals {
	return slices.DeleteFunc(All(), func(signal string) bool { return signal == Stop })
}

// String and Set make *Signals a flag's value: a comma-separated list, or none.
func (s *Signals) String() string { return cmp.Or(strings.Join(*s, ","), none) }

// Set reads the list; the last one given counts. The error says which word is wrong.
func (s *Signals) Set(list string) error {
	read, mistake := parse(list)
	if mistake != "" {
		return errors.New(mistake)
	}
	*s = read
	return nil
}

// Type names the value in a command's help.
func (s *Signals) Type() string { return "signals" }

// parse reads a comma-separated list. What is no signal accepts nothing; mistake says what is wrong, empty when nothing is.
func parse(list string) (signals Signals, mistake string) {
	var words, mistakes []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		words = append(words, word)
		if word != none && !slices.Contains(people, word) {
			mistakes = append(mistakes, fmt.Sprintf("%.40q is no signal", word))
		}
	}
	if len(words) > 1 && slices.Contains(words, none) {
		mistakes, words = append(mistakes, "none stands beside other words"), nil
	}
	signals = slices.DeleteFunc(All(), func(signal string) bool { return !slices.Contains(words, signal) })
	if len(mistakes) == 0 {
		return signals, ""
	}
	// An Event has room for a few.
	return signals, strings.Join(mistakes[:min(len(mistakes), 3)], "; ") + ": want " + wanted
}

// Accepts reports whether an object takes a signal that someone sends through Temporal, and if not, why, in words for
// an Event. The object's annotation (names.AcceptSignalsAnnotation) can only narrow what is allowed, which is the
// worker's flag. A word of it that can't be read accepts nothing.
func Accepts(allowed Signals, annotations map[string]string, signal string) (ok bool, why string) {
	if !slices.Contains(people, signal) {
		return false, fmt.Sprintf("%.40q is no signal that people send: use %s, %s, %s, %s or %s", signal, Suspend, Resume, Stop, Trigger, Backfill)
	}
	if !slices.Contains(allowed, signal) {
		return false, fmt.Sprintf("the worker does not accept %s through Temporal (--accept-signals=%s)", signal, allowed.String())
	}
	list, narrowed := annotations[names.AcceptSignalsAnnotation]
	if !narrowed {
		return true, ""
	}
	accepted, mistake := parse(list)
	if slices.Contains(accepted, signal) {
		return true, ""
	}
	why = fmt.Sprintf("the object does not accept %s through Temporal (annotation %s is %.80q)", signal, names.AcceptSignalsAnnotation, list)
	if mistake != "" {
		why += "; " + mistake
	}
	return false, why
}

// Mistake says what is wrong with an object's annotation; empty when nothing is.
func Mistake(annotations map[string]string) string {
	_, mistake := parse(annotations[names.AcceptSignalsAnnotation])
	if mistake == "" {
		return ""
	}
	return fmt.Sprintf("Annotation %s: %s", names.AcceptSignalsAnnotation, mistake)
}
