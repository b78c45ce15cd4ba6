package bridge

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memory is what the controller remembers of objects while it leads.
type memory struct {
	cronJobs table[cronJobMemory]
	jobs     table[jobMemory]
	restarts table[restarts]
	// paused says whether an object's workflow was last seen paused; "" means that nobody has looked.
	paused table[metav1.ConditionStatus]
	// foreign are Jobs to be handed back, with what each was last seen to wait for.
	foreign table[string]
	// pruned holds the finished Jobs of each CronJob seen deleted, until its workflow may have been asked to look.
	pruned backlog[pruned]
	// gone holds the UIDs of objects seen deleted, until that was sent.
	gone backlog[string]
}

// table holds a value for each of some objects. Several goroutines may use it.
type table[V any] struct {
	mu      sync.Mutex
	entries map[key]V
}

func (t *table[V]) get(item key) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[item]
}

// put sets the value of an object and returns the one before.
func (t *table[V]) put(item key, value V) (before V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries == nil {
		t.entries = map[key]V{}
	}
	before = t.entries[item]
	t.entries[item] = value
	return before
}

// remove forgets an object; known reports whether there was anything to forget.
func (t *table[V]) remove(item key) (known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known = t.entries[item]
	delete(t.entries, item)
	return known
}

// retain forgets the objects for which keep returns false.
func (t *table[V]) retain(keep func(key, V) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for item, value := range t.entries {
		if !keep(item, value) {
			delete(t.entries, item)
		}
	}
}

func (t *table[V]) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// backlog holds what is still to be sent for each object.
type backlog[V comparable] struct{ table[[]V] }

func (b *backlog[V]) add(item key, value V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries == nil {
		b.entries = map[key][]V{}
	}
	b.entries[item] = append(b.entries[item], value)
}

// done forgets these values. One that was added since stays.
func (b *backlog[V]) done(item key, values []V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(b.entries[item]), func(value V) bool { return slices.Contains(values, value) })
	if len(left) == 0 {
		delete(b.entries, item)
		return
	}
	b.entries[item] = left
}
