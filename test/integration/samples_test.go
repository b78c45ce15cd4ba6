package integration

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/devstack/node"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/harness"
)

// applySample applies one of deploy/samples in a namespace.
func applySample(t *testing.T, namespace, name string) {
	t.Helper()
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stack.Stack.Kubectl(t.Context(), "apply", "--namespace", namespace, "-f", filepath.Join(root, "deploy", "samples", name)); err != nil {
		t.Fatal(err)
	}
}

// The sample of a Job that fails does so on a simulated node too.
func TestFailsFailsOnASimulatedNode(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	applySample(t, namespace, "fails.yaml")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, "fails", batchv1.JobFailed) })
	answer, err := stack.Stack.Temporal(t.Context(), "workflow", "query", "--workflow-id", harness.JobWorkflow(namespace, "fails"),
		"--type", protocol.DescribeQuery, "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var described struct{ QueryResult []protocol.JobDescription }
	if err := json.Unmarshal([]byte(answer), &described); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	if len(described.QueryResult) != 1 || len(described.QueryResult[0].Attempts) != 1 {
		t.Fatalf("not one attempt is described: %s", answer)
	}
	if attempt := described.QueryResult[0].Attempts[0]; attempt.ExitCode != 3 || attempt.Message != "connection refused" {
		t.Errorf("attempt %+v", attempt)
	}
}

// stillRunning is longer than a simulated Pod runs that has no annotation.
const stillRunning = 5 * time.Second

// The sample of a CronJob whose runs take their time has such on a simulated node too. They end as docs/simulated-pods.md
// says.
func TestReportRunsOnASimulatedNode(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	applySample(t, namespace, "report.yaml")
	var first batchv1.Job
	harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return errors.New("there is no Job")
		}
		first = jobs[0]
		return stack.PodsAre(ctx, namespace, first.Name, corev1.PodRunning, 1)
	})
	harness.Always(t, stillRunning, func(ctx context.Context) error {
		return stack.PodsAre(ctx, namespace, first.Name, corev1.PodRunning, 1)
	})
	if _, err := stack.Stack.Kubectl(t.Context(), "annotate", "pods", "--namespace", namespace, "--selector", batchv1.JobNameLabel+"="+first.Name,
		"--overwrite", node.AnnotationRunSeconds+"=0"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, first.Name, batchv1.JobComplete) })
}
