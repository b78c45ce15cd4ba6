package play

import (
	"errors"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// ChildBegun and ChildEnded are arguments of Signals without a name: a child of a workflow ID has begun, or has ended.
type (
	ChildBegun struct{ ID string }
	ChildEnded struct {
		ID     string
		Result any
		Err    error
	}
)

func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, name string, arguments ...any) workflow.ChildWorkflowFuture {
	if o.run.Child == nil {
		panic("child workflows are not played here")
	}
	id := workflow.GetChildWorkflowOptions(ctx).WorkflowID
	started := &child{run: o.run}
	o.run.children[id] = started
	o.run.Temporal.Command(func() { o.run.Child(id, name, arguments) })
	return started
}

// child is the future of one.
type child struct {
	run   *Run
	begun bool
	ended *ChildEnded
}

func (c *child) IsReady() bool { return c.ended != nil }

func (c *child) Get(_ workflow.Context, into any) error {
	for !c.IsReady() {
		c.run.next()
	}
	if c.ended.Err != nil || into == nil {
		return c.ended.Err
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(c.ended.Result)
	if err != nil {
		return err
	}
	return converter.GetDefaultDataConverter().FromPayloads(payloads, into)
}

func (c *child) GetChildWorkflowExecution() workflow.Future { return (*childBegun)(c) }

func (c *child) SignalChildWorkflow(workflow.Context, string, any) workflow.Future {
	panic("signals to child workflows are not played here")
}

// childBegun is the future of a child's begin.
type childBegun child

func (c *childBegun) IsReady() bool { return c.begun || c.ended != nil }

func (c *childBegun) Get(_ workflow.Context, into any) error {
	for !c.IsReady() {
		c.run.next()
	}
	if into != nil {
		return errors.New("the execution of a child is not played here")
	}
	return nil
}
