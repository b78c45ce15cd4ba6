package podwatch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
)

// When what is sent. The rules are pure: watchedJob and its methods take the time and do nothing but decide.
const (
	signalInterval = time.Second // the least time between two signals to a Job, except for the fact that ends its last Pod
	lookups        = 100         // how many Pods are looked up for one decision
	// repeatInterval is after how long a Pod that ended and is still not released is looked into again: its workflow may be gone.
	repeatInterval = 5 * time.Minute
)

// jobKey names a Job as the controller references of its Pods do. The maker of a Pod writes its reference: by the UID
// alone a Pod could speak for a Job of another namespace.
type jobKey struct {
	namespace, name string
	uid             types.UID
}

// watchedJob is what the watch knows of one Job: its Pods, what its workflow has been told, and when. A Job may have
// thousands of Pods and every change of one calls for a decision, so each change updates what a decision needs (meet).
type watchedJob struct {
	jobKey
	selector   labels.Selector        // the Job's; nil as long as nothing depended on it
	pods       map[string]*watchedPod // by UID
	lastSignal time.Time
	ready      readiness

	// remaining counts the Pods from which the Job can expect more, running those that are ready.
	remaining, running int32
	// These are the Pods for which the methods of watchedPod of the same names are true.
	owed, changed, missing, unreleased podSet
	// repeatDue is when the first unreleased Pod is to be looked into again, or earlier.
	repeatDue time.Time
}

type decision struct {
	facts   []job.PodFact // to be sent; empty means no signal
	look    []job.PodFact // Pods to be looked up
	verify  bool          // whether to look at the Job before facts are sent again
	project bool          // whether to write ready
	ready   int32
	again   time.Time // when to decide again if nothing happens; zero means never
}

func newWatchedJob(key jobKey) *watchedJob {
	return &watchedJob{
		jobKey: key,
		pods:   map[string]*watchedPod{}, owed: podSet{}, changed: podSet{}, missing: podSet{}, unreleased: podSet{},
	}
}

// meet has a Pod take an event, and keeps what follows from it for the Job.
func (w *watchedJob) meet(pod *watchedPod, event event, s sight, now time.Time) {
	w.count(pod, -1)
	pod.meet(event, s, now)
	w.count(pod, 1)
	w.owed.keep(pod, pod.isOwed())
	w.changed.keep(pod, pod.hasChanged())
	w.missing.keep(pod, pod.isMissing())
	w.unreleased.keep(pod, pod.isUnreleased())
	switch {
	case pod.isUnreleased():
		w.repeatDue = earliest(w.repeatDue, pod.heard.at.Add(repeatInterval))
	case pod.state == stateForgotten:
		delete(w.pods, pod.fact.UID)
	}
}

func (w *watchedJob) count(pod *watchedPod, sign int32) {
	if pod.isLeft() {
		w.remaining += sign
		if isReady(pod.fact) {
			w.running += sign
		}
	}
}

// observe takes a Pod as the watch sees it now. initial tells the first list of a watch from what comes later.
func (w *watchedJob) observe(s sight, initial bool, now time.Time) {
	pod, known := w.pods[s.fact.UID]
	if !known {
		pod = &watchedPod{fact: job.PodFact{UID: s.fact.UID}}
		if !initial {
			pod.since = now
		}
		w.pods[s.fact.UID] = pod
		w.ready.newPod(w.uid, initial, now)
	}
	w.meet(pod, pod.event(s), s, now)
}

// remove records that a Pod, as it was seen last, has left the watch's sight. It is gone if it was being deleted and no finalizer
// kept it. Otherwise, or if it is known to exist (its labels or its controller were changed), it is looked up.
func (w *watchedJob) remove(s sight, exists bool, now time.Time) {
	event := left
	if s.fact.Deleting && !exists && (!s.fact.Tracked || s.fact.Ended()) {
		event = vanished
	}
	w.answer(s.fact.UID, event, s, now)
}

// found takes what a look has found of a Pod: the Pod as it is, which is the Job's.
func (w *watchedJob) found(s sight, now time.Time) {
	pod := w.pods[s.fact.UID]
	if pod == nil || !pod.isMissing() {
		return
	}
	if s.fact.Version < pod.fact.Version {
		s.fact = pod.fact
	}
	w.meet(pod, pod.event(s), s, now)
}

// answer has a Pod that is known take an event, such as another answer about one that was looked up.
func (w *watchedJob) answer(uid string, e event, s sight, now time.Time) {
	if pod := w.pods[uid]; pod != nil {
		w.meet(pod, e, s, now)
	}
}

func (w *watchedJob) told(facts []job.PodFact, now time.Time) {
	w.lastSignal = now
	for _, fact := range facts {
		pod, known := w.pods[fact.UID]
		if !known {
			continue
		}
		event := tookAlive
		switch {
		case over(fact):
			event = tookEnd
		case fact.Deleting:
			event = tookLeaving
		}
		w.meet(pod, event, sight{fact: fact}, now)
		// The Pod may have changed since.
		if pod.isInSight() {
			w.meet(pod, pod.event(pod.sight()), pod.sight(), now)
		}
	}
}

// markSettled records that no workflow needs to hear of the Job's Pods: they were released and the workflow has ended, or another
// controller has the Job.
func (w *watchedJob) markSettled(now time.Time) {
	for _, pod := range w.pods {
		w.meet(pod, settled, sight{}, now)
	}
}

func (w *watchedJob) tracked() []job.PodFact {
	var facts []job.PodFact
	for _, pod := range w.pods {
		if pod.fact.Tracked && !pod.fact.Gone {
			facts = append(facts, pod.fact)
		}
	}
	return facts
}

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
	case len(w.owed) == 0 && len(repeats) == 0:
		w.decideReady(now, &result)
	case !now.Before(due), w.remaining == 0 && len(w.owed) > 0: // Where none remains, what is owed are ends.
		result.facts, result.verify = w.collect(repeats), len(repeats) > 0
	default:
		result.again = due
		w.decideReady(now, &result)
	}
	return result
}

func (w *watchedJob) repeats(now time.Time) []*watchedPod {
	if len(w.unreleased) == 0 || now.Before(w.repeatDue) {
		return nil
	}
	var repeats []*watchedPod
	w.repeatDue = time.Time{}
	for _, pod := range w.unreleased {
		due := pod.heard.at.Add(repeatInterval)
		w.repeatDue = earliest(w.repeatDue, due)
		if !now.Before(due) {
			repeats = append(repeats, pod)
		}
	}
	return repeats
}

// collect returns the facts for a signal: what has to be said, and what is worth
// adding, each Pod once, in the order of their names.
func (w *watchedJob) collect(repeats []*watchedPod) []job.PodFact {
	pods := slices.AppendSeq(slices.AppendSeq(repeats, maps.Values(w.owed)), maps.Values(w.changed))
	facts := make([]job.PodFact, len(pods))
	for i, pod := range pods {
		facts[i] = pod.fact
	}
	slices.SortFunc(facts, func(a, b job.PodFact) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	})
	return facts
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
