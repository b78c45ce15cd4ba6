package workflows_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/workflows"
)

// failsSecond lets the second run fail.
func failsSecond(k *cronJobKube) func(protocol.JobInput) (job.Result, error) {
	return func(input protocol.JobInput) (job.Result, error) {
		result := job.Result{UID: input.Job.UID, Outcome: job.Complete, CompletionTime: k.environment.Now()}
		if len(k.children) != 2 {
			return result, nil
		}
		result = job.Result{UID: input.Job.UID, Outcome: job.Failed, Reason: "BackoffLimitExceeded", Failed: 7}
		return job.Result{}, temporal.NewApplicationErrorWithOptions("it failed", protocol.JobFailedErrorType, temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{result},
		})
	}
}

func TestTheUIShowsWhatBecameOfTheRuns(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{20 * time.Second, 20 * time.Second, time.Hour}
	k.ends = failsSecond(k)
	k.signal(4*time.Minute, protocol.TriggerSignal, protocol.SignalNote{Note: "a | b", By: "ada"})
	k.after(4*time.Minute+10*time.Second, func() {
		want := "**\\* \\* \\* \\* \\* UTC** next run 2126-01-02T10:04:00Z\n\n" +
			"| active job | scheduled |\n|---|---|\n| hello-82050362 | 2126-01-02T10:02:00Z |\n\n" +
			"| scheduled | outcome | result | took | job or reason |\n|---|---|---|---|---|\n" +
			"| 2126-01-02T10:03:30Z (manual) | SkippedOverlap |  |  | JobAlreadyActive: a \\| b (by ada (claimed)) |\n" +
			"| 2126-01-02T10:02:00Z | Started | running |  | hello-82050362 |\n" +
			"| 2126-01-02T10:01:00Z | Started | Failed (BackoffLimitExceeded, 7 failed attempts) | 20s | hello-82050361 |\n" +
			"| 2126-01-02T10:00:00Z | Started | Complete | 20s | hello-82050360 |\n"
		if got := k.details(); got != want {
			t.Errorf("details:\n%s\nwant:\n%s", got, want)
		}
	})
	k.runUntil(4*time.Minute+20*time.Second, cron("* * * * *", forbid))
	if status := k.status; status.ConsecutiveFailures != 1 || status.LastFailureTime == nil || status.RecentRuns[1].Result != "Failed" {
		t.Errorf("status: %+v", status)
	}
}

func TestTheLedgerQueryAnswersInPages(t *testing.T) {
	k := newCronJobKube(t)
	k.ends = failsSecond(k)
	k.after(59*time.Minute+50*time.Second, func() {
		if page := k.ledger(); len(page.Rows) != 50 || !page.Rows[0].Scheduled.Equal(cronStart.Add(59*time.Minute+30*time.Second)) {
			t.Errorf("without an argument: %d rows", len(page.Rows))
		}
		var question protocol.LedgerQuestion
		var sizes []string
		var last protocol.LedgerRow
		for question.Limit = 25; len(sizes) < 10; {
			page := k.ledger(question)
			sizes = append(sizes, fmt.Sprint(len(page.Rows)))
			last = page.Rows[len(page.Rows)-2]
			if question.Before = page.Before; page.Before == 0 {
				break
			}
		}
		expectList(t, "pages", sizes, "25", "25", "10")
		if last.Result != ledger.Failed || last.Duration != "20s" || last.FailedAttempts != 7 || last.Job != k.jobs[1].Name {
			t.Errorf("the second run: %+v", last)
		}
		if described := k.described().Ledger; len(described) != 50 {
			t.Errorf("described are %d", len(described))
		}
	})
	k.runUntil(time.Hour, cron("* * * * *", allow))
}

// TestTheLedgerQueryAnswersWhoHasSuspendedAndResumed: also a run that starts beside a write of the status tells.
func TestTheLedgerQueryAnswersWhoHasSuspendedAndResumed(t *testing.T) {
	for name, policy := range map[string]batchv1.ConcurrencyPolicy{"a status": allow, "a start with a status": forbid} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			suspended := cron("* * * * *", policy)
			suspended.Suspend, suspended.Generation = true, 2
			resumed := cron("* * * * *", policy)
			resumed.Generation = 3
			says := func(delay time.Duration, who string) {
				k.after(delay, func() {
					k.mutex.Lock()
					defer k.mutex.Unlock()
					k.suspender = who
				})
			}
			says(2*time.Minute, "by ada")
			k.signalSpec(2*time.Minute+10*time.Second, suspended)
			says(5*time.Minute, "by bob")
			k.signalSpec(5*time.Minute+10*time.Second, resumed)
			says(7*time.Minute, "")
			k.after(10*time.Minute, func() {
				page := k.ledger(protocol.LedgerQuestion{Limit: 1})
				if len(page.Suspensions) != 1 {
					t.Fatalf("suspensions %+v", page.Suspensions)
				}
				one := page.Suspensions[0]
				if one.Suspended != "by ada" || one.Resumed != "by bob" || one.To.Sub(one.From) != 3*time.Minute {
					t.Errorf("suspension %+v", one)
				}
			})
			k.runUntil(11*time.Minute, cron("* * * * *", policy))
		})
	}
}

func TestTheLedgerQueryAnswersByTime(t *testing.T) {
	k := newCronJobKube(t)
	k.after(10*time.Minute, func() {
		since := cronStart.Add(2*time.Minute + 30*time.Second)
		page := k.ledger(map[string]any{"since": since, "until": since.Add(3 * time.Minute), "limit": 3})
		if len(page.Rows) != 3 || !page.Rows[2].Scheduled.Equal(since.Add(time.Minute)) || page.Before == 0 {
			t.Errorf("page %+v", page)
		}
		page = k.ledger(map[string]any{"since": since, "until": since.Add(3 * time.Minute), "limit": 3, "before": page.Before})
		if len(page.Rows) != 1 || !page.Rows[0].Scheduled.Equal(since) || page.Before != 0 {
			t.Errorf("the page after it %+v", page)
		}
		for want, argument := range map[string]any{
			"is after until":   protocol.LedgerQuestion{Since: since, Until: cronStart},
			"unable to decode": map[string]any{"since": "monday"},
		} {
			if _, err := k.environment.QueryWorkflow(protocol.LedgerQuery, argument); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", argument, err, want)
			}
		}
	})
	k.runUntil(11*time.Minute, cron("* * * * *", allow))
}

// counters counts what a workflow counts, by outcome.
type counters struct {
	client.MetricsHandler
	outcome string
	mutex   *sync.Mutex
	counts  map[string]int64
}

func (c counters) WithTags(tags map[string]string) client.MetricsHandler {
	if outcome, ok := tags["outcome"]; ok {
		c.outcome = outcome
	}
	return c
}

func (c counters) Counter(name string) client.MetricsCounter {
	return counter(func(by int64) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if name == "ostinato_cronjob_scheduled_times" {
			c.counts[c.outcome] += by
		}
	})
}

type counter func(int64)

func (c counter) Inc(by int64) { c(by) }

func TestEachOutcomeIsCounted(t *testing.T) {
	metrics := counters{client.MetricsNopHandler, "", &sync.Mutex{}, map[string]int64{}}
	k := newCronJobKubeWith(t, metrics, workflows.Options{})
	k.runs = []time.Duration{150 * time.Second}
	k.runUntil(5*time.Minute+10*time.Second, cron("* * * * *", forbid))
	// The run of 10:02 starts half a minute later, when that of 10:00 has ended. 10:01 and 10:03 are skipped, 10:04 waits.
	want := map[string]int64{"Started": 2, "SkippedOverlap": 2}
	if !maps.Equal(metrics.counts, want) {
		t.Errorf("counted %v, want %v", metrics.counts, want)
	}
}
