package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// activeRows bounds the table of active runs in the UI.
	activeRows = 20
	// recentRows bounds the table of recent outcomes in the UI.
	recentRows = 10
	// describedRows bounds the ledger in answers to the describe query.
	describedRows = 50
)

// describe answers the describe query.
func (c *runningCronJob) describe() (protocol.CronJobDescription, error) {
	triggers, backfills := slices.Clone(c.state.Triggers), []protocol.Backfill(nil)
	for index := range triggers {
		triggers[index].Asked = c.believed(triggers[index].Asked)
	}
	for _, backfill := range c.state.Backfills {
		backfill.Asked = c.believed(backfill.Asked)
		backfills = append(backfills, protocol.BackfillOf(backfill))
	}
	status := schedule.StatusOf(c.state, c.spec)
	if !c.options.CallerHeader {
		status = schedule.StatusClaimed(status)
	}
	return protocol.CronJobDescription{
		CronJob: c.reference, Spec: c.spec, Status: status, Ledger: c.lastRows(describedRows),
		Triggers: triggers, Backfills: backfills,
	}, nil
}

// believed returns who has asked for a run as this worker shows it. The state may be made up where people can start workflows.
func (c *runningCronJob) believed(asked ledger.Asked) ledger.Asked {
	if c.options.CallerHeader {
		return asked
	}
	return asked.Claimed()
}

// lastRows returns the last rows of the ledger as this worker shows them.
func (c *runningCronJob) lastRows(limit int) []ledger.Entry {
	rows := c.state.Rows()
	rows = slices.Clone(rows[max(len(rows)-limit, 0):])
	for index := range rows {
		rows[index].Asked = c.believed(rows[index].Asked)
	}
	return rows
}

// details renders the workflow's current details for the Temporal UI.
func (c *runningCronJob) details() string {
	var b strings.Builder
	b.WriteString(fmt.Sprintf("**%s** %s\n", escape(strings.TrimSpace(c.spec.Schedule+" "+ptr.Deref(c.spec.TimeZone, ""))), escape(c.nextText())))
	for _, backfill := range c.state.Backfills {
		b.WriteString(fmt.Sprintf("\nBackfill: %d of %d times to go, next %s\n", len(backfill.Times), backfill.Total, timeText(backfill.Times[0])))
	}
	if len(c.state.Active) > 0 {
		b.WriteString("\n| active job | scheduled |\n|---|---|\n")
		for _, run := range c.state.Active[:min(len(c.state.Active), activeRows)] {
			b.WriteString(fmt.Sprintf("| %s | %s |\n", escape(run.Name), scheduledText(run.Scheduled, run.Manual)))
		}
		b.WriteString(said("| and %d more | |\n", max(len(c.state.Active)-activeRows, 0)))
	}
	if rows := c.lastRows(recentRows); len(rows) > 0 {
		b.WriteString("\n| scheduled | outcome | result | took | job or reason |\n|---|---|---|---|---|\n")
		for _, entry := range slices.Backward(rows) {
			b.WriteString(ledgerRow(entry))
		}
	}
	return b.String()
}

func (c *runningCronJob) nextText() string {
	switch calendar := c.state.Calendar; {
	case c.spec.Deleting:
		return "is being deleted"
	case calendar.Problem != nil:
		return calendar.Problem.Message
	case c.spec.Suspend:
		return "suspended" + said(": %s", c.state.PausedWhy)
	case len(calendar.Upcoming) == 0:
		return "no next run"
	default:
		return "next run " + timeText(calendar.Upcoming[0])
	}
}

func ledgerRow(entry ledger.Entry) string {
	when := scheduledText(entry.Scheduled, entry.Manual)
	if entry.Times() > 1 {
		about := ""
		if entry.Estimated {
			about = "about "
		}
		when = fmt.Sprintf("%s to %s (%s%d times)", timeText(entry.Scheduled), timeText(entry.Until), about, entry.Times())
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
		when, escape(string(entry.Outcome)), escape(resultText(entry)), entry.Took(), escape(clip.Text(whatText(entry), maxSummary)))
}

// resultText says how a run has ended.
func resultText(entry ledger.Entry) string {
	text := string(entry.Result)
	if text == "" && entry.Outcome.HasJob() {
		return "running"
	}
	more := joined(", ", joined(" ", entry.ResultReason, entry.Stopped), said("%d failed attempts", max(entry.FailedAttempts, 0)))
	return clip.Text(text+said(" (%s)", more), maxSummary)
}

// whatText names the Job and says what kept it from starting, or from starting in time, and who has asked for it.
func whatText(entry ledger.Entry) string {
	return joined(": ", entry.Job, entry.Reason, entry.Message) + askedText(entry.Asked)
}

// askedText says who has asked for a run, and what he has changed.
func askedText(asked ledger.Asked) string {
	return said(" (%s)", joined(", ", said("by %s", ledger.Who(asked.User, asked.By)), said("with %s", asked.Changed)))
}

// said formats a value, and is empty for the zero value.
func said[Value comparable](format string, value Value) string {
	if value == *new(Value) {
		return ""
	}
	return fmt.Sprintf(format, value)
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

func scheduledText(scheduled time.Time, manual bool) string {
	switch {
	case scheduled.IsZero():
		return "-"
	case manual:
		return timeText(scheduled) + " (manual)"
	default:
		return timeText(scheduled)
	}
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var markdown = strings.NewReplacer("|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "\n", " ", "\r", " ")

// escape keeps text from being taken for markdown structure.
func escape(text string) string { return markdown.Replace(text) }

const (
	// pageRows is how many rows the ledger query answers with unless it says, maxPageRows how many at most.
	pageRows    = 50
	maxPageRows = 300
)

// ScheduledTimesMetric counts scheduled times and triggers by outcome. The SDK adds _total.
const ScheduledTimesMetric = "ostinato_cronjob_scheduled_times"

// ledger answers the ledger query.
func (c *runningCronJob) ledger(question protocol.LedgerQuestion) (protocol.LedgerPage, error) {
	asked := ledger.Question(question)
	if mistake := asked.Mistake(); mistake != "" {
		return protocol.LedgerPage{}, errors.New(mistake)
	}
	asked.Limit = min(cmp.Or(max(asked.Limit, 0), pageRows), maxPageRows)
	page := schedule.PageOf(c.state, asked)
	for index := range page.Rows {
		page.Rows[index].Asked = c.believed(page.Rows[index].Asked)
	}
	return page, nil
}

// tally counts the outcomes that are new. The SDK's handler counts nothing during a replay, so each counts once unless
// the workflow task that settled it is repeated.
func (c *runningCronJob) tally(ctx workflow.Context) {
	var tallies []ledger.Tally
	c.state, tallies = schedule.Tallied(c.state)
	for _, tally := range tallies {
		tags := map[string]string{"outcome": string(tally.Outcome)}
		workflow.GetMetricsHandler(ctx).WithTags(tags).Counter(ScheduledTimesMetric).Inc(tally.Times)
	}
}
