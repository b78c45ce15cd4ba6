// Package order says what goes first where work waits: by Temporal's task queues, as priority and fairness, and within a
// worker, for its turns at the API server. It is pure.
package order

import "go.temporal.io/sdk/temporal"

// Work is a kind of work that waits in Temporal's task queues. Its value is the priority key: lower goes first. There are
// five, as many as a Temporal server has unless it is told otherwise.
type Work int

const (
	// Due is the start of runs: CronJob workflows and their starts. The watch of Pods has the same, since all runs in
	// progress rest on its one task.
	Due Work = 1 + iota
	// Asked is what a workflow or a person waits for before deciding: lists, looks, what people ask by signal.
	Asked
	// Running is runs in progress: Job workflows, the creates and deletes of their Pods.
	Running
	// Told is what only tells: a CronJob's status.
	Told
	// Over is what is left to be done for runs that are over, releases of Pods, and what an API server has been slow with that
	// may be slow for one tenant alone: creates of Pods.
	Over
)

// Place is where work stands: what it is, and for which Kubernetes namespace. Namespaces share by their weights what
// work of one kind gets; the watch of Pods is for none.
type Place struct {
	Work      Work
	Namespace string
}

// Priority returns what Temporal is told. It is ignored by servers that know nothing of it, and the fairness in it by
// those where that is off.
func (w Weights) Priority(place Place) temporal.Priority {
	priority := temporal.Priority{PriorityKey: int(place.Work), FairnessKey: place.Namespace}
	if place.Namespace != "" {
		priority.FairnessWeight = float32(w.Of(place.Namespace))
	}
	return priority
}
