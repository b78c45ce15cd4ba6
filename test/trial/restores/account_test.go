//go:build trial

package restores

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

// account is what became of the scheduled times of the CronJobs of one restore.
type account struct {
	namespace string
	count     int
	// records have all Jobs that were ever seen: the first until the restore, the second from then on. A watch does not go on
	// over a restore of etcd, whose revisions begin anew.
	records []*harness.Record
	// first and last are the scheduled times that are accounted for. CronJobs may have had some before.
	first, last time.Time
	// backup and restored are when the data was kept and when it was put back.
	backup, restored time.Time
	// forgets: Jobs that were created in between are gone.
	forgets bool
	// before and after are the ledgers, by CronJob, just before the restore and at the end.
	before, after map[string][]protocol.LedgerRow
}

func (a *account) watch(t *testing.T) {
	t.Helper()
	a.records = append(a.records, stack.Record(t, a.namespace))
}

// times are the scheduled times that are accounted for.
func (a *account) times() (all []time.Time) {
	for at := a.first; !at.After(a.last); at = at.Add(time.Minute) {
		all = append(all, at)
	}
	return all
}

// ledgers returns the ledgers of all CronJobs as they are now.
func (a *account) ledgers(t *testing.T) map[string][]protocol.LedgerRow {
	t.Helper()
	var mutex sync.Mutex
	ledgers := map[string][]protocol.LedgerRow{}
	var group errgroup.Group
	group.SetLimit(createdAtATime)
	for n := range a.count {
		group.Go(func() error {
			return harness.Poll(t.Context(), time.Second, accounted, func(ctx context.Context) error {
				rows, err := stack.Ledger(ctx, a.namespace, cronJobName(n))
				mutex.Lock()
				defer mutex.Unlock()
				ledgers[cronJobName(n)] = rows
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return ledgers
}

// settles reads the ledgers until nothing is wrong. It waits for times without a row, and then no more than a moment: a run may
// begin between two looks, but a wrong row does not get better.
func (a *account) settles(t *testing.T) {
	t.Helper()
	a.look(t, accounted, func() bool { return !a.untold() })
	a.look(t, harness.Late, func() bool { return len(a.mistakes()) == 0 })
}

// look reads the ledgers until they are good, for a time at most.
func (a *account) look(t *testing.T, within time.Duration, good func() bool) {
	t.Helper()
	for over := time.Now().Add(within); ; until(t, time.Now().Add(time.Second)) {
		a.after = a.ledgers(t)
		if good() || time.Now().After(over) {
			return
		}
	}
}

// untold reports whether a time has no row.
func (a *account) untold() bool {
	for n := range a.count {
		for _, at := range a.times() {
			if _, rows := a.rowOf(cronJobName(n), at); rows == 0 {
				return true
			}
		}
	}
	return false
}

// rowOf returns the row of a scheduled time, and how many it has. A workflow that begins anew has the rows of its data that was put
// back and those of the object's status, which are the newest. For a time before the restore that none of these covers, the ledger
// before the restore counts.
func (a *account) rowOf(cronJob string, at time.Time) (protocol.LedgerRow, int) {
	rows := a.after[cronJob]
	if at.Before(a.restored) && !slices.ContainsFunc(rows, func(row protocol.LedgerRow) bool { return !row.Manual && row.Covers(at) }) {
		rows = a.before[cronJob]
	}
	var whole, gapped []protocol.LedgerRow
	for _, row := range rows {
		switch {
		case row.Manual || !row.Covers(at):
		case row.Times() == int64(row.Last().Sub(row.Scheduled)/time.Minute)+1:
			whole = append(whole, row)
		default:
			// It leaves out some of its times, which other rows name.
			gapped = append(gapped, row)
		}
	}
	if len(whole) == 0 {
		whole = gapped
	}
	if len(whole) == 0 {
		return protocol.LedgerRow{}, 0
	}
	return whole[0], len(whole)
}

// tookNothing reports whether a restore that was to take Jobs has taken none: then nothing was put back.
func (a *account) tookNothing() bool {
	for n := range a.count {
		if _, lost := a.jobsOf(cronJobName(n)); len(lost) > 0 {
			return false
		}
	}
	return a.forgets
}

// mistakes are the times that ran twice, or have no row, or two, or one that the Jobs contradict.
func (a *account) mistakes() (all []string) {
	for n := range a.count {
		name := cronJobName(n)
		kept, lost := a.jobsOf(name)
		for _, at := range a.times() {
			wrong := func(format string, arguments ...any) {
				all = append(all, fmt.Sprintf("%s (%s) at %s ", name, kindOf(n), at.Format(time.TimeOnly))+fmt.Sprintf(format, arguments...))
			}
			if len(kept[at]) > 1 || len(lost[at]) > 1 {
				wrong("ran twice: %s; taken by the restore: %s", described(kept[at]), described(lost[at]))
			}
			row, rows := a.rowOf(name, at)
			ran := row.Outcome.HasJob()
			switch {
			case rows != 1:
				wrong("has %d rows: %s", rows, about(a.after[name], at))
			case !ran && len(kept[at]) > 0:
				wrong("has %s, and the row %s", described(kept[at]), told(row))
			case ran && len(kept[at])+len(lost[at]) == 0 && !a.forgets:
				// Where the API server begins anew, a Job may come and go unseen.
				wrong("has no Job, and the row %s", told(row))
			}
		}
	}
	return all
}

// summary counts what became of the times.
func (a *account) summary() string {
	outcomes, jobs, taken, again := map[string]int{}, 0, 0, 0
	for n := range a.count {
		name := cronJobName(n)
		kept, lost := a.jobsOf(name)
		for _, at := range a.times() {
			row, _ := a.rowOf(name, at)
			outcomes[strings.TrimSpace(string(row.Outcome)+" "+row.Reason)]++
			jobs += len(kept[at]) + len(lost[at])
			taken += len(lost[at])
			if len(kept[at]) > 0 && len(lost[at]) > 0 {
				again++
			}
		}
	}
	return fmt.Sprintf("%d CronJobs, %d times each from %s to %s: %d Jobs, %v; the restore has taken %d Jobs, and %d of their times ran again",
		a.count, len(a.times()), a.first.Format(time.TimeOnly), a.last.Format(time.TimeOnly), jobs, outcomes, taken, again)
}

// jobsOf returns all Jobs that a CronJob ever had, by scheduled time: those that the cluster knows or has deleted, and those
// that a restore of etcd has taken. The time of one that was taken may run once more: nothing in the cluster says that it has
// run, and neither the Job nor its Pods are there any more. No other time may.
func (a *account) jobsOf(cronJob string) (kept, lost map[time.Time][]*batchv1.Job) {
	kept, lost = map[time.Time][]*batchv1.Job{}, map[time.Time][]*batchv1.Job{}
	seen := map[types.UID]bool{}
	for n, record := range slices.Backward(a.records) {
		for at, jobs := range record.Scheduled(cronJob) {
			for _, job := range jobs {
				switch {
				case seen[job.UID]:
				case n == 0 && a.took(job):
					lost[at] = append(lost[at], job)
				default:
					kept[at] = append(kept[at], job)
				}
				seen[job.UID] = true
			}
		}
	}
	return kept, lost
}

// took reports whether the restore has taken a Job that was not seen after it: one that was created since the backup. Kubernetes
// says in whole seconds when that was. A Job of the very second of the backup was taken too, since none ends within a second.
func (a *account) took(job *batchv1.Job) bool {
	created := job.CreationTimestamp.Time
	return a.forgets && !created.Before(a.backup.Truncate(time.Second)) && created.Before(a.restored)
}

// described names Jobs, when they were created and how they ended.
func described(jobs []*batchv1.Job) string {
	var all []string
	for _, job := range jobs {
		ended := "no end was seen"
		if at := job.Status.CompletionTime; at != nil {
			ended = "complete at " + at.UTC().Format(time.TimeOnly)
		}
		all = append(all, fmt.Sprintf("%s %s, created at %s, %s", job.Name, job.UID, job.CreationTimestamp.UTC().Format(time.TimeOnly), ended))
	}
	return "[" + strings.Join(slices.Sorted(slices.Values(all)), "; ") + "]"
}

// about lists the rows around a time.
func about(rows []protocol.LedgerRow, at time.Time) string {
	const around = 2 * time.Minute
	var all []string
	for _, row := range rows {
		if !row.Last().Before(at.Add(-around)) && !row.Scheduled.After(at.Add(around)) {
			all = append(all, told(row))
		}
	}
	return "[" + strings.Join(all, "; ") + "]"
}

func told(row protocol.LedgerRow) string {
	text := fmt.Sprintf("%s %s %s", row.Scheduled.Format(time.TimeOnly), row.Outcome, row.Reason)
	if row.Times() > 1 {
		text += fmt.Sprintf(" (%d until %s)", row.Times(), row.Last().Format(time.TimeOnly))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", text, row.Job, row.Result))
}
