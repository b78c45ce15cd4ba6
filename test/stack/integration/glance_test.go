package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

// kubectl get shows what is wrong with a CronJob, and kubectl wait tells one that can't run from one whose runs fail.
func TestWhatIsWrongIsSeenAtAGlance(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	for name, broken := range map[string]struct {
		schedule string
		zone     *string
		suspend  *bool
		job      []harness.JobOption
	}{
		"fails":     {schedule: harness.Yearly, job: []harness.JobOption{harness.ExitCode(3), harness.BackoffLimit(0)}},
		"nowhere":   {schedule: harness.Yearly, zone: ptr.To("Europe/Nowhere")},
		"never":     {schedule: "0 0 31 2 *"},
		"suspended": {schedule: harness.Yearly, suspend: ptr.To(true)},
		"refused": {schedule: harness.Yearly, job: []harness.JobOption{harness.PodTemplate(func(template *corev1.PodTemplateSpec) {
			template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		})}},
	} {
		cronJob := harness.NewCronJob(namespace, name, broken.schedule, harness.JobSpec(broken.job...))
		cronJob.Spec.TimeZone, cronJob.Spec.Suspend = broken.zone, broken.suspend
		stack.CreateCronJob(t, cronJob)
	}
	awaitWorkflow(t, namespace, "fails")
	stack.Signal(t, harness.CronJobWorkflow(namespace, "fails"), protocol.TriggerSignal, nil)
	for name, want := range map[string]struct{ columns, condition string }{
		"fails":     {"false 0 Failed", "Ready"},
		"nowhere":   {"UnknownTimeZone", "Stalled"},
		"never":     {"NeverFires", "Stalled"},
		"suspended": {"true 0 Suspended", "Ready"},
		"refused":   {"InvalidTemplate", "Stalled"},
	} {
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			output, err := stack.Stack.Kubectl(ctx, "get", "ocj", name, "--namespace", namespace, "--no-headers")
			if err == nil && !strings.Contains(strings.Join(withoutDashes(output), " "), want.columns) {
				err = fmt.Errorf("kubectl get shows %s, want %s", output, want.columns)
			}
			return err
		})
		if _, err := stack.Stack.Kubectl(t.Context(), "wait", "ocj/"+name, "--namespace", namespace, "--for=condition="+want.condition, "--timeout=30s"); err != nil {
			t.Errorf("kubectl wait for %s of %s: %v", want.condition, name, err)
		}
	}
}

// withoutDashes are the columns of a row that say something.
func withoutDashes(row string) (said []string) {
	for _, column := range strings.Fields(row) {
		if column != "<none>" && column != "-" {
			said = append(said, column)
		}
	}
	return said
}

// The condition names who has suspended now, and not who did before.
func TestWhoSuspendedIsNotWhoDidBefore(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "report", harness.Yearly, harness.JobSpec()))
	awaitWorkflow(t, namespace, "report")
	says := func(text string) {
		t.Helper()
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			output, err := stack.Stack.Kubectl(ctx, "get", "ocj", "report", "--namespace", namespace,
				`--output=jsonpath={.status.conditions[?(@.type=="Suspended")].status} {.status.conditions[?(@.type=="Suspended")].message}`)
			if err == nil && !strings.Contains(output, text) {
				err = fmt.Errorf("the condition says %q, want %q", output, text)
			}
			return err
		})
	}
	stack.Signal(t, harness.CronJobWorkflow(namespace, "report"), protocol.SuspendSignal, protocol.SignalNote{By: "ada", Note: "db upgrade"})
	says("True by ada (claimed)")
	patchWithKubectl(t, namespace, "report", `{"spec":{"suspend":false}}`)
	says("False")
	patchWithKubectl(t, namespace, "report", `{"spec":{"suspend":true}}`)
	says("True at ")
	says("through kubectl-patch")
}

func patchWithKubectl(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if _, err := stack.Stack.Kubectl(t.Context(), "patch", "ocj", name, "--namespace", namespace, "--type=merge", "--patch", patch); err != nil {
		t.Fatal(err)
	}
}
