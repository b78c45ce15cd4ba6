package cronjobs

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

const (
	// builtInStart bounds the start of a kube-controller-manager.
	builtInStart = 2 * harness.Slack
	// halfAMinute is how long a run takes that is under way while hands change.
	halfAMinute = 30
	// handedOver bounds the next run after hands have changed.
	handedOver = harness.NextMinute + builtInStart + harness.LeaseTakeOver + harness.ProbeWait
)

func startBuiltIn(t *testing.T, h *harness.Harness) (stop func()) {
	t.Helper()
	return deployment.StartController(t, h.Stack, h.Dir, "cronjob-controller")
}

// With the built-in controller running, a bridge of exactly the manifests' access
// refuses, and leaves no probe behind.
func TestRefusesBesideTheBuiltInController(t *testing.T) {
	stop := startBuiltIn(t, stack)
	defer stop()
	var output string
	begin := time.Now()
	harness.Eventually(t, builtInStart+harness.ProbeWait+harness.Slack, func(ctx context.Context) error {
		bounded, cancel := context.WithTimeout(ctx, 2*harness.ProbeWait)
		defer cancel()
		var code int
		var err error
		output, code, err = deployment.RunBridge(bounded, stack.Stack, installed.bridge, "--takeover=cronjobs", "--lease-namespace=another")
		if err == nil && code != 1 {
			err = &unexpected{code, output}
		}
		return err
	})
	t.Logf("refused after %s", time.Since(begin))
	if !strings.Contains(output, "another controller gave CronJob") || strings.Contains(strings.ToLower(output), "forbidden") {
		t.Errorf("the bridge says:\n%s", output)
	}
	probes, err := deployment.Probes(t.Context(), stack.Stack)
	if err != nil || probes != "" {
		t.Errorf("probes are left: %s %v", probes, err)
	}
}

type unexpected struct {
	code   int
	output string
}

func (u *unexpected) Error() string { return "the bridge ended otherwise: " + u.output }

// A second bridge that takes over beside the one that leads finds nobody else: its
// probe is nobody's to the first.
func TestASecondBridgeStandsBy(t *testing.T) {
	if err := stack.Stack.StartBridge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stack.Stack.KillBridge(1); err != nil {
		t.Fatal(err)
	}
}

// A CronJob goes from the built-in controller to Ostinato, back and to Ostinato again,
// each time in the middle of a run: every minute has its run, and none has two. It has a stack of its own, beside whose
// minutes the other tests have theirs.
func TestACronJobChangesHands(t *testing.T) {
	t.Parallel()
	stack, installed := another(t, manifests.TakeOverCronJobs, withoutCronJobs)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	startBridge := deployment.Without(t, "bridge", stack.Stack.KillBridge, stack.Stack.StartBridge)
	startWorker := deployment.Without(t, "worker", stack.Stack.KillWorker, stack.Stack.StartWorker)
	stopBuiltIn := startBuiltIn(t, stack)
	create(t, stack, namespace, "passed", harness.Minutely, harness.JobSpec(harness.RunSeconds(halfAMinute)), policy(batchv1.ForbidConcurrent),
		func(cronJob *batchv1.CronJob) { cronJob.Spec.SuccessfulJobsHistoryLimit = new(int32(100)) })
	runs(t, record, "passed", 1, handedOver)

	stopBuiltIn()
	startWorker()
	startBridge()
	taken(t, stack, namespace, "passed")
	runs(t, record, "passed", 2, handedOver)

	// Back: the bridge alone gives up and ends the workflow, then the built-in one starts.
	startBridge = deployment.Without(t, "bridge", stack.Stack.KillBridge, stack.Stack.StartBridge)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := deployment.RunBridge(ctx, stack.Stack, installed.bridge, harness.ShortLease()...)
		ended <- err
	}()
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		return workflowIs(ctx, stack, workflowOf(namespace, "passed"), enums.WORKFLOW_EXECUTION_STATUS_TERMINATED)
	})
	cancel()
	<-ended
	stopBuiltIn = startBuiltIn(t, stack)
	runs(t, record, "passed", len(record.Scheduled("passed"))+1, handedOver)

	// And once more, with the notes of the first time on it.
	if get(t.Context(), t, stack, namespace, "passed").Annotations[names.ObservedGenerationAnnotation] == "" {
		t.Error("the notes are gone, which are to be found out of date")
	}
	stopBuiltIn()
	startBridge()
	runs(t, record, "passed", len(record.Scheduled("passed"))+1, handedOver)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		return workflowIs(ctx, stack, workflowOf(namespace, "passed"), enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	})
	everyMinute(t, record, "passed")
	reasons, err := stack.EventReasons(t.Context(), namespace, "CronJob", "passed")
	if err != nil || reasons["UnexpectedJob"]+reasons["MissingJob"]+reasons["RunOverdue"]+reasons["FailedCreate"] > 0 {
		t.Errorf("Events %v: %v", reasons, err)
	}
}
