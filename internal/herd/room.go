package herd

import "ostinato.dev/ostinato/internal/order"

// generosity is how many times what is left a namespace of weight 1 may have.
const generosity = 64

// room is a number of places that are taken or refused at once, without a line. A namespace may have 64 times as many, by
// its weight, as would be left free: one alone gets nearly all (1,009 of 1,024), and what is left is for others. (The
// dynamic threshold by which switches share a buffer, by Choudhury and Hahne.)
//
// It is not safe for concurrent use.
type room struct {
	weights order.Weights
	// places is how many there are.
	places int
	taken  int
	by     map[string]int
}

// enter takes a place; it reports whether the namespace may have it.
func (r *room) enter(namespace string) bool {
	if left := r.places - r.taken; left <= 0 || float64(r.by[namespace]) >= generosity*r.weights.Of(namespace)*float64(left) {
		return false
	}
	if r.by == nil {
		r.by = map[string]int{}
	}
	r.taken++
	r.by[namespace]++
	return true
}

// exit gives a place back.
func (r *room) exit(namespace string) {
	r.taken--
	if r.by[namespace]--; r.by[namespace] == 0 {
		delete(r.by, namespace)
	}
}
