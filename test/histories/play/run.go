package play

import (
	"math"
	"slices"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Signal is what a workflow hears of. One without a name is about a child, or says that the history is long.
type Signal struct {
	Name     string
	Argument any
	// Header is what Temporal passes on beside the argument.
	Header map[string]string
	// Update says that it is an update, whose handler runs beside the workflow. Answered is told each answer that the handler gives, and
	// again whenever a process plays the history anew; it may be nil.
	Update   bool
	Answered func(answer any, err error)
}

// Run plays a workflow function, the real one, on the SDK's contexts, coroutines and signal channels. Activities, children, timers and
// waits for them are Temporal's of this package, which an interceptor puts in the place of the SDK's. So a process can be lost at any
// time, and the next one plays the history again.
//
// The workflow has one coroutine that waits, besides the handlers of updates.
type Run struct {
	Temporal *Temporal[Signal]
	// Attempt makes attempts of an activity.
	Attempt func(activity string, arguments []any, local bool) Attempt
	// Child starts a child; nil where the workflow has none. What becomes of it comes as Signals.
	Child func(id, workflow string, arguments []any)
	// Register registers the workflow, and Interceptor is what its worker needs.
	Register    func(worker.WorkflowRegistry)
	Interceptor interceptor.WorkerInterceptor
	// Started is when the first run of the workflow was started; zero for now.
	Started time.Time
	// Reset says that the run is the one that a reset of the workflow has begun.
	Reset bool
	// Rests is called whenever the workflow waits; nil for nothing.
	Rests func()

	environment *testsuite.TestWorkflowEnvironment
	// ctx and inbound are where signals are handed to.
	ctx      workflow.Context
	inbound  interceptor.WorkflowInboundInterceptor
	timers   []*timer
	calls    []*called
	children map[string]*child
	// updates are those whose handlers have not begun, handlers how many go on.
	updates  []Signal
	handlers int
	// why is the panic that ended the process.
	why any
}

// Execute runs a workflow to its end, whose error it returns. The panic that ends the process, or the history, comes back as one.
func (r *Run) Execute(name, id string, input any) error {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(Silent())
	r.environment, r.children = suite.NewTestWorkflowEnvironment(), map[string]*child{}
	r.environment.SetTestTimeout(math.MaxInt64)
	r.environment.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: math.MaxInt64,
		Interceptors:             []interceptor.WorkerInterceptor{&playing{run: r}, r.Interceptor},
	})
	r.environment.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id})
	if !r.Started.IsZero() {
		r.environment.SetStartTime(r.Started)
	}
	r.Register(only{r.environment, name})
	r.environment.ExecuteWorkflow(name, input)
	if r.why != nil {
		panic(r.why)
	}
	if len(r.Temporal.Inbox)+len(r.updates) > 0 {
		panic(Unheard{})
	}
	return r.environment.GetWorkflowError()
}

// Query asks the workflow, while it waits.
func (r *Run) Query(name string, question, answer any) error {
	value, err := r.environment.QueryWorkflow(name, question)
	if err != nil {
		return err
	}
	return value.Get(answer)
}

// Unheard is the panic that ends a task in which a workflow has ended that has not heard all. Temporal does not take such an end:
// the task begins anew.
type Unheard struct{}

// only registers one workflow.
type only struct {
	*testsuite.TestWorkflowEnvironment
	name string
}

func (o only) RegisterWorkflowWithOptions(function any, options workflow.RegisterOptions) {
	if options.Name == o.name {
		o.TestWorkflowEnvironment.RegisterWorkflowWithOptions(function, options)
	}
}

// playing installs the interceptors of a Run.
type playing struct {
	interceptor.WorkerInterceptorBase
	run *Run
}

func (p *playing) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &inbound{run: p.run}
	inbound.Next = next
	return inbound
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	run *Run
}

func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	outbound := &outbound{run: i.run}
	outbound.Next = next
	return i.Next.Init(outbound)
}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	i.run.ctx, i.run.inbound = ctx, i.Next
	i.run.take(i.run.Temporal.Next())
	return i.Next.ExecuteWorkflow(ctx, in)
}

// now is the time of the task that goes on.
func (r *Run) now() time.Time { return r.Temporal.Task().At }

// playing does what may end the process, and notes that.
func (r *Run) playing(do func()) {
	defer func() {
		if why := recover(); why != nil {
			r.why = why
			panic(why)
		}
	}()
	do()
}

// asks notes what the workflow asks for, which may end the process.
func (r *Run) asks(what string) { r.playing(func() { r.Temporal.Asks(what) }) }

// next waits for the next task.
func (r *Run) next() {
	for _, one := range r.calls {
		one.heed()
	}
	r.timers = slices.DeleteFunc(r.timers, (*timer).IsReady)
	var until time.Time
	for _, one := range r.timers {
		if until.IsZero() || one.at.Before(until) {
			until = one.at
		}
	}
	if r.Rests != nil {
		r.Rests()
	}
	r.playing(func() { r.take(r.Temporal.Wait(until)) })
}

// take hands what a task begins with to the workflow.
func (r *Run) take(begun *Task[Signal]) {
	r.environment.SetCurrentHistoryLength(r.Temporal.Length())
	for _, signal := range begun.Messages {
		r.hear(signal)
	}
	if begun.Answer != nil {
		for _, one := range r.calls {
			if one.number == begun.Call {
				one.answer = begun.Answer
			}
		}
	}
	r.calls = slices.DeleteFunc(r.calls, func(one *called) bool { return one.answer != nil })
}

func (r *Run) hear(signal Signal) {
	switch argument := signal.Argument.(type) {
	case ChildBegun:
		if known := r.children[argument.ID]; known != nil {
			known.begun = true
		}
		return
	case ChildEnded:
		if known := r.children[argument.ID]; known != nil {
			known.ended = &argument
		}
		return
	}
	if signal.Name == "" {
		r.environment.SetContinueAsNewSuggested(true)
		return
	}
	if signal.Update {
		r.updates = append(r.updates, signal)
		return
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(signal.Argument)
	if err == nil {
		err = r.inbound.HandleSignal(headed(r.ctx, signal.Header), &interceptor.HandleSignalInput{SignalName: signal.Name, Arg: payloads})
	}
	if err != nil {
		panic(err)
	}
}

type handlingKey struct{}

// wait has the handlers of updates go on, and those begin that have come, or else waits for the next task.
func (r *Run) wait(ctx workflow.Context) {
	if len(r.updates) == 0 {
		r.next()
		r.yields(ctx)
		return
	}
	r.handles(ctx)
}

// handles has the handlers of updates begin that have come, and all go on, as they do wherever the workflow waits.
func (r *Run) handles(ctx workflow.Context) {
	come := r.updates
	r.updates = nil
	for _, update := range come {
		r.handlers++
		workflow.Go(r.ctx, func(ctx workflow.Context) {
			defer func() { r.handlers-- }()
			input := &interceptor.UpdateInput{Name: update.Name, Args: []any{update.Argument}}
			answer, err := r.inbound.ExecuteUpdate(headed(workflow.WithValue(ctx, handlingKey{}, true), update.Header), input)
			if update.Answered != nil {
				update.Answered(answer, err)
			}
		})
	}
	r.yields(ctx)
}

// yields has the handlers of updates go on.
func (r *Run) yields(ctx workflow.Context) {
	if r.handlers == 0 {
		return
	}
	over, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(workflow.Context) { end.SetValue(nil) })
	// The future holds no error.
	_ = over.Get(ctx, nil)
}
