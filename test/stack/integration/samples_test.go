package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
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
	var described struct{ QueryResult []protocol.JobDescription }
	// The log of the Pod is read after the status is written, and the attempt is described with it.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		answer, err := stack.Stack.Temporal(ctx, "workflow", "query", "--workflow-id", harness.JobWorkflow(namespace, "fails"),
			"--type", protocol.DescribeQuery, "--output", "json")
		if err == nil {
			err = json.Unmarshal([]byte(answer), &described)
		}
		if err == nil && (len(described.QueryResult) != 1 || len(described.QueryResult[0].Attempts) != 1) {
			err = fmt.Errorf("not one attempt is described: %s", answer)
		}
		return err
	})
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
