package job

import "ostinato.dev/ostinato/internal/names"

// create asks for Pods, unless failures or a refusal delay them. Pods that were
// asked for before and are not known to exist are asked for again by their names;
// where some of these are not wanted any more, a list has to tell first whether they
// exist, since they would be too many beside others.
func (p *pass) create(missing int) {
	if due := p.state.Backoff.due(p.config); !p.perIndex() && p.now.Before(due) {
		p.wake(due, WakeBackoff)
		return
	}
	if p.now.Before(p.state.CreateRetry.Until) {
		p.wake(p.state.CreateRetry.Until, WakeCreateRetry)
		return
	}
	missing = min(missing, p.config.MaxPods)
	again, unwanted := p.requested()
	again = again[:min(len(again), missing)]
	for _, pod := range again {
		p.plan.Creates = append(p.plan.Creates, createOf(pod))
	}
	missing -= len(again)
	if missing > 0 && unwanted {
		p.doubtful = true
		return
	}
	if p.indexed() {
		p.askForIndexes(missing)
	} else {
		attempts := p.attempts()
		for range missing {
			p.ask(PodFact{}, attempts)
		}
	}
	p.noteEnded()
	sortPods(p.state.Pods)
}

// noteEnded notes with each create of an index which Pods of it are known to have ended.
func (p *pass) noteEnded() {
	if !p.indexed() || len(p.plan.Creates) == 0 {
		return
	}
	ended := p.state.endedOfIndexes()
	for i := range p.plan.Creates {
		p.plan.Creates[i].After = ended[*p.plan.Creates[i].Index]
	}
}

// requested returns the Pods that were asked for, are not known to exist and are
// still wanted, and whether there are others.
func (p *pass) requested() (wanted []Pod, others bool) {
	var active Indexes
	if p.indexed() {
		active = NewIndexes(p.indexesOf(Pod.active)...)
	}
	for _, pod := range p.state.Pods {
		if pod.exists() {
			continue
		}
		if p.indexed() && (!p.validIndex(pod) || p.over(*pod.Index) || active.Contains(*pod.Index)) {
			others = true
		} else {
			wanted = append(wanted, pod)
		}
	}
	return wanted, others
}

func (p *pass) askForIndexes(missing int) {
	indexes, due := p.pendingIndexes(missing)
	attempts := p.attempts()
	for _, index := range indexes {
		record := p.state.IndexFailures.of(index)
		p.ask(PodFact{Index: &index, Failures: record.Failures, Ignored: record.Ignored}, attempts)
	}
	if len(indexes) < missing && !due.IsZero() {
		p.wake(due, WakeBackoff)
	}
}

// attempts returns the attempts that Pods not asked for here have names of.
func (p *pass) attempts() map[int64]bool {
	used := map[int64]bool{}
	for _, pod := range p.state.Pods {
		if pod.Attempt > p.state.Attempts {
			used[pod.Attempt] = true
		}
	}
	return used
}

// ask asks for the next attempt's Pod, of which the fact says what is known.
func (p *pass) ask(fact PodFact, used map[int64]bool) {
	p.state.Attempts++
	for used[p.state.Attempts] {
		p.state.Attempts++
	}
	fact.Tracked, fact.Attempt = true, p.state.Attempts
	if fact.Index == nil {
		fact.Name = names.Pod(p.state.Name, p.state.UID, p.state.Attempts)
	} else {
		fact.Name = names.IndexedPod(p.state.Name, p.state.UID, *fact.Index, p.state.Attempts)
	}
	pod := Pod{PodFact: fact}
	p.state.Pods = append(p.state.Pods, pod)
	p.plan.Creates = append(p.plan.Creates, createOf(pod))
}

func createOf(pod Pod) Create {
	return Create{Name: pod.Name, Attempt: pod.Attempt, Index: pod.Index, Failures: pod.Failures, Ignored: pod.Ignored}
}
