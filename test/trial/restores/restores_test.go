//go:build trial

// Package restores puts the data of Temporal, and that of etcd, back by minutes while many CronJobs are due, and counts in the
// end: a trial (make trial-restores), since it fills most of an hour.
package restores

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
)

const (
	// createdAtATime is how many requests create or ask at a time.
	createdAtATime = 16
	// beforeBackup is for how long runs are due before a backup, at least.
	beforeBackup = 30 * time.Second
	// accounted bounds how long workflows take to find what a restore has taken from them, and to say what became of each time.
	accounted = harness.AfterOutage + harness.Recovery + 3*harness.Bulk
)

// runs are how long the Pods of a CronJob run, in seconds: some are still there when the next time comes.
var runs = []int{1, 5, 20, 50, 80}

// policy says which runs start, and which wait.
type policy struct {
	name string
	set  func(*ostinatov1.CronJobSpec)
}

var policies = []policy{
	{"Allow", func(spec *ostinatov1.CronJobSpec) { spec.ConcurrencyPolicy = batchv1.AllowConcurrent }},
	{"Forbid", func(spec *ostinatov1.CronJobSpec) { spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }},
	{"Replace", func(spec *ostinatov1.CronJobSpec) { spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent }},
	{"Queue", func(spec *ostinatov1.CronJobSpec) { spec.ConcurrencyPolicy = ostinatov1.QueueConcurrent }},
	{"Queue of 2", func(spec *ostinatov1.CronJobSpec) {
		spec.ConcurrencyPolicy = ostinatov1.QueueConcurrent
		spec.QueueLimit = ptr.To[int32](2)
	}},
	{"maxConcurrent 2", func(spec *ostinatov1.CronJobSpec) { spec.MaxConcurrent = ptr.To[int32](2) }},
	{"catchUp all", func(spec *ostinatov1.CronJobSpec) { spec.CatchUp = ostinatov1.CatchUpAll }},
	{"Forbid, catchUp all", func(spec *ostinatov1.CronJobSpec) {
		spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		spec.CatchUp = ostinatov1.CatchUpAll
	}},
	{"Forbid, catchUp none", func(spec *ostinatov1.CronJobSpec) {
		spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		spec.CatchUp = ostinatov1.CatchUpNone
	}},
}

// kindOf says what the n-th CronJob is.
func kindOf(n int) string {
	kind := fmt.Sprintf("%s, runs of %d s", policies[n%len(policies)].name, runs[n%len(runs)])
	if forgetful(n) {
		kind += ", keeps no Job"
	}
	return kind
}

// forgetful reports whether the n-th CronJob keeps no Job that has ended, so that nothing but the accounts keeps a run from
// being made again: a third of each policy are.
func forgetful(n int) bool { return n/len(policies)%3 == 0 }

// restore is one: of what, by how much, and how its data is kept and put back.
type restore struct {
	what          string
	by            time.Duration
	keep, putBack func(ctx context.Context, folder string) error
	// forgets: what is put back is the cluster itself, whose Jobs since the backup are gone.
	forgets bool
}

// No time runs twice and each has one row, although Temporal remembers minutes less than the cluster, or the cluster minutes
// less than Temporal. Each restore has CronJobs of its own, and an account.
func TestRestores(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat this with -args -restores.seed=%d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	for _, by := range spans(t, *temporalFlag, "1m,5m,20m", "1m") {
		put(t, random, restore{what: "Temporal", by: by, keep: stack.Stack.BackUpTemporal, putBack: stack.Stack.RestoreTemporal})
	}
	for _, by := range spans(t, *etcdFlag, "5m", "1m") {
		put(t, random, restore{what: "etcd", by: by, keep: stack.Stack.ControlPlane.BackUpEtcd, putBack: stack.Stack.RestoreEtcd, forgets: true})
	}
}

// put lets CronJobs run, keeps the data, lets them run on, puts it back and accounts for all that was due. Both moments are drawn.
func put(t *testing.T, random *rand.Rand, restore restore) {
	t.Run(fmt.Sprintf("%s by %s", restore.what, restore.by), func(t *testing.T) {
		within := func(span time.Duration) time.Duration { return time.Duration(random.Int64N(int64(span))) }
		a := &account{namespace: stack.Namespace(t), count: count(), forgets: restore.forgets}
		a.watch(t)
		create(t, a)
		a.first = time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
		until(t, a.first.Add(beforeBackup+within(time.Minute)))

		folder := filepath.Join(t.TempDir(), "data")
		a.backup = time.Now().UTC()
		if err := restore.keep(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: the data of %s is kept, in %s", a.backup.Format(time.TimeOnly), restore.what, time.Since(a.backup).Round(time.Millisecond))
		until(t, a.backup.Add(restore.by))
		a.before = a.ledgers(t)
		until(t, a.backup.Add(restore.by+within(time.Minute/2)))

		a.restored = time.Now().UTC()
		if err := restore.putBack(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: the data of %s is back, in %s", a.restored.Format(time.TimeOnly), restore.what, time.Since(a.restored).Round(time.Millisecond))
		a.watch(t)
		until(t, time.Now().Add(*afterFlag))
		a.last = time.Now().UTC().Add(-harness.Late).Truncate(time.Minute)
		a.settles(t)
		for _, mistake := range a.mistakes() {
			t.Error(mistake)
		}
		if a.tookNothing() {
			t.Errorf("no Job of the time since the backup is gone: the data of %s was not put back", restore.what)
		}
		t.Log(a.summary())
	})
}

// create creates the CronJobs and waits until their workflows know them.
func create(t *testing.T, a *account) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(createdAtATime)
	for n := range a.count {
		cronJob := harness.NewCronJob(a.namespace, cronJobName(n), harness.Minutely, harness.JobSpec(harness.RunSeconds(runs[n%len(runs)])))
		cronJob.Spec.TimeZone = ptr.To("Etc/UTC")
		policies[n%len(policies)].set(&cronJob.Spec)
		if forgetful(n) {
			cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To[int32](0)
		}
		group.Go(func() error {
			_, err := stack.CronJobs.CronJobs(a.namespace).Create(t.Context(), cronJob, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for n := range a.count {
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.Observed(ctx, a.namespace, cronJobName(n)) })
	}
}

// until waits for a point in time. A bridge that has ended meanwhile is started again.
func until(t *testing.T, at time.Time) {
	t.Helper()
	for {
		if err := stack.ReviveBridge(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := time.Until(at)
		if left <= 0 {
			return
		}
		select {
		case <-time.After(min(left, time.Second)):
		case <-t.Context().Done():
			t.Fatal("the test was stopped")
		}
	}
}
