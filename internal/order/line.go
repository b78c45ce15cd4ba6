package order

import (
	"cmp"
	"slices"
)

// Line is who waits for the same thing. Namespaces are served in proportion to their weights, and each one's own in the
// order in which they came: behind a namespace of a thousand, one of another is the next but one. (Start-time fair
// queueing, by Goyal, Vin and Cheng.) What a namespace did not take while it waited for nothing it can't claim later.
//
// It is not safe for concurrent use. The zero value serves all namespaces alike.
type Line[T comparable] struct {
	Weights Weights
	// now is the tag of who was served last.
	now        float64
	arrived    int64
	waiting    int
	namespaces map[string]*account[T]
	// active are those with a member that waits.
	active []*account[T]
}

// account is one namespace's.
type account[T comparable] struct {
	namespace string
	waiting   []T
	// tag is when the first who waits is served, in a time that goes by with what is served; arrived tells which of
	// those with the same tag was there first.
	tag     float64
	arrived int64
}

// Join puts who at the end of its namespace's own line.
func (l *Line[T]) Join(namespace string, who T) {
	a := l.namespaces[namespace]
	if a == nil {
		if l.namespaces == nil {
			l.namespaces = map[string]*account[T]{}
		}
		a = &account[T]{namespace: namespace}
		l.namespaces[namespace] = a
	}
	if a.waiting = append(a.waiting, who); len(a.waiting) == 1 {
		a.tag = max(a.tag, l.now)
		l.arrived++
		a.arrived = l.arrived
		l.active = append(l.active, a)
	}
	l.waiting++
}

// Next takes out who is to be served next; ok is false if none waits.
func (l *Line[T]) Next() (who T, ok bool) { return l.NextOf(func(string) bool { return true }) }

// NextOf is Next among the namespaces that may be served now. What others got while one might not, it can't claim later.
func (l *Line[T]) NextOf(may func(namespace string) bool) (who T, ok bool) {
	var first *account[T]
	for _, a := range l.active {
		if may(a.namespace) && (first == nil || a.before(first)) {
			first = a
		}
	}
	if first == nil {
		return who, false
	}
	who = first.waiting[0]
	l.now = max(l.now, first.tag)
	first.tag = l.now + 1/l.Weights.Of(first.namespace)
	l.drop(first, 0)
	return who, true
}

// before reports whether a namespace is served before another.
func (a *account[T]) before(b *account[T]) bool {
	return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.arrived, b.arrived)) < 0
}

// Leave takes out who, which waits no longer; ok is false if it did not wait. It costs its namespace nothing.
func (l *Line[T]) Leave(namespace string, who T) (ok bool) {
	a := l.namespaces[namespace]
	if a == nil {
		return false
	}
	i := slices.Index(a.waiting, who)
	if i < 0 {
		return false
	}
	l.drop(a, i)
	return true
}

// drop takes out one of a namespace.
func (l *Line[T]) drop(a *account[T], i int) {
	if i == 0 {
		clear(a.waiting[:1])
		a.waiting = a.waiting[1:]
	} else {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	if l.waiting--; len(a.waiting) == 0 {
		a.waiting = nil
		l.active = slices.DeleteFunc(l.active, func(other *account[T]) bool { return other == a })
	}
}

// Len returns how many wait.
func (l *Line[T]) Len() int { return l.waiting }

// Forget makes all namespaces equal again. It is for when none waits or is served.
func (l *Line[T]) Forget() {
	if l.waiting == 0 {
		l.now, l.namespaces = 0, nil
	}
}
