package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// standing is for whom a workflow works, and by what weights: all its work is in the same namespace.
type standing struct {
	namespace string
	weights   order.Weights
}

type standingKey struct{}

// inOrder returns a context whose calls and children stand in Temporal's task queues as work for a namespace.
func inOrder(ctx workflow.Context, weights order.Weights, namespace string) workflow.Context {
	return workflow.WithValue(ctx, standingKey{}, standing{namespace, weights})
}

// priority says where work stands in a task queue. What it is is not compared in a replay: priorities may change without
// a version.
func priority(ctx workflow.Context, work order.Work) temporal.Priority {
	s, _ := ctx.Value(standingKey{}).(standing)
	return s.weights.Priority(order.Place{Work: work, Namespace: s.namespace})
}

// work says what kind of work a call is.
func (c call) work() order.Work {
	switch c.activity {
	case protocol.StartRunActivity:
		return order.Due
	case protocol.WriteStatusActivity:
		return order.Told
	case protocol.FindRunsActivity, protocol.SignalAcceptedActivity, protocol.ListPodsActivity, protocol.TerminatePodsActivity, protocol.SetSuspendActivity:
		return order.Asked
	case protocol.ReleaseOrphansActivity:
		return order.Over
	}
	return order.Running
}
