package schedule

import (
	"fmt"
	"strings"
	"time"
)

// StuckRun is what the condition RunStuck says of the run that has waited longest.
type StuckRun struct {
	// Job is the name of the run's Job.
	Job string
	// Since is since when its containers could have started.
	Since time.Time
	// Words are Kubernetes' own: what keeps them.
	Words string
	// More are the other runs that are stuck.
	More int
}

// Message is the message of the condition; ParseStuckRun reads it.
func (r StuckRun) Message() string {
	text := fmt.Sprintf("Job %s, since %s: %s", r.Job, r.Since.UTC().Format(time.RFC3339), r.Words)
	if r.More > 0 {
		text += fmt.Sprintf(" (and %d more)", r.More)
	}
	return text
}

// ParseStuckRun reads the message of the condition RunStuck; ok is false for another text. Words has the number of the others, too.
func ParseStuckRun(message string) (run StuckRun, ok bool) {
	head, words, found := strings.Cut(message, ": ")
	job, since, named := strings.Cut(strings.TrimPrefix(head, "Job "), ", since ")
	at, err := time.Parse(time.RFC3339, since)
	if !found || !named || err != nil {
		return StuckRun{}, false
	}
	return StuckRun{Job: job, Since: at, Words: words}, true
}
