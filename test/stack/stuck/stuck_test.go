//go:build linux

// Package stuck tests what a person sees of runs that do not fail by themselves, on a node where containers really run.
package stuck

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	if possible, missing := node.CanRunReal(); !possible {
		fmt.Println("skipped:", missing)
		if os.Getenv("CI") == "true" {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(harness.Main(m, devstack.Options{Node: devstack.NodeReal}, func(h *harness.Harness) { stack = h }))
}

// seenWithin is how long a person waits to be told what is wrong, from the start of the run.
const seenWithin = 3 * time.Minute

// container changes the only container of a Job, pod the Pod.
func container(change func(*corev1.Container)) harness.JobOption {
	return pod(func(spec *corev1.PodSpec) { change(&spec.Containers[0]) })
}

func pod(change func(*corev1.PodSpec)) harness.JobOption {
	return func(spec *batchv1.JobSpec) { change(&spec.Template.Spec) }
}

// TestTheEverydayMistakesAreNamedWithTheirCause: the five that a newcomer makes, one that hangs, and one that is as it should be.
func TestTheEverydayMistakesAreNamedWithTheirCause(t *testing.T) {
	namespace := stack.Namespace(t)
	seen := ask(t, namespace)
	mistakes := map[string]struct {
		job harness.JobOption
		// says is what status says, in Kubernetes' words, and reason that of the condition.
		says, reason string
	}{
		"no-cm": {container(func(c *corev1.Container) {
			reference := corev1.LocalObjectReference{Name: "backup-config"}
			c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference}}}
		}), `CreateContainerConfigError: configmap "backup-config" not found`, "ConfigError"},
		"no-secret": {pod(func(p *corev1.PodSpec) {
			source := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "backup-secret"}}
			p.Volumes = []corev1.Volume{{Name: "secret", VolumeSource: source}}
			p.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "secret", MountPath: "/secret"}}
		}), `secret "backup-secret" not found`, "ConfigError"},
		"no-sa": {pod(func(p *corev1.PodSpec) { p.ServiceAccountName = "backup" }), `serviceaccount "backup" not found`, "FailedCreate"},
		"image-typo": {container(func(c *corev1.Container) {
			c.Image, c.ImagePullPolicy = "registry.invalid/busybocks:1.28", corev1.PullIfNotPresent
		}), "registry.invalid/busybocks:1.28", "ImagePull"},
		"too-big": {container(func(c *corev1.Container) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Ti")}
		}), "Insufficient memory", "Unschedulable"},
	}
	for name, mistake := range mistakes {
		cronJob := harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec(mistake.job))
		if name == "too-big" { // A node may come within five minutes.
			cronJob.Spec.StuckAfterSeconds = ptr.To[int64](60)
		}
		stack.AddCronJob(t, cronJob)
		stack.Trigger(t, namespace, name)
	}
	sleeps := container(func(c *corev1.Container) { c.Command = []string{"/bin/sh", "-c", "sleep 100000"} })
	stack.AddCronJob(t, harness.NewCronJob(namespace, "hang", harness.Minutely, harness.JobSpec(sleeps), harness.Policy(batchv1.ForbidConcurrent)))
	hung := ""
	harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "hang")
		if err != nil || len(cronJob.Status.Active) == 0 {
			return fmt.Errorf("hang has not run yet: %w", err)
		}
		hung = cronJob.Status.Active[0].Name
		return nil
	})
	stack.AddCronJob(t, harness.NewCronJob(namespace, "well", harness.Minutely, harness.JobSpec()))

	begun := time.Now()
	harness.Eventually(t, seenWithin, func(context.Context) error {
		status := seen("status")
		for name, mistake := range mistakes {
			if line := lineOf(status, name); !strings.Contains(line, "Stuck") || !strings.Contains(line, mistake.says) {
				return fmt.Errorf("%s: %q", name, line)
			}
		}
		if line := lineOf(status, "hang"); !strings.Contains(line, "Blocked") || !strings.Contains(line, hung) {
			return fmt.Errorf("hang: %q", line)
		}
		return nil
	})
	t.Logf("after %s:\n%s", time.Since(begun).Round(time.Second), seen("status"))
	if line := lineOf(seen("status"), "well"); line != "" {
		t.Errorf("status names what is as it should be: %s", line)
	}
	for name, mistake := range mistakes {
		cronJob, err := stack.CronJob(t.Context(), namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		condition := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionRunStuck)
		if condition == nil || condition.Reason != mistake.reason {
			t.Errorf("%s: the condition is %+v, want the reason %s", name, condition, mistake.reason)
		}
		job := cronJob.Status.Active[0].Name
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error { return stack.HasEvent(ctx, namespace, "Job", job, "RunStuck") })
		for _, words := range [][]string{{"get", name}, {"runs", name}} {
			if printed := seen(words...); !strings.Contains(printed, "Stuck") {
				t.Errorf("ostinato %s does not say that it is stuck:\n%s", strings.Join(words, " "), printed)
			}
		}
		for _, words := range [][]string{{"why", name}, {"runs", name}} {
			if printed := seen(words...); !strings.Contains(printed, mistake.says) {
				t.Errorf("ostinato %s does not say %q:\n%s", strings.Join(words, " "), mistake.says, printed)
			}
		}
	}
	why := seen("why", "hang")
	if !strings.Contains(why, hung) || strings.Contains(why, "ostinato backfill") {
		t.Errorf("why names no Job %s, or advises what would wait behind it: %s", hung, why)
	}
	if refused := seen("run", "hang"); !strings.Contains(refused, hung) {
		t.Errorf("the refusal names no Job %s: %s", hung, refused)
	}

	// The ConfigMap comes late, and nothing is stuck any more.
	config := &corev1.ConfigMap{}
	config.Name = "backup-config"
	if _, err := stack.Kubernetes.CoreV1().ConfigMaps(namespace).Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, seenWithin, func(context.Context) error {
		if line := lineOf(seen("status"), "no-cm"); line != "" {
			return fmt.Errorf("no-cm: %q", line)
		}
		return nil
	})
}

// lineOf is the line of status about a CronJob.
func lineOf(status, name string) string {
	for line := range strings.Lines(status) {
		if strings.HasPrefix(line, name+" ") {
			return line
		}
	}
	return ""
}

// ask returns a function that runs the ostinato command and returns what it printed.
func ask(t *testing.T, namespace string) func(arguments ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ostinato")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "ostinato.dev/ostinato/cmd/ostinato")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build cmd/ostinato: %v\n%s", err, output)
	}
	return func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append([]string{"--namespace", namespace, "--utc"}, arguments...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+stack.Stack.KubeconfigPath(), "TEMPORAL_ADDRESS="+stack.Stack.TemporalAddress())
		var printed bytes.Buffer
		command.Stdout, command.Stderr = &printed, &printed
		_ = command.Run() // why and run end with 1 for a no
		return printed.String()
	}
}
