package workflows

import (
	"fmt"
	"strings"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// recentRows bounds the table of recent outcomes in the UI.
const recentRows = 10

// describe answers the describe query.
func (c *runningCronJob) describe() (protocol.CronJobDescription, error) {
	return protocol.CronJobDescription{
		CronJob: c.cronJob,
		Spec:    c.spec,
		Status:  schedule.StatusOf(c.state, c.spec),
		Ledger:  c.state.Ledger,
	}, nil
}

// details renders the workflow's current details for the Temporal UI.
func (c *runningCronJob) details() string {
	var b strings.Builder
	b.WriteString("**" + escape(c.scheduleText()) + "** " + escape(c.nextText()) + "\n")
	if len(c.state.Active) > 0 {
		b.WriteString("\n| active job | scheduled |\n|---|---|\n")
		for _, run := range c.state.Active {
			b.WriteString("| " + escape(run.Name) + " | " + scheduledText(run.Scheduled, run.Manual) + " |\n")
		}
	}
	if len(c.state.Ledger) > 0 {
		b.WriteString("\n| scheduled | outcome | job or reason |\n|---|---|---|\n")
		for index := len(c.state.Ledger) - 1; index >= max(0, len(c.state.Ledger)-recentRows); index-- {
			b.WriteString(ledgerRow(c.state.Ledger[index]))
		}
	}
	return b.String()
}

func (c *runningCronJob) scheduleText() string {
	text := c.spec.Schedule
	if c.spec.TimeZone != nil {
		text += " " + *c.spec.TimeZone
	}
	return text
}

func (c *runningCronJob) nextText() string {
	switch calendar := c.state.Calendar; {
	case c.spec.Deleting:
		return "is being deleted"
	case calendar.Problem != nil:
		return calendar.Problem.Message
	case c.spec.Suspend:
		return "suspended"
	case len(calendar.Upcoming) == 0:
		return "no next run"
	default:
		return "next run " + timeText(calendar.Upcoming[0])
	}
}

func ledgerRow(entry schedule.LedgerEntry) string {
	when := scheduledText(entry.Scheduled, entry.Manual)
	if entry.Times() > 1 {
		about := ""
		if entry.Estimated {
			about = "about "
		}
		when = fmt.Sprintf("%s to %s (%s%d times)", timeText(entry.Scheduled), timeText(entry.Until), about, entry.Times())
	}
	what := entry.Job
	if entry.Outcome != schedule.Started {
		what = entry.Reason
		if entry.Message != "" {
			what += ": " + entry.Message
		}
	}
	return fmt.Sprintf("| %s | %s | %s |\n", when, entry.Outcome, escape(truncate(what, maxSummary)))
}

func scheduledText(scheduled time.Time, manual bool) string {
	switch {
	case scheduled.IsZero():
		return "-"
	case manual:
		return timeText(scheduled) + " (trigger)"
	default:
		return timeText(scheduled)
	}
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// escape keeps text from being taken for markdown structure.
func escape(text string) string {
	return strings.NewReplacer("|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "\n", " ").Replace(text)
}
