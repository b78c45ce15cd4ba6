package jobs

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/histories/play"
)

// noticed is how long it takes until PodWatch sees a change of a Pod.
const noticed = 30 * time.Millisecond

// Times of internal/podwatch: between two signals to a Job, and after which a Pod that was told and not released is told again.
const (
	signalInterval = time.Second
	repeatInterval = 5 * time.Minute
)

// podWatch tells the workflow of Pods: that one is being deleted, has ended or is gone. It is another worker's than the one that is
// lost. What it knows is guarded by the cluster.
type podWatch struct {
	cluster *cluster
	agenda  *play.Agenda
	tell    func(play.Signal)
	pods    map[types.UID]*watched
	// due are the Pods whose facts are to be sent.
	due  map[types.UID]*watched
	last time.Time
	// blind says that no watch runs. The next one remembers nothing.
	blind      bool
	difference podwatch.Difference
}

// watched is what is known of a Pod, and what the workflow has heard.
type watched struct {
	fact         job.PodFact
	leaving, end bool
	since        time.Time
}

// see takes that a Pod has changed, or is gone.
func (p *podWatch) see(pod *corev1.Pod, gone bool) {
	if p.blind {
		return
	}
	one := p.pods[pod.UID]
	if one == nil {
		one = &watched{since: time.Now()}
		p.pods[pod.UID] = one
	}
	one.fact = k8s.PodFact(pod)
	if gone {
		one.fact.Gone, one.fact.Ready, one.fact.Tracked = true, false, false
	}
	if delete(p.due, pod.UID); one.fact.Ended() && !one.end || one.fact.Deleting && !one.leaving && !one.end {
		p.due[pod.UID] = one
	}
	p.sendAt(time.Now().Add(noticed))
}

// stop ends the watch, and start begins another one.
func (p *podWatch) stop() {
	p.blind, p.pods, p.due = true, map[types.UID]*watched{}, map[types.UID]*watched{}
}

func (p *podWatch) start() {
	p.blind = false
	for _, pod := range p.cluster.all() {
		p.see(&pod, false)
	}
}

// compare compares the numbers of the Job and of its status, now and again.
func (p *podWatch) compare() {
	at := time.Now().Add(podwatch.CompareInterval)
	p.agenda.Plan(at, func() {
		tell := false
		p.cluster.do(func() {
			if status := p.cluster.job().Status; !p.blind && job.HasStatus(status) {
				_, tell = p.difference.Round(p.numbers(), status, at)
				if tell && finished(status) {
					p.endLeftOver()
					tell = false
				}
			}
		})
		if tell {
			p.tell(play.Signal{Name: protocol.PodsSignal, Argument: protocol.PodFacts{JobUID: jobUID, Differ: true}})
		}
		p.compare()
	})
}

// endLeftOver deletes the Pods that run although the Job has finished, and releases them.
func (p *podWatch) endLeftOver() {
	for _, pod := range p.cluster.all() {
		if claim.Tracked(&pod) && !claim.Ended(&pod) && pod.DeletionTimestamp == nil {
			p.cluster.record.deleted(&pod, true)
			pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(one string) bool { return one == batchv1.JobTrackingFinalizer })
			p.cluster.record.released(&pod)
			p.cluster.terminate(&pod)
		}
	}
}

func (p *podWatch) numbers() (n podwatch.Numbers) {
	for _, one := range p.pods {
		if one.fact.Gone || one.fact.Ended() && !one.fact.Tracked {
			continue
		}
		n.Expected++
		if !one.fact.Ended() && !one.fact.Deleting && time.Since(one.since) >= podwatch.Settling {
			n.Running++
		}
	}
	return n
}

func (p *podWatch) sendAt(at time.Time) {
	p.agenda.Plan(at, func() {
		var facts []job.PodFact
		p.cluster.do(func() { facts = p.collect() })
		if len(facts) > 0 {
			p.tell(play.Signal{Name: protocol.PodsSignal, Argument: protocol.PodFacts{JobUID: jobUID, Facts: facts}})
		}
	})
}

// collect are the facts for a signal, if it is time for one.
func (p *podWatch) collect() (facts []job.PodFact) {
	ends := false
	for _, one := range p.due {
		facts, ends = append(facts, one.fact), ends || one.fact.Ended()
	}
	if next := p.last.Add(signalInterval); len(facts) > 0 && time.Now().Before(next) && (!ends || p.runs()) {
		p.sendAt(next)
		return nil
	}
	for _, fact := range facts {
		delete(p.due, types.UID(fact.UID))
		p.last = time.Now()
		one, there := p.pods[types.UID(fact.UID)]
		if !there {
			continue
		}
		one.leaving, one.end = fact.Deleting, fact.Ended()
		if fact.Ended() && fact.Tracked {
			p.repeat(one)
		}
	}
	slices.SortFunc(facts, func(a, b job.PodFact) int { return strings.Compare(a.UID, b.UID) })
	return facts
}

// runs reports whether a Pod can run.
func (p *podWatch) runs() bool {
	for _, one := range p.pods {
		if !one.fact.Ended() {
			return true
		}
	}
	return false
}

// repeat has a Pod told once more that is not released by then.
func (p *podWatch) repeat(one *watched) {
	again := time.Now().Add(repeatInterval)
	p.agenda.Plan(again, func() {
		p.cluster.do(func() {
			if one.fact.Tracked && !one.fact.Gone {
				p.due[types.UID(one.fact.UID)] = one
			}
		})
		p.sendAt(again)
	})
}
