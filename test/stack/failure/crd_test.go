package failure

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// crdFile is what users apply.
var crdFile = filepath.Join("..", "..", "..", "deploy", "crd", "batch.ostinato.dev_cronjobs.yaml")

// A bridge starts on a cluster without the CRD: it becomes ready and serves Jobs, and
// then CronJobs too, once the CRD is there, without another start.
func TestBridgeWithoutTheCRD(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	killBridge(t)
	kubectl(t, "delete", "--filename="+crdFile, "--wait")
	t.Cleanup(func() { kubectl(t, "apply", "--server-side", "--force-conflicts", "--filename="+crdFile) })

	// It is started when it is ready.
	startBridge(t)
	stack.CreateJob(t, namespace, "needs-none", harness.JobSpec())
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, "needs-none", batchv1.JobComplete)
	})

	kubectl(t, "apply", "--server-side", "--filename="+crdFile)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		_, err := stack.CronJobs.CronJobs(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	// The bridge asks again after five seconds, and has one look.
	stack.AddCronJob(t, harness.NewCronJob(namespace, "needs-it", harness.Yearly, harness.JobSpec()))
	run := stack.Trigger(t, namespace, "needs-it")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
}

// kubectlBound is ample for one command, which may wait until the CronJobs of all tests before are deleted.
const kubectlBound = time.Minute

// kubectl runs kubectl, also after the test.
func kubectl(t *testing.T, arguments ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), kubectlBound)
	defer cancel()
	if _, err := stack.Stack.Kubectl(ctx, arguments...); err != nil {
		t.Fatal(err)
	}
}
