// Package evidence decides how much of what a failed Pod said its workflow may keep. It is pure.
package evidence

import (
	"fmt"

	"ostinato.dev/ostinato/internal/names"
)

// Level says how much is kept of a failed Pod.
type Level int

const (
	// Full keeps the container's last log lines and every message, besides what Reason keeps. It holds where no
	// annotation says otherwise.
	Full Level = iota
	// Reason keeps exit code, signal, reason, node and times. Whatever a program of the Pod may have written, and messages that
	// may quote it, are left out: log lines, termination messages, messages of the Pod and of waiting containers.
	Reason
)

// String returns the level as names.EvidenceAnnotation has it.
func (l Level) String() string {
	if l == Full {
		return "full"
	}
	return "reason"
}

// Of returns the level that an object's annotations ask for. A value that is no level counts as Reason: its writer
// meant to keep something back.
func Of(annotations map[string]string) Level {
	if value, ok := annotations[names.EvidenceAnnotation]; ok && value != Full.String() {
		return Reason
	}
	return Full
}

// Mistake says what is wrong with an object's annotation; empty when nothing is.
func Mistake(annotations map[string]string) string {
	value, ok := annotations[names.EvidenceAnnotation]
	if !ok || value == Full.String() || value == Reason.String() {
		return ""
	}
	return fmt.Sprintf("Annotation %s is %.40q: want full or reason; it counts as reason", names.EvidenceAnnotation, value)
}
