package failure

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/dev/harness/losetimers"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// nobodyFires is how long after its time a run with a lost timer is seen not to start by itself. The bridge, which
	// would notice, is away that long.
	nobodyFires = 10 * time.Second
	// pokedWithin is how long after its time the run has to start at the latest. The bridge has to take its lease and
	// notice: it calls a run overdue after 15 s and looks every 10 s.
	pokedWithin = time.Minute
)

// The timer of a CronJob is gone from Temporal's database. Nothing fires its run by itself; that of another CronJob, whose
// timer is there, starts in time. The bridge finds the run overdue and nudges the workflow: it starts within a minute, and
// the timer of the next run is there again.
func TestTimerLost(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	due := minuteAfter(preparations)
	until(t, due.Add(-preparations))
	for _, name := range []string{"lost", "kept"} {
		stack.AddCronJob(t, harness.NewCronJob(namespace, name, harness.Minutely, harness.JobSpec()))
	}
	killBridge(t)
	// It fails where the database has no timer of the workflow, before or after.
	err := stack.Stack.WithoutTemporal(t.Context(), func(data string) error {
		return losetimers.Of(t.Context(), data, harness.CronJobWorkflow(namespace, "lost"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if !time.Now().Before(due) {
		t.Fatalf("the preparations took until %s, too late for the run of %s", time.Now(), due)
	}
	ranOnce(t, record, "kept", due)
	until(t, due.Add(nobodyFires))
	if jobs := record.Scheduled("lost")[due.UTC()]; len(jobs) != 0 {
		t.Fatalf("%s was created at %s without a timer", jobs[0].Name, jobs[0].CreationTimestamp)
	}
	startBridge(t)

	created := ranOnce(t, record, "lost", due)
	late := created.Sub(due)
	t.Logf("started %s after its time", late)
	if late > pokedWithin {
		t.Errorf("the run started %s after its time, want %s at most", late, pokedWithin)
	}
	row, err := rowOf(t.Context(), namespace, "lost", due)
	if err != nil {
		t.Fatal(err)
	}
	if row.Outcome != ledger.Started || row.Job != record.Scheduled("lost")[due.UTC()][0].Name {
		t.Errorf("the ledger says %+v", row)
	}
	if row, err := rowOf(t.Context(), namespace, "kept", due); err != nil || row.Outcome != ledger.Started {
		t.Errorf("the ledger of the other says %+v (%v)", row, err)
	}
	// The timer of the next run is there again.
	next := due.Add(time.Minute)
	harness.Eventually(t, time.Until(next)+harness.Prompt, func(ctx context.Context) error {
		row, err := rowOf(ctx, namespace, "lost", next)
		if err != nil {
			return err
		}
		if row.Outcome != ledger.Started {
			return fmt.Errorf("the ledger says of the next run %+v", row)
		}
		return stack.JobHas(ctx, namespace, row.Job, batchv1.JobComplete)
	})
}

// rowOf returns what the ledger says of a scheduled time.
func rowOf(ctx context.Context, namespace, name string, scheduled time.Time) (protocol.LedgerRow, error) {
	rows, err := stack.Ledger(ctx, namespace, name)
	if err != nil {
		return protocol.LedgerRow{}, err
	}
	for _, row := range rows {
		if !row.Manual && row.Scheduled.Equal(scheduled) {
			return row, nil
		}
	}
	return protocol.LedgerRow{}, fmt.Errorf("the ledger of %s has no row for %s: %+v", name, scheduled, rows)
}
