package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/encoding/protojson"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// What a simulated Pod says when it fails, and what its log says.
const (
	lastWords     = "the password is swordfish"
	simulatedLine = "simulated by kwok"
)

// What a failed Pod said is in its workflow's history only where Pod, Job and
// namespace let it; that it failed, and how, is there always.
func TestEvidenceObeysAnnotations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		namespace, job, pod string
		kept                bool
	}{
		"nobody says anything":        {kept: true},
		"all ask for everything":      {namespace: "full", job: "full", pod: "full", kept: true},
		"the Pod asks for less":       {namespace: "full", pod: "reason"},
		"the Job asks for less":       {job: "reason", pod: "full"},
		"the namespace asks for less": {namespace: "reason", job: "full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			if test.namespace != "" {
				patch := `{"metadata":{"annotations":{"` + names.EvidenceAnnotation + `":"` + test.namespace + `"}}}`
				if _, err := stack.Kubernetes.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			options := []harness.JobOption{harness.ExitCode(3), harness.BackoffLimit(0), harness.PodAnnotation("ostinato.dev/test-exit-message", lastWords)}
			if test.pod != "" {
				options = append(options, harness.PodAnnotation(names.EvidenceAnnotation, test.pod))
			}
			spec := harness.JobSpec(options...)
			spec.ManagedBy = ptr.To(names.JobController)
			attempt, workflow := failedAttempt(t, namespace, test.job, spec)
			history, err := stack.History(t.Context(), workflow)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := protojson.Marshal(history)
			if err != nil {
				t.Fatal(err)
			}
			text := string(encoded) + decodedPayloads(encoded)
			for _, words := range []string{lastWords, simulatedLine} {
				if strings.Contains(text, words) != test.kept {
					t.Errorf("%q in the history: %v, want %v", words, !test.kept, test.kept)
				}
			}

			if attempt.ExitCode != 3 || attempt.Reason == "" || (attempt.Message == "") == test.kept || (attempt.Log == "") == test.kept || (attempt.LogMissing == "") != test.kept {
				t.Errorf("attempt %+v", attempt)
			}
		})
	}
}

// failedAttempt returns the one attempt of a Job that fails, and its workflow. It takes another Job where the node had no
// time for the log, as on a busy machine: the worker asks that node for none in the minute after.
func failedAttempt(t *testing.T, namespace, evidence string, spec batchv1.JobSpec) (attempt job.Attempt, workflow string) {
	t.Helper()
	for n := range 8 {
		failing := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("fails-%d", n)}, Spec: spec}
		if evidence != "" {
			failing.Annotations = map[string]string{names.EvidenceAnnotation: evidence}
		}
		if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), failing, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		workflow = harness.JobWorkflow(namespace, failing.Name)
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			status, err := stack.WorkflowStatus(ctx, workflow)
			if err == nil && status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				err = errors.New("the workflow runs")
			}
			return err
		})
		var description protocol.JobDescription
		answer, err := stack.Temporal.QueryWorkflow(t.Context(), workflow, "", protocol.DescribeQuery)
		if err == nil {
			err = answer.Get(&description)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(description.Attempts) != 1 {
			t.Fatalf("attempts %+v", description.Attempts)
		}
		attempt = description.Attempts[0]
		if !strings.HasPrefix(attempt.LogMissing, "the node ") {
			break
		}
		time.Sleep(10 * time.Second)
	}
	return attempt, workflow
}
