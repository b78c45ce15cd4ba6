package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// Interceptor returns what every worker, replayer and test environment of these
// workflows needs beside Register, with the same options: it notes the order of
// signals and calls the workflows that wait in thousands. Interceptors that come after
// it do not see those begin.
func Interceptor(options Options) interceptor.WorkerInterceptor {
	return &workerInterceptor{options: options}
}

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	options Options
}

func (w *workerInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &workflowInterceptor{options: &w.options}
	inbound.Next = next
	return inbound
}

// workflowInterceptor is one workflow run's.
type workflowInterceptor struct {
	interceptor.WorkflowInboundInterceptorBase
	options *Options
	order   signalOrder
}

// ExecuteWorkflow calls CronJob and Job workflows itself. The SDK would do it by
// reflection, whose frames stay on the stack of a workflow that waits, 1.9 kB of them:
// with them its stack is one size larger, 16 kB and not 8.
func (i *workflowInterceptor) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	ctx = workflow.WithValue(ctx, signalOrderKey{}, &i.order)
	if len(in.Args) == 1 {
		switch input := in.Args[0].(type) {
		case *protocol.CronJobInput:
			return nil, i.options.cronJob(ctx, input)
		case *protocol.JobInput:
			return i.options.job(ctx, input)
		}
	}
	return i.Next.ExecuteWorkflow(ctx, in)
}

func (i *workflowInterceptor) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	i.order.waiting = append(i.order.waiting, in.SignalName)
	return i.Next.HandleSignal(ctx, in)
}
