package bridge

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// memory is what the controller remembers of objects while it leads.
type memory struct {
	mu       sync.Mutex
	cronJobs map[key]cronJobMemory
	jobs     map[key]jobMemory
	// restarts are those of workflows, by their objects.
	restarts map[key]restarts
	// paused says of objects whether their workflow was last seen paused.
	paused map[key]bool
	// strays are Jobs to be handed back, with what each was last seen to wait for.
	strays map[key]string
	// pruned holds the finished Jobs of each CronJob seen deleted, until its workflow may
	// have been asked to look.
	pruned map[key][]pruned
	// gone holds the UIDs of objects seen deleted, until that was sent.
	gone map[key][]string
}

func newMemory() memory {
	return memory{
		cronJobs: map[key]cronJobMemory{},
		jobs:     map[key]jobMemory{},
		restarts: map[key]restarts{},
		paused:   map[key]bool{},
		strays:   map[key]string{},
		pruned:   map[key][]pruned{},
		gone:     map[key][]string{},
	}
}

// cronJob returns what is remembered of a CronJob.
func (m *memory) cronJob(item key) cronJobMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cronJobs[item]
}

// putCronJob remembers a CronJob; nil forgets it.
func (m *memory) putCronJob(item key, known *cronJobMemory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known == nil {
		delete(m.cronJobs, item)
		return
	}
	m.cronJobs[item] = *known
}

// job returns what is remembered of a Job.
func (m *memory) job(item key) jobMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.jobs[item]
}

// putJob remembers a Job; nil forgets it.
func (m *memory) putJob(item key, known *jobMemory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known == nil {
		delete(m.jobs, item)
		return
	}
	m.jobs[item] = *known
}

// restartsOf returns the restarts of an object's workflow.
func (m *memory) restartsOf(item key) restarts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restarts[item]
}

// restarted remembers another restart.
func (m *memory) restarted(item key, uid string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := restarts{uid: uid}
	if before := m.restarts[item]; before.uid == known.uid {
		known.times = before.times
	}
	known.times++
	known.last = now
	m.restarts[item] = known
}

// attended forgets restarts, since the last of them holds.
func (m *memory) attended(item key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.restarts, item)
}

// notePaused remembers whether an object's workflow is paused, and reports whether that is news.
func (m *memory) notePaused(item key, paused bool) (news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.paused[item]
	m.paused[item] = paused
	return before != paused || !known
}

// pausedOf returns whether an object's workflow was last seen paused; known is false where
// nobody has looked.
func (m *memory) pausedOf(item key) (paused, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	paused, known = m.paused[item]
	return paused, known
}

// countPaused counts the paused workflows by the kind of their objects, and forgets objects
// that are gone.
func (m *memory) countPaused(there func(key) bool) map[kind]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.paused, func(item key, _ bool) bool { return !there(item) })
	count := map[kind]int{}
	for item, paused := range m.paused {
		if paused {
			count[item.kind]++
		}
	}
	return count
}

// stray remembers a Job to be handed back, and returns how many there are.
func (m *memory) stray(item key) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.strays[item]; !known {
		m.strays[item] = ""
	}
	return len(m.strays)
}

// waitsFor remembers what a Job to be handed back waits for; news reports that it is
// another thing than before.
func (m *memory) waitsFor(item key, why string) (news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	news = m.strays[item] != why
	m.strays[item] = why
	return news
}

// noStray forgets a Job to be handed back, and returns how many are left.
func (m *memory) noStray(item key) (left int, was bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, was = m.strays[item]
	delete(m.strays, item)
	return len(m.strays), was
}

// markPruned remembers that a finished Job of a CronJob was deleted.
func (m *memory) markPruned(cronJob key, one pruned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pruned[cronJob] = append(m.pruned[cronJob], one)
}

// prunedOf returns the finished Jobs of a CronJob that were deleted.
func (m *memory) prunedOf(cronJob key) []pruned {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.pruned[cronJob])
}

// prunedSeen forgets the first of them.
func (m *memory) prunedSeen(cronJob key, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := m.pruned[cronJob]; count < len(left) {
		m.pruned[cronJob] = left[count:]
		return
	}
	delete(m.pruned, cronJob)
}

// markGone remembers that an object was deleted.
func (m *memory) markGone(item key, uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[item] = append(m.gone[item], uid)
}

// goneOf returns the UIDs of deleted objects that are still to be sent.
func (m *memory) goneOf(item key) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.gone[item])
}

// goneSent forgets these UIDs. One that was added since stays.
func (m *memory) goneSent(item key, uids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(m.gone[item]), func(uid string) bool { return slices.Contains(uids, uid) })
	if len(left) == 0 {
		delete(m.gone, item)
		return
	}
	m.gone[item] = left
}
