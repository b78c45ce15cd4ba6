package schedule

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Words of status.lastResult and status.next that are neither a result nor a time.
const (
	// unknown: no run has started; no scheduled time is known.
	unknown = "-"
	// resultRunning: the run that started last has not ended.
	resultRunning = "Running"
)

// NextWords are the words that status.next has in place of a time.
var NextWords = []string{
	unknown, ReasonDeleting, conditionReasonSuspended, conditionReasonPaused,
	string(UnparseableSchedule), string(UnknownTimeZone), string(NeverFires),
}

// LastResultPattern and NextPattern are what status.lastResult and status.next match.
var (
	LastResultPattern = "^(" + strings.Join([]string{
		unknown, resultRunning, string(RunComplete), string(RunDeleted), string(RunFailed) + "( x[1-9][0-9]{0,9})?",
	}, "|") + ")$"
	NextPattern = "^(" + strings.Join(NextWords, "|") + "|[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z)$"
)

var lastResultPattern, nextPattern = regexp.MustCompile(LastResultPattern), regexp.MustCompile(NextPattern)

// lastResult says how the run that started last has ended.
func (s State) lastResult() string {
	for index := len(s.Ledger) - 1; index >= 0; index-- {
		if entry := s.Ledger[index]; entry.Outcome.HasJob() {
			return s.resultText(entry.Result)
		}
	}
	// Its row has fallen out.
	switch {
	case len(s.Active) > 0:
		return resultRunning
	case s.ConsecutiveFailures > 0:
		return s.resultText(RunFailed)
	case !s.LastSuccessful.IsZero():
		return string(RunComplete)
	}
	return unknown
}

func (s State) resultText(result RunResult) string {
	switch {
	case result == "":
		return resultRunning
	case result == RunFailed && s.ConsecutiveFailures > 1:
		return fmt.Sprintf("%s x%d", result, s.ConsecutiveFailures)
	}
	return string(result)
}

// nextTime is the time of the next run; zero where there is none.
func (s State) nextTime(spec Spec) time.Time {
	if spec.Suspend || spec.Deleting || len(s.Calendar.Upcoming) == 0 {
		return time.Time{}
	}
	return s.Calendar.Upcoming[0]
}

// next says when the next run is, or in one word why there is none.
func (s State) next(spec Spec) string {
	at := s.nextTime(spec)
	switch {
	case !at.IsZero():
		return clock(at)
	case spec.Deleting:
		return ReasonDeleting
	case s.Calendar.Problem != nil:
		return string(s.Calendar.Problem.Reason)
	case spec.Suspend && s.PausedWhy != "":
		return conditionReasonPaused
	case spec.Suspend:
		return conditionReasonSuspended
	}
	return unknown
}

// validateSummary reports whether what sums a status up is in the words of a plan.
func validateSummary(status ostinatov1.CronJobStatus) error {
	switch {
	case status.ActiveCount < 0:
		return fmt.Errorf("status: activeCount is %d, want 0 or more", status.ActiveCount)
	case status.LastResult != "" && !lastResultPattern.MatchString(status.LastResult):
		return fmt.Errorf("status: lastResult is %.64q, want a match of %s", status.LastResult, LastResultPattern)
	case status.Next != "" && !nextPattern.MatchString(status.Next):
		return fmt.Errorf("status: next is %.64q, want a match of %s", status.Next, NextPattern)
	}
	return nil
}
