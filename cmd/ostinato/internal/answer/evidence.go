package answer

import (
	"fmt"
	"strings"

	"ostinato.dev/ostinato/internal/job"
)

// Attempt shows what a workflow has kept of a Pod that failed: how its container ended, and the last lines of its log.
func Attempt(clock Clock, attempt job.Attempt) string {
	var text strings.Builder
	fmt.Fprintf(&text, "==> %s", Printable(attempt.Pod))
	if attempt.Container != "" {
		fmt.Fprintf(&text, " %s", Printable(attempt.Container))
	}
	text.WriteString(" <==\n")
	for line := range strings.Lines(attempt.Log) {
		fmt.Fprintln(&text, Printable(strings.TrimSuffix(line, "\n")))
	}
	if attempt.LogMissing != "" {
		fmt.Fprintf(&text, "(no log: %s)\n", Printable(attempt.LogMissing))
	}
	var ended []string
	if attempt.Container != "" {
		ended = append(ended, fmt.Sprintf("exit code %d", attempt.ExitCode))
	}
	if attempt.Signal != 0 {
		ended = append(ended, fmt.Sprintf("signal %d", attempt.Signal))
	}
	if attempt.Reason != "" {
		ended = append(ended, attempt.Reason)
	}
	if attempt.Message != "" {
		ended = append(ended, attempt.Message)
	}
	if !attempt.Finished.IsZero() {
		ended = append(ended, "at "+clock.Time(attempt.Finished))
	}
	fmt.Fprintf(&text, "(ended: %s)\n", Printable(strings.Join(ended, ", ")))
	return text.String()
}
