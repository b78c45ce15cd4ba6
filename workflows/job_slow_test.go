package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/workflows"
)

// A webhook that hangs keeps no workflow task, and so no other Job, waiting: after one that took too long the Job's creates
// begin outside, for a minute.
func TestCreatesOfASlowAPIServerBeginOutsideTheWorkflowTask(t *testing.T) {
	kube := newJobKube(t)
	hangs := true
	var local []bool
	kube.attempt = func(info activity.Info, request protocol.JobRequest) error {
		if len(request.Creates) == 0 {
			return nil
		}
		if local = append(local, info.IsLocalActivity); hangs && info.IsLocalActivity {
			return context.DeadlineExceeded
		}
		return nil
	}
	kube.after(20*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	kube.after(40*time.Second, func() { hangs = false })
	kube.after(2*time.Minute, func() { kube.end(2, corev1.PodSucceeded) })
	kube.after(3*time.Minute, func() { kube.end(3, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 3), job.Complete)
	expect(t, "creates that were local", local, []bool{true, false, false, true})
}

// places notes where the regular activities of a workflow stand.
type places struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	interceptor.WorkflowOutboundInterceptorBase
	noted []order.Work
}

func (p *places) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	p.WorkflowInboundInterceptorBase.Next = next
	return p
}

func (p *places) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	p.WorkflowOutboundInterceptorBase.Next = outbound
	return p.WorkflowInboundInterceptorBase.Init(p)
}

func (p *places) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	p.noted = append(p.noted, order.Work(workflow.GetActivityOptions(ctx).Priority.PriorityKey))
	return p.WorkflowOutboundInterceptorBase.ExecuteActivity(ctx, name, arguments...)
}

// They go last: each may hold a place for as long as a webhook hangs, and what other Jobs have decided needs a moment.
func TestCreatesOfASlowAPIServerGoLast(t *testing.T) {
	kube := newJobKube(t)
	places := &places{}
	kube.environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{places, workflows.Interceptor(workflows.Options{})}})
	kube.attempt = func(info activity.Info, request protocol.JobRequest) error {
		if len(request.Creates) > 0 && info.IsLocalActivity {
			return context.DeadlineExceeded
		}
		return nil
	}
	kube.after(20*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	kube.after(30*time.Second, func() { kube.end(2, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 2), job.Complete)
	// The last plan only counts and releases.
	expect(t, "places of the plans", places.noted, []order.Work{order.Over, order.Over, order.Running})
}

// A release holds a workflow task as long as a create where the API server is slow, as while a webhook on updates of Pods hangs.
func TestNoPlanIsCarriedOutInsideTheWorkflowTaskAfterOneThatWasSlow(t *testing.T) {
	kube := newJobKube(t)
	var releases []bool
	kube.attempt = func(info activity.Info, request protocol.JobRequest) error {
		if len(request.Releases) == 0 {
			return nil
		}
		if releases = append(releases, info.IsLocalActivity); info.IsLocalActivity {
			return context.DeadlineExceeded
		}
		return nil
	}
	kube.after(10*time.Second, func() { kube.end(1, corev1.PodSucceeded) })
	kube.after(20*time.Second, func() { kube.end(2, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(2, 2), job.Complete)
	expect(t, "releases that were local", releases, []bool{true, false, false})
}

// A slot for workflow tasks is not held up until the Pods of a Job that is gone are released.
func TestPodsOfADeletedJobAreReleasedOutsideTheWorkflowTask(t *testing.T) {
	kube := newJobKube(t)
	var local []bool
	kube.environment.OnActivity(protocol.ReleaseOrphansActivity, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, _ protocol.ReleaseOrphansRequest) (protocol.ReleaseOrphansResult, error) {
			local = append(local, activity.GetInfo(ctx).IsLocalActivity)
			return protocol.ReleaseOrphansResult{}, nil
		})
	kube.after(time.Minute, func() { kube.remove() })
	kube.mustEnd(jobSpec(1, 1), job.Deleted)
	expect(t, "releases that were local", local, []bool{false})
}
