package queue

import "ostinato.dev/ostinato/internal/order"

// Shares say who shares a Queue.
type Shares[K comparable] struct {
	// Namespace is that of a key.
	Namespace func(K) string
	// Weights are the shares of the namespaces.
	Weights order.Weights
}

// fair is a workqueue.Queue, which asks for one key at a time, in place of the one that
// serves keys in the order in which they came.
type fair[K comparable] struct {
	namespace func(K) string
	line      order.Line[K]
}

func newFair[K comparable](shares Shares[K]) *fair[K] {
	return &fair[K]{namespace: shares.Namespace, line: order.Line[K]{Weights: shares.Weights}}
}

// Touch is told of a key that waits and is added once more: it keeps its place.
func (f *fair[K]) Touch(K) {}

func (f *fair[K]) Push(key K) { f.line.Join(f.namespace(key), key) }

func (f *fair[K]) Len() int { return f.line.Len() }

func (f *fair[K]) Pop() K {
	key, _ := f.line.Next()
	// Namespaces that are gone are not to be remembered for ever.
	f.line.Forget()
	return key
}
