package activities

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// When WatchPods sends what. The rules are pure: watchedJob and its methods take
// the time and do nothing but decide.
const (
	// signalInterval is the least time between two signals to a Job, except for
	// the fact that ends its last Pod.
	signalInterval = time.Second
	// readyDelay is how long readiness has to stay changed before it is projected.
	readyDelay = time.Second
	// readySettle is how long after a signal or a new Pod the workflow may yet
	// write an older readiness over a projected one.
	readySettle = 5 * time.Second
	// readySpread is the time over which the readiness of Jobs found at start is
	// projected.
	readySpread = 30 * time.Second
	// repeatInterval is after how long a Pod that ended and is still not released
	// is looked into again: its workflow may be gone.
	repeatInterval = 5 * time.Minute
)

// watchedJob is what the watch knows of one Job: its Pods, what its workflow has
// been told, and when.
type watchedJob struct {
	namespace, name, uid string
	pods                 map[string]*watchedPod // by UID
	lastSignal           time.Time
	ready                readiness
}

// watchedPod is one Pod of a Job.
type watchedPod struct {
	fact job.PodFact
	// restartable: restartPolicy OnFailure, so that restarts count.
	restartable bool
	// told is the last fact that the workflow took; a Pending Pod before that.
	told job.PodFact
	// toldAt is when it took it; zero before the first.
	toldAt time.Time
	// accounted Pods need no word: they had ended and were released when first
	// seen, or belong to a Job without a workflow.
	accounted bool
}

// readiness is what is known of a Job's status.ready.
type readiness struct {
	// shown is what the workflow was told or what was projected last.
	shown int32
	// since is when the Pods' readiness began to differ from shown, or when shown
	// began to be doubtful.
	since time.Time
	// doubtful is set when another writer may have written something else.
	doubtful bool
}

// decision is what is to be done for a Job now, and when to decide again.
type decision struct {
	// facts are to be sent; empty means no signal.
	facts []job.PodFact
	// verify asks to look at the Job before facts are sent again.
	verify bool
	// project asks to write ready.
	project bool
	ready   int32
	// again is when to decide again if nothing happens; zero means never.
	again time.Time
}

func newWatchedJob(namespace, name, uid string) *watchedJob {
	return &watchedJob{namespace: namespace, name: name, uid: uid, pods: map[string]*watchedPod{}}
}

// observe takes a Pod as it now is. initial tells the first list of a watch from
// what comes later.
func (w *watchedJob) observe(fact job.PodFact, restartable, initial bool, now time.Time) {
	pod, known := w.pods[fact.UID]
	if !known {
		pod = &watchedPod{
			told:      job.PodFact{Phase: corev1.PodPending},
			accounted: fact.Terminal() && !fact.Tracked,
		}
		w.pods[fact.UID] = pod
		switch {
		case initial:
			w.doubtReady(now.Add(spread(w.uid)))
		case w.ready.shown > 0:
			// A new Pod comes with a status, whose readiness may be older.
			w.doubtReady(now)
		}
	}
	pod.fact, pod.restartable = fact, restartable
}

// remove takes that a Pod no longer exists, or is not the Job's any more.
func (w *watchedJob) remove(uid string) {
	pod, known := w.pods[uid]
	if !known {
		return
	}
	if pod.accounted || pod.told.Terminal() {
		delete(w.pods, uid)
		return
	}
	pod.fact.Gone, pod.fact.Ready, pod.fact.Tracked = true, false, false
}

// decide says what to do now.
func (w *watchedJob) decide(now time.Time) decision {
	var result decision
	var news, ended, repeat bool
	var left, ready int32
	for _, pod := range w.pods {
		if pod.accounted {
			continue
		}
		if !pod.fact.Terminal() {
			left++
			if pod.fact.Ready && !pod.fact.Deleting {
				ready++
			}
		}
		switch {
		case pod.isNews():
			news = true
			ended = ended || pod.fact.Terminal()
			result.facts = append(result.facts, pod.fact)
		case pod.unreleased() && !now.Before(pod.toldAt.Add(repeatInterval)):
			repeat = true
			result.facts = append(result.facts, pod.fact)
		case pod.hasChanged():
			result.facts = append(result.facts, pod.fact)
		}
		if pod.unreleased() {
			result.again = earliest(result.again, pod.toldAt.Add(repeatInterval))
		}
	}
	result.verify = repeat
	due := w.lastSignal.Add(signalInterval)
	switch {
	case !news && !repeat:
		result.facts = nil
		w.decideReady(ready, left, now, &result)
	case ended && left == 0, !now.Before(due):
		slices.SortFunc(result.facts, func(a, b job.PodFact) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
		})
	default:
		result.facts, result.verify = nil, false
		result.again = due
	}
	return result
}

// decideReady projects readiness that has differed, or been doubtful, for long
// enough. A Job without a running Pod gets its readiness from the workflow's
// last status.
func (w *watchedJob) decideReady(ready, left int32, now time.Time, result *decision) {
	if left == 0 || ready == w.ready.shown && !w.ready.doubtful {
		w.ready.since, w.ready.doubtful = time.Time{}, false
		return
	}
	if w.ready.since.IsZero() {
		w.ready.since = now
	}
	if due := w.ready.since.Add(readyDelay); now.Before(due) {
		result.again = earliest(result.again, due)
		return
	}
	result.project, result.ready = true, ready
}

// told records that the workflow took facts.
func (w *watchedJob) told(facts []job.PodFact, now time.Time) {
	w.lastSignal = now
	for _, fact := range facts {
		pod, known := w.pods[fact.UID]
		if !known {
			continue
		}
		pod.told, pod.toldAt = fact, now
		if fact.Gone {
			delete(w.pods, fact.UID)
		}
	}
	w.ready.shown = 0
	for _, pod := range w.pods {
		if !pod.told.Terminal() && pod.told.Ready && !pod.told.Deleting {
			w.ready.shown++
		}
	}
	w.ready.since = time.Time{}
}

// projected records that ready was written, or that the Job did not take it: its
// status, with the active Pods in it, is then still to come.
func (w *watchedJob) projected(ready int32, taken bool, now time.Time) {
	w.ready = readiness{shown: ready}
	if !taken {
		w.doubtReady(now.Add(readySettle - readyDelay))
		return
	}
	if settled := w.lastSignal.Add(readySettle); now.Before(settled) {
		w.doubtReady(settled.Add(-readyDelay))
	}
}

// settle records that the Job has no workflow any more and its Pods were released.
func (w *watchedJob) settle() {
	for uid, pod := range w.pods {
		pod.accounted = true
		if pod.fact.Gone {
			delete(w.pods, uid)
		}
	}
}

// tracked lists the Pods that carry the tracking finalizer.
func (w *watchedJob) tracked() []job.PodFact {
	var facts []job.PodFact
	for _, pod := range w.pods {
		if pod.fact.Tracked && !pod.fact.Gone {
			facts = append(facts, pod.fact)
		}
	}
	return facts
}

func (w *watchedJob) doubtReady(since time.Time) {
	w.ready.doubtful, w.ready.since = true, since
}

// isNews reports whether the workflow has to hear of the Pod.
func (p *watchedPod) isNews() bool {
	switch {
	case p.told.Terminal():
		return false
	case p.fact.Terminal(), p.fact.Deleting && !p.told.Deleting:
		return true
	}
	return p.restartable && p.fact.Restarts > p.told.Restarts
}

// hasChanged reports whether the Pod is worth adding to a signal.
func (p *watchedPod) hasChanged() bool {
	return !p.told.Terminal() && (p.fact.Ready != p.told.Ready || p.fact.Restarts != p.told.Restarts)
}

// unreleased reports whether the workflow knows of the Pod's end and has not
// released it.
func (p *watchedPod) unreleased() bool {
	return p.told.Terminal() && p.fact.Tracked && !p.fact.Gone
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// spread returns a delay below readySpread that depends on the Job only.
func spread(uid string) time.Duration {
	hash := fnv.New32a()
	hash.Write([]byte(uid))
	return time.Duration(hash.Sum32()) % readySpread
}
