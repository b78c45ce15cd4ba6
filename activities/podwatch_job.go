package activities

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

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
	// write a number of active Pods below a projected readiness, and so lower it.
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
//
// A Job may have thousands of Pods and a decision is due with every change of one,
// so what a decision needs is kept with every change (update) and not counted anew.
type watchedJob struct {
	namespace, name, uid string
	// selector is the Job's; nil as long as nothing depended on it.
	selector   labels.Selector
	pods       map[string]*watchedPod // by UID
	lastSignal time.Time
	ready      readiness

	// left and running count the Pods that can still run, and those of them that are
	// ready.
	left, running int32
	// news, changed, missing and unreleased are the Pods that the methods of watchedPod
	// of the same names select.
	news, changed, missing, unreleased podSet
	// repeatDue is no later than the first time at which an unreleased Pod is to be
	// looked into again.
	repeatDue time.Time
}

// readiness is what is known of a Job's status.ready.
type readiness struct {
	// shown is what was projected last, 0 for a Job without Pods that can run.
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
	// look are Pods to be looked up.
	look []job.PodFact
	// verify asks to look at the Job before facts are sent again.
	verify bool
	// project asks to write ready.
	project bool
	ready   int32
	// again is when to decide again if nothing happens; zero means never.
	again time.Time
}

func newWatchedJob(namespace, name, uid string) *watchedJob {
	return &watchedJob{
		namespace: namespace, name: name, uid: uid,
		pods: map[string]*watchedPod{}, news: podSet{}, changed: podSet{}, missing: podSet{}, unreleased: podSet{},
	}
}

// update changes what is known of a Pod and what follows from it for the Job.
func (w *watchedJob) update(pod *watchedPod, change func()) {
	w.count(pod, -1)
	change()
	w.count(pod, 1)
	w.news.keep(pod, pod.isNews())
	w.changed.keep(pod, pod.hasChanged())
	w.missing.keep(pod, pod.isMissing())
	w.unreleased.keep(pod, pod.isUnreleased())
	if pod.isUnreleased() {
		w.repeatDue = earliest(w.repeatDue, pod.told.at.Add(repeatInterval))
	}
}

func (w *watchedJob) count(pod *watchedPod, sign int32) {
	if pod.accounted || over(pod.fact) {
		return
	}
	w.left += sign
	if isReady(pod.fact) {
		w.running += sign
	}
}

func (w *watchedJob) forget(pod *watchedPod) {
	w.update(pod, func() { *pod = watchedPod{fact: job.PodFact{UID: pod.fact.UID}, accounted: true} })
	delete(w.pods, pod.fact.UID)
}

// observe takes a Pod as it now is. initial tells the first list of a watch from
// what comes later; belongs says whether the Pod's labels match the Job's selector,
// as far as is known.
func (w *watchedJob) observe(fact job.PodFact, restartable, initial, belongs bool, now time.Time) {
	pod, known := w.pods[fact.UID]
	if !known {
		pod = &watchedPod{fact: job.PodFact{UID: fact.UID}, accounted: true}
		w.pods[fact.UID] = pod
		switch {
		case initial:
			w.doubtReady(now.Add(spread(w.uid)))
		case w.ready.shown > 0:
			// A new Pod comes with a status, which may lower readiness.
			w.doubtReady(now)
		}
	}
	w.update(pod, func() {
		if !known {
			pod.accounted = fact.Ended() && !fact.Tracked
		}
		pod.fact, pod.restartable, pod.absent, pod.unseen = fact, restartable, !belongs, false
	})
}

// introduce takes that the workflow may not know of a Pod.
func (w *watchedJob) introduce(uid string) {
	if pod, known := w.pods[uid]; known {
		w.update(pod, func() { pod.unknown = true })
	}
}

// remove takes that a Pod has left the watch's sight. It may be gone, but not so
// when its labels were changed, or its controller (exists): then it is looked up. A
// Pod whose deletion was under way is gone.
func (w *watchedJob) remove(uid string, exists bool) {
	pod, known := w.pods[uid]
	switch {
	case !known:
	case pod.accounted, pod.told.over:
		w.forget(pod)
	case pod.fact.Disowned:
	case pod.fact.Deleting && !exists:
		w.vanish(pod)
	default:
		w.update(pod, func() { pod.absent = true })
	}
}

func (w *watchedJob) vanish(pod *watchedPod) {
	w.update(pod, func() {
		pod.fact.Gone, pod.fact.Ready, pod.fact.Tracked, pod.absent = true, false, false, false
	})
}

// lookedUp returns the Pod that an answer of the API server is about; nil when it is
// not asked for any more, since the watch has seen it in the meantime.
func (w *watchedJob) lookedUp(uid string) *watchedPod {
	if pod := w.pods[uid]; pod != nil && pod.absent {
		return pod
	}
	return nil
}

// gone takes that a Pod that was looked up no longer exists.
func (w *watchedJob) gone(uid string) {
	if pod := w.lookedUp(uid); pod != nil {
		w.vanish(pod)
	}
}

// disown takes that a Pod that was looked up exists and is not the Job's any more.
func (w *watchedJob) disown(uid string) {
	if pod := w.lookedUp(uid); pod != nil {
		w.update(pod, func() {
			pod.fact.Disowned, pod.fact.Ready, pod.fact.Tracked, pod.absent = true, false, false, false
		})
	}
}

// found takes a Pod that was looked up and is the Job's. The watch may have seen more
// of it in the meantime. unseen says that the watch will not hear of it again.
func (w *watchedJob) found(fact job.PodFact, unseen bool) {
	if pod := w.lookedUp(fact.UID); pod != nil {
		if fact.Version < pod.fact.Version {
			fact = pod.fact
		}
		w.update(pod, func() { pod.fact, pod.absent, pod.unseen = fact, false, unseen })
	}
}

// lookups is how many Pods are looked up for one decision.
const lookups = 100

// decide says what to do now.
func (w *watchedJob) decide(now time.Time) decision {
	var result decision
	for _, pod := range w.missing {
		if len(result.look) == lookups {
			break
		}
		result.look = append(result.look, pod.fact)
	}
	repeats := w.repeats(now)
	if len(w.unreleased) > 0 {
		result.again = w.repeatDue
	}
	due := w.lastSignal.Add(signalInterval)
	switch {
	case len(w.news) == 0 && len(repeats) == 0:
		w.decideReady(now, &result)
	case !now.Before(due), w.left == 0 && w.hasEnd():
		result.facts, result.verify = w.collect(repeats), len(repeats) > 0
	default:
		result.again = due
		w.decideReady(now, &result)
	}
	return result
}

// repeats returns the Pods that are to be looked into again.
func (w *watchedJob) repeats(now time.Time) []*watchedPod {
	if len(w.unreleased) == 0 || now.Before(w.repeatDue) {
		return nil
	}
	var repeats []*watchedPod
	w.repeatDue = time.Time{}
	for _, pod := range w.unreleased {
		due := pod.told.at.Add(repeatInterval)
		w.repeatDue = earliest(w.repeatDue, due)
		if !now.Before(due) {
			repeats = append(repeats, pod)
		}
	}
	return repeats
}

// hasEnd reports whether the end of a Pod is among the news.
func (w *watchedJob) hasEnd() bool {
	for _, pod := range w.news {
		if over(pod.fact) {
			return true
		}
	}
	return false
}

// collect returns the facts for a signal: what has to be said, and what is worth
// adding, each Pod once, in the order of their names.
func (w *watchedJob) collect(repeats []*watchedPod) []job.PodFact {
	facts := make([]job.PodFact, 0, len(w.news)+len(w.changed)+len(repeats))
	for _, pod := range w.news {
		facts = append(facts, pod.fact)
	}
	for uid, pod := range w.changed {
		if w.news[uid] == nil {
			facts = append(facts, pod.fact)
		}
	}
	for _, pod := range repeats {
		facts = append(facts, pod.fact)
	}
	slices.SortFunc(facts, func(a, b job.PodFact) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	})
	return facts
}

// decideReady projects readiness that has differed, or been doubtful, for long
// enough. Of a Job without active Pods the workflow's status says 0.
func (w *watchedJob) decideReady(now time.Time, result *decision) {
	switch {
	case w.left == 0:
		w.ready = readiness{}
		return
	case w.running == w.ready.shown && !w.ready.doubtful:
		w.ready.since = time.Time{}
		return
	}
	if w.ready.since.IsZero() {
		w.ready.since = now
	}
	if due := w.ready.since.Add(readyDelay); now.Before(due) {
		result.again = earliest(result.again, due)
		return
	}
	result.project, result.ready = true, w.running
}

// told records that the workflow took facts.
func (w *watchedJob) told(facts []job.PodFact, now time.Time) {
	w.lastSignal = now
	for _, fact := range facts {
		pod, known := w.pods[fact.UID]
		if !known {
			continue
		}
		w.update(pod, func() {
			pod.unknown = false
			pod.told = toldPod{
				at: now, over: over(fact), deleting: fact.Deleting,
				ready: isReady(fact) && !over(fact), restarts: fact.Restarts,
			}
		})
		if fact.Gone || fact.Disowned || pod.told.over && (pod.absent || pod.unseen) {
			w.forget(pod)
		}
	}
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

// settle records that nobody is to be told of the Job's Pods: it has no workflow
// any more and its Pods were released, or it is another controller's.
func (w *watchedJob) settle() {
	for _, pod := range w.pods {
		if pod.fact.Gone || pod.fact.Disowned || pod.absent || pod.unseen {
			w.forget(pod)
			continue
		}
		w.update(pod, func() { pod.accounted = true })
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
