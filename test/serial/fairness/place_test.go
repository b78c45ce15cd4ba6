package fairness

import (
	"context"
	"errors"
	"fmt"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// at is the place of work of a namespace whose weight is 5.
func at(key int32) *commonpb.Priority {
	return &commonpb.Priority{PriorityKey: key, FairnessKey: weighed, FairnessWeight: 5}
}

// has returns nil when a workflow has the place.
func has(ctx context.Context, workflowID string, want *commonpb.Priority) error {
	description, err := stack.Temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return err
	}
	if got := description.GetWorkflowExecutionInfo().GetPriority(); !proto.Equal(got, want) {
		return fmt.Errorf("workflow %s stands at %v, want %v", workflowID, got, want)
	}
	return nil
}

// Temporal is told of everything what it is and for whom: by the bridge, which starts the workflows of CronJobs and of
// Jobs made by hand, and by the worker, which starts those of runs, and activities. A workflow that was started by a
// release that knew nothing of it is told by the next bridge that leads.
func TestWorkIsGivenItsPlace(t *testing.T) {
	_, err := stack.Kubernetes.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: weighed}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stack.Kubernetes.CoreV1().Namespaces().Delete(context.Background(), weighed, metav1.DeleteOptions{})
	})
	place := func(workflowID string, want *commonpb.Priority) {
		t.Helper()
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return has(ctx, workflowID, want) })
	}
	place(names.Cluster("").PodWatchWorkflowID(0, 1), &commonpb.Priority{PriorityKey: 1})
	stack.AddCronJob(t, harness.NewCronJob(weighed, "hello", harness.Yearly, harness.JobSpec()))
	cronJob := harness.CronJobWorkflow(weighed, "hello")
	place(cronJob, at(1))
	place(harness.JobWorkflow(weighed, stack.Trigger(t, weighed, "hello")), at(3))

	const many = 21 // Pods: the watch makes ten of them, and the bulk queue the others
	stack.CreateJob(t, weighed, "many", harness.JobSpec(harness.Parallelism(many), harness.Completions(many)))
	byHand := harness.JobWorkflow(weighed, "many")
	place(byHand, at(3))
	harness.Eventually(t, harness.Bulk, func(ctx context.Context) error { return stack.JobHas(ctx, weighed, "many", batchv1.JobComplete) })
	if got := activityPlaces(t, byHand)[protocol.CarryOutActivity]; !proto.Equal(got, at(3)) {
		t.Errorf("the creates of Pods stand at %v, want %v", got, at(3))
	}

	forget(t, cronJob)
	if err := errors.Join(stack.Stack.KillBridge(0), stack.Stack.StartBridge(t.Context())); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.LeaseTakeOver+harness.Prompt, func(ctx context.Context) error { return has(ctx, cronJob, at(1)) })
	stack.Trigger(t, weighed, "hello")
}

// activityPlaces returns where each kind of regular activity of a workflow stood.
func activityPlaces(t *testing.T, workflowID string) map[string]*commonpb.Priority {
	t.Helper()
	recorded, err := stack.History(t.Context(), workflowID)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]*commonpb.Priority{}
	for _, event := range recorded.GetEvents() {
		if event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			scheduled := event.GetActivityTaskScheduledEventAttributes()
			places[scheduled.GetActivityType().GetName()] = scheduled.GetPriority()
		}
	}
	return places
}

// forget takes a workflow's place away, as if an older release had started it.
func forget(t *testing.T, workflowID string) {
	t.Helper()
	_, err := stack.Temporal.WorkflowService().UpdateWorkflowExecutionOptions(t.Context(), &workflowservice.UpdateWorkflowExecutionOptionsRequest{
		Namespace:                "default",
		WorkflowExecution:        &commonpb.WorkflowExecution{WorkflowId: workflowID},
		WorkflowExecutionOptions: &workflowpb.WorkflowExecutionOptions{Priority: &commonpb.Priority{}},
		UpdateMask:               &fieldmaskpb.FieldMask{Paths: []string{"priority"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := has(t.Context(), workflowID, &commonpb.Priority{}); err != nil {
		t.Fatal(err)
	}
}
