package podwatch

import (
	"cmp"
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// CompareInterval is the time between two rounds in which the numbers of Jobs are compared.
	CompareInterval = 2 * time.Second
	// Settling is how old a Pod is at least that a status should count: a status is written after the creates of its plan.
	Settling = 5 * time.Second
	// moreRounds and fewerRounds are how many rounds in a row find that more Pods run, or fewer are there, before that is told.
	moreRounds, fewerRounds = 2, 5
	// comparePause is the least time between two signals of a round.
	comparePause = 50 * time.Millisecond
	// firstPause and lastPause bound the time between two signals to a Job whose numbers stay different.
	firstPause, lastPause = 10 * time.Second, 30 * time.Minute
)

// Numbers are how many Pods of a Job there are: Running can run, are not being deleted and older than Settling; of Expected
// the Job's workflow has yet to hear something.
type Numbers struct{ Running, Expected int32 }

// Difference is what is known of the numbers of a Job and of its status, round by round. They stay different if a fact was lost: a
// Pod vanished while no watch ran, Temporal was restored, or a create landed after its caller had given up.
type Difference struct {
	rounds, told int
	last         time.Time
}

// Round takes in a round. tell says that the workflow is to list the Job's Pods. A Job whose numbers agree needs no Difference.
func (d *Difference) Round(n Numbers, status batchv1.JobStatus, now time.Time) (differs, tell bool) {
	more := n.Running > status.Active
	if differs = more || n.Expected < status.Active+ptr.Deref(status.Terminating, 0); !differs {
		*d = Difference{}
		return false, false
	}
	d.rounds++
	if tell = (d.rounds >= fewerRounds || more && d.rounds >= moreRounds) && !now.Before(d.last.Add(d.pause())); tell {
		d.told, d.last = d.told+1, now
	}
	return true, tell
}

// pause is the time until the workflow may be told again.
func (d *Difference) pause() time.Duration {
	if d.told == 0 {
		return 0
	}
	return min(firstPause<<min(d.told-1, 16), lastPause)
}

// numbers counts the Job's Pods.
func (w *watchedJob) numbers(now time.Time) (n Numbers) {
	for _, pod := range w.pods {
		if pod.state == stateSettled {
			continue
		}
		n.Expected++
		if pod.isLeft() && !pod.fact.Deleting && now.Sub(pod.since) >= Settling {
			n.Running++
		}
	}
	return n
}

// compare tells workflows, at most 20 a second, that the numbers of their Jobs differ.
func (w *Watcher) compare(ctx context.Context) {
	ticker := w.Clock.NewTicker(CompareInterval)
	defer ticker.Stop()
	differing := map[jobKey]*Difference{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		var tell []*batchv1.Job
		differing, tell = w.round(differing)
		for _, of := range tell {
			w.tellDiffering(ctx, of)
			select {
			case <-ctx.Done():
				return
			case <-w.Clock.After(comparePause):
			}
		}
	}
}

// round compares the numbers of all Jobs. It returns the Jobs with a difference, and which of their workflows to tell.
func (w *Watcher) round(before map[jobKey]*Difference) (differing map[jobKey]*Difference, tell []*batchv1.Job) {
	differing = map[jobKey]*Difference{}
	now := w.Clock.Now()
	for found := range w.Jobs() {
		if !w.compares(found) {
			continue
		}
		of := jobKey{found.Namespace, found.Name, found.UID}
		one := before[of]
		if one == nil {
			one = &Difference{}
		}
		numbers, watched := w.numbersOf(of, now)
		if !watched {
			continue
		}
		differs, due := one.Round(numbers, found.Status, now)
		if differs {
			differing[of] = one
		}
		if due {
			tell = append(tell, found)
		}
	}
	return differing, tell
}

// compares reports whether a Job of this shard has a workflow that has begun and is to count its Pods, or has counted them.
func (w *Watcher) compares(found *batchv1.Job) bool {
	return names.InShard(string(found.UID), w.Shard, w.Shards) && claim.Ours(found, w.TakeOverJobs) && job.HasStatus(found.Status)
}

// numbersOf counts the Pods of a Job; watched is false while its namespace's can't be watched.
func (w *Watcher) numbersOf(of jobKey, now time.Time) (n Numbers, watched bool) {
	w.change(func(time.Time) {
		listing := cmp.Or(w.listings[of.namespace], w.listings[metav1.NamespaceAll])
		watched = listing != nil && listing.held == nil && listing.since.IsZero()
		if job := w.jobs[of]; job != nil {
			n = job.numbers(now)
		}
	})
	return n, watched
}

// tellDiffering has the Job's workflow list the Pods. Those of a Job that has finished are ended here.
func (w *Watcher) tellDiffering(ctx context.Context, found *batchv1.Job) {
	ctx, cancel := context.WithTimeout(ctx, serveTimeout)
	defer cancel()
	of := jobKey{found.Namespace, found.Name, found.UID}
	if claim.Finished(found) != nil {
		w.endLeftOver(ctx, of)
		return
	}
	err := w.signal(ctx, of, protocol.PodFacts{Differ: true})
	w.Logger.Info("The Job's status counts other Pods than there are", "namespace", of.namespace, "name", of.name, "error", err)
}
