package answer_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/ledger"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

func clock() answer.Clock { return answer.Clock{Now: now, Zone: time.UTC} }

// at is a time of the day of now.
func at(hour, minute int) time.Time { return time.Date(2026, 3, 2, hour, minute, 0, 0, time.UTC) }

func stamp(t time.Time) metav1.Time { return metav1.NewTime(t) }

// report is a CronJob that is due at two each day, created in February.
func report() *ostinatov1.CronJob {
	cronJob := &ostinatov1.CronJob{}
	cronJob.Namespace, cronJob.Name = "shop", "report"
	cronJob.CreationTimestamp = stamp(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	cronJob.Spec.Schedule, cronJob.Spec.TimeZone = "0 2 * * *", ptr.To("UTC")
	cronJob.Status.AccountedUntil = ptr.To(stamp(at(2, 0)))
	cronJob.Status.NextScheduleTime = ptr.To(stamp(at(2, 0).AddDate(0, 0, 1)))
	return cronJob
}

// ran is a row of a run of two o'clock that was created then.
func ran(result string, after time.Duration) ostinatov1.RecentRun {
	row := ostinatov1.RecentRun{
		ScheduledTime: stamp(at(2, 0)), Outcome: string(ledger.Started), JobName: "report-29541720", StartTime: ptr.To(stamp(at(2, 0))), Result: result,
	}
	if result != "" {
		row.EndTime = ptr.To(stamp(at(2, 0).Add(after)))
	}
	return row
}

// Every outcome with every reason has its paragraph: what a reason says in words is decided here and in no other place.
func TestWhyHasWordsForEveryOutcomeAndReason(t *testing.T) {
	var texts strings.Builder
	for _, outcome := range ledger.Outcomes {
		for _, reason := range append([]string{""}, ledger.Reasons...) {
			if outcome == ledger.Started && reason != "" {
				break // it has none
			}
			row := ostinatov1.RecentRun{ScheduledTime: stamp(at(2, 0)), Outcome: string(outcome), Reason: reason}
			if outcome.HasJob() {
				row = ran("Complete", 90*time.Second)
				row.Outcome, row.Reason = string(outcome), reason
			}
			said := answer.Why(clock(), report(), answer.Ledger{Rows: []ostinatov1.RecentRun{row}}, at(2, 0))
			assert.Equal(t, outcome.HasJob(), said.Ran, "%s", outcome)
			fmt.Fprintf(&texts, "%s %s\n    %s\n", outcome, reason, said.Text)
		}
	}
	golden(t, "testdata/outcomes.txt", texts.String())
	for _, reason := range ledger.Reasons {
		assert.NotContains(t, texts.String(), "since "+reason+".", "a reason without words")
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./cmd/ostinato/internal/answer -update writes %s", file)
}

// suspensions are two: one a month ago, one that ended a while ago.
func suspensions() []ledger.Suspension {
	return []ledger.Suspension{
		{From: at(10, 0).AddDate(0, -1, 0), To: at(10, 0).AddDate(0, -1, 2), Resumed: "by bob (claimed) at 2026-02-04T10:00:00Z through ostinato"},
		{From: at(1, 0).AddDate(0, 0, -2), To: at(3, 0), Suspended: "by ada@example.com at 2026-02-28T01:00:00Z through kubectl-edit: an upgrade"},
	}
}

func TestWhy(t *testing.T) {
	for name, test := range map[string]struct {
		edit   func(*ostinatov1.CronJob)
		ledger answer.Ledger
		at     time.Time
		want   string
	}{
		"a run that completed": {
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{ran("Complete", 90*time.Second)}}, at: at(2, 0),
			want: "Yes: Job report-29541720 was created at 2026-03-02 02:00:00 UTC, and completed after 1m30s.\n",
		},
		"a run that failed": {
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{func() ostinatov1.RecentRun {
				row := ran("Failed", time.Hour)
				row.ResultReason, row.FailedAttempts = "BackoffLimitExceeded", 7
				return row
			}()}}, at: at(2, 0),
			want: "Yes: Job report-29541720 was created at 2026-03-02 02:00:00 UTC, and failed after 1h (BackoffLimitExceeded); 7 of its Pods failed. " +
				"Its last words: ostinato logs report --run report-29541720\n",
		},
		"a time before the CronJob": {
			at: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC),
			want: "No. The CronJob was created at 2026-02-01 00:00:00 UTC, after that time. An earlier CronJob of this name would have had a ledger " +
				"of its own, which went with it.\n",
		},
		"a time that is to come": {
			at:   at(2, 0).AddDate(0, 0, 1),
			want: "Not yet: 2026-03-03 02:00:00 UTC is in 16h30m. The next run is due at 2026-03-03 02:00:00 UTC, in 16h30m.\n",
		},
		"a time that is to come, suspended": {
			edit: func(cronJob *ostinatov1.CronJob) {
				cronJob.Spec.Suspend = ptr.To(true)
				cronJob.Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionSuspended, Status: "True", Message: "by ada through ostinato: an upgrade"}}
			},
			at: at(2, 0).AddDate(0, 0, 1),
			want: "Not yet: 2026-03-03 02:00:00 UTC is in 16h30m. The CronJob is suspended, so no scheduled run starts. by ada through ostinato: an upgrade. " +
				"To resume it: ostinato resume report\n",
		},
		"a time that is due while the workflow is paused in Temporal": {
			edit: func(cronJob *ostinatov1.CronJob) {
				cronJob.Status.Conditions = []metav1.Condition{{
					Type: ostinatov1.ConditionWorkflowPaused, Status: "True", LastTransitionTime: stamp(at(1, 0)), Message: "The workflow is paused in Temporal",
				}}
				cronJob.Status.NextScheduleTime, cronJob.Status.AccountedUntil = ptr.To(stamp(at(2, 0))), nil
			},
			at: at(2, 0),
			want: "Not decided yet: the times up to none have their outcomes. Nothing starts since 2026-03-02 01:00:00 UTC: " +
				"The workflow is paused in Temporal.\n",
		},
		"a time during a suspension": {
			ledger: answer.Ledger{
				Rows: []ostinatov1.RecentRun{{
					ScheduledTime: stamp(at(2, 0).AddDate(0, 0, -2)), Until: ptr.To(stamp(at(2, 0))), Count: 3, Outcome: string(ledger.SkippedSuspended),
					Reason: ledger.ReasonSuspended,
				}},
				Suspensions: suspensions(),
			},
			at: at(2, 0).AddDate(0, 0, -1),
			want: "No: the time was skipped, since the CronJob was suspended. The same holds for 3 times from 2026-02-28 02:00:00 UTC to 2026-03-02 02:00:00 UTC. " +
				"Suspended by ada@example.com at 2026-02-28T01:00:00Z through kubectl-edit: an upgrade; resumed at 2026-03-02 03:00:00 UTC. " +
				"To run it after all: ostinato backfill report 2026-03-01T02:00:00Z\n",
		},
		"a time during a suspension whose row has gone": {
			edit:   func(cronJob *ostinatov1.CronJob) { cronJob.CreationTimestamp = stamp(at(2, 0).AddDate(-1, 0, 0)) },
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{ran("Complete", time.Minute)}, Suspensions: suspensions()},
			at:     at(2, 0).AddDate(0, -1, 1),
			want: "Not known here: the rows that were read begin at 2026-03-02 02:00:00 UTC. " +
				"Suspended at 2026-02-02 10:00:00 UTC; resumed by bob (claimed) at 2026-02-04T10:00:00Z through ostinato.\n",
		},
		"a run that was asked for during a suspension": {
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{ran("Complete", 90*time.Second)}, Suspensions: suspensions()}, at: at(2, 0),
			want: "Yes: Job report-29541720 was created at 2026-03-02 02:00:00 UTC, and completed after 1m30s.\n",
		},
		"a time that the schedule does not name": {
			at:   at(3, 15),
			want: "No: the schedule, as it is now, names no run at that time. The nearest are 2026-03-02 02:00:00 UTC and 2026-03-03 02:00:00 UTC.\n",
		},
		"a schedule that can't be read": {
			edit: func(cronJob *ostinatov1.CronJob) { cronJob.Spec.Schedule = "every night" },
			at:   at(2, 0),
			want: `No run can start: unparseable schedule: "every night" : expected exactly 5 fields, found 2: [every night]. Correct spec.schedule or spec.timeZone.` + "\n",
		},
		"a time whose row could not be read": {
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{ran("Complete", time.Minute)}, Unseen: "Temporal could not be asked."}, at: at(2, 0).AddDate(0, 0, -7),
			want: "Not known here: the rows that were read begin at 2026-03-02 02:00:00 UTC. Temporal could not be asked.\n",
		},
		"a time without an outcome": {
			edit: func(cronJob *ostinatov1.CronJob) {
				cronJob.Status.AccountedUntil = ptr.To(stamp(at(2, 0).AddDate(0, 0, -1)))
			},
			at:   at(2, 0),
			want: "Not decided yet: the times up to 2026-03-01 02:00:00 UTC have their outcomes. The next run is due at 2026-03-03 02:00:00 UTC, in 16h30m.\n",
		},
		"a time within a stretch": {
			edit: func(cronJob *ostinatov1.CronJob) { cronJob.Spec.Schedule = "0 * * * *" },
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{{
				ScheduledTime: stamp(at(1, 0)), Until: ptr.To(stamp(at(4, 0))), Count: 4, Outcome: string(ledger.SkippedSuspended), Reason: ledger.ReasonSuspended,
			}}}, at: at(2, 0),
			want: "No: the time was skipped, since the CronJob was suspended. The same holds for 4 times from 2026-03-02 01:00:00 UTC to 2026-03-02 04:00:00 UTC. " +
				"To run it after all: ostinato backfill report 2026-03-02T02:00:00Z\n",
		},
		"a message that moves the cursor": {
			ledger: answer.Ledger{Rows: []ostinatov1.RecentRun{{
				ScheduledTime: stamp(at(2, 0)), Outcome: string(ledger.FailedToCreate), Reason: ledger.Forbidden, Message: "no\x1b[2Jquota\r\n\u202e",
			}}}, at: at(2, 0),
			want: "No: the Job could not be created, since the API server forbade it: a quota, an admission policy or a missing right. no[2Jquota  . " +
				"Correct what the message says; the next run is tried anew.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := report()
			if test.edit != nil {
				test.edit(cronJob)
			}
			assert.Equal(t, test.want, answer.Why(clock(), cronJob, test.ledger, test.at).Text+"\n")
		})
	}
}
