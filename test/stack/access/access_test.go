package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/api/adminservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"crypto/tls"

	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/stack/access/door"
)

// add makes a CronJob in namespace shop and returns the ID of its workflow.
func add(t *testing.T, name string) string {
	t.Helper()
	people.Grant(t, "viewer", door.Readers)
	people.Grant(t, "editor", door.Writers)
	people.Grant(t, "stranger", nil)
	stack.AddCronJob(t, harness.NewCronJob(door.Shop, name, "0 0 1 1 *", harness.JobSpec()))
	return harness.CronJobWorkflow(door.Shop, name)
}

func TestARunThroughTheDoor(t *testing.T) {
	workflow := add(t, "through")
	editor := people.As(t, "editor")
	if err := editor.SignalWorkflow(t.Context(), workflow, "", protocol.TriggerSignal, nil); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, door.Shop)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if strings.HasPrefix(job.Name, "through-") && harness.HasCondition(&job, batchv1.JobComplete) {
				return nil
			}
		}
		return errors.New("no Job of it is Complete")
	})
}

// sender is whom the history says has sent the last signal of a name.
func sender(ctx context.Context, t *testing.T, reader client.Client, workflow, signal string) string {
	t.Helper()
	var name string
	events := reader.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == signal {
			name = event.GetPrincipal().GetName()
		}
	}
	return name
}

func TestPeopleDoWhatTheAPIServerLetsThemDo(t *testing.T) {
	workflow := add(t, "people")
	editor, viewer, stranger := people.As(t, "editor"), people.As(t, "viewer"), people.As(t, "stranger")
	for name, c := range map[string]client.Client{"viewer": viewer, "stranger": stranger} {
		refused(t, name+" suspends", c.SignalWorkflow(t.Context(), workflow, "", protocol.SuspendSignal, nil), "does not let them patch cronjobs.batch.ostinato.dev people in namespace shop")
	}
	run := names.Cluster("").JobWorkflowID(door.Shop, "people-now")
	for name, c := range map[string]client.Client{"viewer": viewer, "stranger": stranger} {
		refused(t, name+" stops", c.SignalWorkflow(t.Context(), run, "", protocol.StopSignal, nil), "does not let them patch jobs.batch people-now in namespace shop")
	}
	refused(t, "editor stops a CronJob", editor.SignalWorkflow(t.Context(), workflow, "", protocol.StopSignal, nil), "is not for people")
	_, err := stranger.DescribeWorkflowExecution(t.Context(), workflow, "")
	refused(t, "stranger reads", err, "does not let them get cronjobs.batch.ostinato.dev")
	if _, err := viewer.QueryWorkflow(t.Context(), workflow, "", "describe"); err != nil {
		t.Errorf("a viewer may not read: %v", err)
	}
	if err := editor.SignalWorkflow(t.Context(), workflow, "", protocol.SuspendSignal, nil); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, door.Shop, "people")
		if err != nil {
			return err
		}
		if cronJob.Spec.Suspend == nil || !*cronJob.Spec.Suspend {
			return errors.New("it is not suspended")
		}
		return nil
	})
	if name := sender(t.Context(), t, viewer, workflow, protocol.SuspendSignal); name != "editor" {
		t.Errorf("the history names %q", name)
	}
	refused(t, "editor sends an internal signal", editor.SignalWorkflow(t.Context(), workflow, "", protocol.DeletedSignal, nil), "is not for people")
	refused(t, "editor terminates", editor.TerminateWorkflow(t.Context(), workflow, "", "x"), "for administrators")
	_, err = editor.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: workflow, UpdateName: protocol.RestoreLedgerUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{protocol.RestoreLedgerRequest{}},
	})
	refused(t, "editor imports a ledger", err, "for administrators")
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	var denied *serviceerror.PermissionDenied
	if !errors.As(err, &denied) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestATokenCountsForItsAudience(t *testing.T) {
	workflow := add(t, "token")
	people.Grant(t, "system:serviceaccount:shop:robot", door.Writers)
	robot := people.Dial(t, nil, people.Token(t, "robot", "ostinato-temporal"))
	if _, err := robot.DescribeWorkflowExecution(t.Context(), workflow, ""); err != nil {
		t.Error(err)
	}
	own, err := people.PairOf(t, "viewer").Token()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := people.Dial(t, nil, own).DescribeWorkflowExecution(t.Context(), workflow, ""); err != nil {
		t.Errorf("a person's token: %v", err)
	}
	for name, audiences := range map[string][]string{"the API server's": nil, "another": {"vault"}} {
		_, err := people.Dial(t, nil, people.Token(t, "robot", audiences...)).DescribeWorkflowExecution(t.Context(), workflow, "")
		var denied *serviceerror.PermissionDenied
		if !errors.As(err, &denied) {
			t.Errorf("a token for the audience %s: %v", name, err)
		}
	}
	// The API server takes no credential of Temporal's.
	if _, err := stack.Stack.Kubectl(t.Context(), "auth", "whoami", "--kubeconfig=/dev/null", "--server="+stack.Stack.ControlPlane.RESTConfig().Host,
		"--insecure-skip-tls-verify", "--token="+people.Token(t, "robot", "ostinato-temporal")); err == nil {
		t.Error("the API server takes a token for Temporal")
	}
}

// Each method of the frontend, called by a viewer, an editor and a stranger with their certificates: what is no row of theirs is refused.
func TestNoOtherMethodIsForPeople(t *testing.T) {
	workflow := add(t, "methods")
	for _, user := range []string{"viewer", "editor", "stranger"} {
		connection := connect(t, people.CertificateOf(t, user))
		var tried int
		for method, input := range methods(t) {
			if permitted[method] {
				continue
			}
			kind, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
			if err != nil {
				t.Fatal(err)
			}
			request := kind.New()
			fill(request, workflow)
			tried++
			err = connection.Invoke(t.Context(), method, request.Interface(), &commonpb.Payload{})
			if status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s calls %s: %v", user, method, err)
			}
		}
		if tried < 100 {
			t.Errorf("only %d methods were tried", tried)
		}
	}
}

// permitted are methods that someone of the test may call.
var permitted = func() map[string]bool {
	all := map[string]bool{"/temporal.api.operatorservice.v1.OperatorService/ListSearchAttributes": true}
	for _, name := range strings.Fields(`GetSystemInfo GetClusterInfo GetSearchAttributes ListNamespaces DescribeNamespace DescribeTaskQueue
		ListTaskQueuePartitions ListWorkers CountWorkers DescribeWorker ListWorkerDeployments DescribeWorkerDeployment DescribeWorkerDeploymentVersion
		ListSchedules CountSchedules ListBatchOperations DescribeWorkflowExecution GetWorkflowExecutionHistory GetWorkflowExecutionHistoryReverse
		QueryWorkflow PollWorkflowExecutionUpdate SignalWorkflowExecution UpdateWorkflowExecution`) {
		all["/temporal.api.workflowservice.v1.WorkflowService/"+name] = true
	}
	return all
}()

// methods are those of a frontend that are no streams.
func methods(t *testing.T) map[string]protoreflect.MessageDescriptor {
	t.Helper()
	all := map[string]protoreflect.MessageDescriptor{}
	for _, service := range []string{
		workflowservice.WorkflowService_ServiceDesc.ServiceName, operatorservice.OperatorService_ServiceDesc.ServiceName, adminservice.AdminService_ServiceDesc.ServiceName,
	} {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			t.Fatal(err)
		}
		list := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			if !list.Get(i).IsStreamingClient() {
				all["/"+service+"/"+string(list.Get(i).Name())] = list.Get(i).Input()
			}
		}
	}
	return all
}

// fill makes a request one about a workflow of the namespace, wherever it has a place for these.
func fill(request protoreflect.Message, workflow string) {
	fields := request.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.IsList() || field.IsMap():
		case field.Kind() == protoreflect.StringKind && field.Name() == "namespace":
			request.Set(field, protoreflect.ValueOfString(client.DefaultNamespace))
		case field.Kind() == protoreflect.StringKind && field.Name() == "workflow_id":
			request.Set(field, protoreflect.ValueOfString(workflow))
		case field.Kind() == protoreflect.MessageKind && field.Message().FullName() == "temporal.api.common.v1.WorkflowExecution":
			fill(request.Mutable(field).Message(), workflow)
		}
	}
}

func connect(t *testing.T, certificate *tls.Certificate) *grpc.ClientConn {
	t.Helper()
	settings := &tls.Config{RootCAs: people.Roots(t), Certificates: []tls.Certificate{*certificate}}
	connection, err := grpc.NewClient(stack.Stack.TemporalAddress(), grpc.WithTransportCredentials(credentials.NewTLS(settings)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// felt bounds how long a right that was taken away goes on to hold.
const felt = 15 * time.Second

func TestARightThatIsTakenAwayIsFelt(t *testing.T) {
	workflow := add(t, "revoked")
	people.Grant(t, "leaver", door.Writers)
	leaver := people.As(t, "leaver")
	if err := leaver.SignalWorkflow(t.Context(), workflow, "", protocol.ResumeSignal, nil); err != nil {
		t.Fatal(err)
	}
	if err := stack.Kubernetes.RbacV1().RoleBindings(door.Shop).Delete(t.Context(), "leaver", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	removed := time.Now()
	harness.Eventually(t, felt, func(ctx context.Context) error {
		err := leaver.SignalWorkflow(ctx, workflow, "", protocol.ResumeSignal, nil)
		var denied *serviceerror.PermissionDenied
		if !errors.As(err, &denied) {
			return fmt.Errorf("it still counts: %w", err)
		}
		return nil
	})
	t.Logf("felt after %s", time.Since(removed).Round(100*time.Millisecond))
}

// polled bounds how long a poll that waits for events goes on for who may not read any more: Temporal answers each after 20 seconds.
const polled = 30 * time.Second

func TestAPollThatWaitsEndsForWhoMayNotReadAnyMore(t *testing.T) {
	workflow := add(t, "polled")
	people.Grant(t, "watcher", door.Readers)
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: client.DefaultNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflow}, WaitNewEvent: true,
	}
	service := people.As(t, "watcher").WorkflowService()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
	defer cancel()
	// The page after the last event waits.
	page, err := service.GetWorkflowExecutionHistory(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	request.NextPageToken = page.NextPageToken
	ended := make(chan error, 1)
	go func() {
		for {
			page, err := service.GetWorkflowExecutionHistory(ctx, request)
			if err != nil {
				ended <- err
				return
			}
			request.NextPageToken = page.NextPageToken
		}
	}()
	select {
	case err := <-ended:
		t.Fatalf("the poll does not wait: %v", err)
	case <-time.After(time.Second):
	}
	if err := stack.Kubernetes.RbacV1().RoleBindings(door.Shop).Delete(t.Context(), "watcher", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	removed := time.Now()
	select {
	case err := <-ended:
		refused(t, "a poll that waits", err, "does not let them get")
		t.Logf("ended after %s", time.Since(removed).Round(100*time.Millisecond))
	case <-time.After(polled):
		t.Errorf("the poll goes on after %s", polled)
	}
}

// looked bounds how long a Secret that was deleted is missing.
const looked = 30*time.Second + harness.Slack

func TestCertificatesThatWereDeletedAreMadeAgain(t *testing.T) {
	workflow := add(t, "deleted")
	secrets := stack.Kubernetes.CoreV1().Secrets(manifests.SystemNamespace)
	before, err := secrets.Get(t.Context(), "ostinato-temporal-authority", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ostinato-temporal-authority", "ostinato-temporal-worker"} {
		if err := secrets.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	harness.Eventually(t, looked, func(ctx context.Context) error {
		for _, name := range []string{"ostinato-temporal-authority", "ostinato-temporal-worker"} {
			if _, err := secrets.Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	after, err := secrets.Get(t.Context(), "ostinato-temporal-authority", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if string(after.Data[corev1.TLSPrivateKeyKey]) != string(before.Data[corev1.TLSPrivateKeyKey]) {
		t.Error("the authority is another: all certificates have lost their worth")
	}
	if _, err := people.As(t, "viewer").DescribeWorkflowExecution(t.Context(), workflow, ""); err != nil {
		t.Error(err)
	}
}

// What worker and bridge have stays good over a kill of the server, which has its certificate in memory.
func TestAKilledServerKnowsItsCallersAgain(t *testing.T) {
	workflow := add(t, "killed")
	if err := stack.Stack.KillTemporal(); err != nil {
		t.Fatal(err)
	}
	if err := stack.Stack.StartTemporal(t.Context()); err != nil {
		t.Fatal(err)
	}
	editor := people.As(t, "editor")
	if err := editor.SignalWorkflow(t.Context(), workflow, "", protocol.TriggerSignal, nil); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, door.Shop)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if strings.HasPrefix(job.Name, "killed-") {
				return nil
			}
		}
		return errors.New("the trigger has made no Job")
	})
}
