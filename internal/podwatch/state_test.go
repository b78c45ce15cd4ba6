package podwatch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

var allStates = map[state]string{
	stateNew: "new", stateQuiet: "quiet", stateDue: "due", stateLeaving: "leaving", stateTold: "told", stateSettled: "settled",
	stateMissing: "missing", stateUnproven: "unproven", stateParting: "parting", stateForgotten: "forgotten",
}

// TestTransitions: what must hold of the table as a whole. Its rows are tested by what
// the watch does.
func TestTransitions(t *testing.T) {
	if len(allStates) != int(states) {
		t.Fatalf("%d states have names, there are %d", len(allStates), states)
	}
	sees := []event{seenAlive, seenMadeElsewhere, seenRestarted, seenLeaving, seenRemoved, seenEnded, seenReleased, seenUnproven}
	for event, row := range transitions {
		if row.to[stateForgotten] != 0 {
			t.Errorf("event %d meets a forgotten Pod", event)
		}
	}
	for _, event := range sees {
		for from := stateNew; from < stateForgotten; from++ {
			switch to := transitions[event].to[from]; {
			case to == 0:
				t.Errorf("a Pod that is seen (%d) stays %s", event, allStates[from])
			case to == stateForgotten, to == stateParting:
				t.Errorf("a Pod that is seen (%d) and was %s is %s", event, allStates[from], allStates[to])
			case from == stateSettled && to != stateSettled:
				t.Errorf("a settled Pod that is seen (%d) is %s", event, allStates[to])
			}
		}
	}
	for state, name := range allStates {
		if !leadsTo(stateNew, state) {
			t.Errorf("no Pod is ever %s", name)
		}
		if !leadsTo(state, stateForgotten) {
			t.Errorf("a Pod that is %s is never forgotten", name)
		}
	}
}

// leadsTo reports whether a state can be reached from another.
func leadsTo(from, to state) bool {
	reached, queue := map[state]bool{from: true}, []state{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, row := range transitions {
			if next := row.to[at]; next != 0 && !reached[next] {
				reached[next] = true
				queue = append(queue, next)
			}
		}
	}
	return reached[to]
}

// TestAWatchedJobAddsUp: whatever happens in whatever order, what is kept for decisions
// is what the Pods say, and in the end the workflow has heard of every end.
func TestAWatchedJobAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatchedJob(jobKey{namespace: "default", name: "hello", uid: "uid"})
		now := noon
		names := []string{"a", "b", "c", "d"}
		name := rapid.SampledFrom(names)
		anySight := func(t *rapid.T) sight {
			name := name.Draw(t, "name")
			return sight{
				fact: job.PodFact{
					Name: name, UID: name,
					Phase: rapid.SampledFrom([]corev1.PodPhase{
						corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed,
					}).Draw(t, "phase"),
					Ready: rapid.Bool().Draw(t, "ready"), Deleting: rapid.Bool().Draw(t, "deleting"),
					Tracked: rapid.Bool().Draw(t, "tracked"), Removed: rapid.Bool().Draw(t, "removed"), Restarts: rapid.Int32Range(0, 2).Draw(t, "restarts"),
				},
				restartable: rapid.Bool().Draw(t, "restartable"), madeElsewhere: rapid.Bool().Draw(t, "stranger"),
				unproven: rapid.Bool().Draw(t, "doubtful"),
			}
		}
		var underway []job.PodFact
		t.Repeat(map[string]func(*rapid.T){
			"observe": func(t *rapid.T) { w.observe(anySight(t), rapid.Bool().Draw(t, "initial"), now) },
			"remove":  func(t *rapid.T) { w.remove(anySight(t), rapid.Bool().Draw(t, "exists"), now) },
			"answer": func(t *rapid.T) {
				s := anySight(t)
				answer := rapid.SampledFrom([]event{foundGone, foundForeign, foundOut}).Draw(t, "answer")
				if answer == foundOut {
					s.fact.Phase, s.fact.Tracked = corev1.PodFailed, false
				}
				w.answer(s.fact.UID, answer, s, now)
			},
			"found": func(t *rapid.T) {
				s := anySight(t)
				s.unproven = false
				w.found(s, now)
			},
			"send":   func(*rapid.T) { underway = w.decide(now).facts },
			"taken":  func(*rapid.T) { w.told(underway, now) },
			"settle": func(*rapid.T) { w.markSettled(now) },
			"project": func(t *rapid.T) {
				if due := w.decide(now); due.project {
					w.projected(due.ready, rapid.Bool().Draw(t, "taken"), now)
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) { checkKept(t, w) },
		})
		// Every Pod goes, and every look finds none.
		for _, name := range names {
			if pod := w.pods[name]; pod != nil {
				w.remove(pod.sight(), false, now)
			}
			w.answer(name, foundGone, sight{}, now)
		}
		now = now.Add(time.Hour)
		if due := w.decide(now); len(due.facts) > 0 {
			w.told(due.facts, now)
		}
		if len(w.pods) > 0 {
			t.Fatalf("%d Pods that are gone are remembered, the first %s", len(w.pods), allStates[firstOf(w.pods).state])
		}
	})
}

func firstOf(pods map[string]*watchedPod) *watchedPod {
	for _, pod := range pods {
		return pod
	}
	return nil
}

func checkKept(t *rapid.T, w *watchedJob) {
	var left, running int32
	for uid, pod := range w.pods {
		if pod.fact.UID != uid {
			t.Fatalf("Pod %s is kept as %s", pod.fact.UID, uid)
		}
		if pod.isLeft() {
			left++
			if isReady(pod.fact) {
				running++
			}
		}
		for name, set := range map[string]struct {
			pods podSet
			in   bool
		}{
			"owed": {w.owed, pod.isOwed()}, "changed": {w.changed, pod.hasChanged()},
			"missing": {w.missing, pod.isMissing()}, "unreleased": {w.unreleased, pod.isUnreleased()},
		} {
			if (set.pods[uid] == pod) != set.in {
				t.Fatalf("Pod %s among %s: %v, want %v", uid, name, !set.in, set.in)
			}
		}
		if pod.isUnreleased() && pod.heard.at.Add(repeatInterval).Before(w.repeatDue) {
			t.Fatalf("Pod %s is to be looked into before %v", uid, w.repeatDue)
		}
		if pod.state == stateTold && (!over(pod.fact) || !pod.fact.Tracked) {
			t.Fatalf("Pod %s is not over or not tracked, and nothing is owed", uid)
		}
	}
	if w.remaining != left || w.running != running {
		t.Fatalf("%d left, %d ready; want %d, %d", w.remaining, w.running, left, running)
	}
	for _, set := range []podSet{w.owed, w.changed, w.missing, w.unreleased} {
		for uid := range set {
			if w.pods[uid] == nil {
				t.Fatalf("Pod %s is kept though it is forgotten", uid)
			}
		}
	}
}
