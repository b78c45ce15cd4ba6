package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// person runs the ostinato command as a person at a terminal would.
type person struct {
	t         *testing.T
	program   string
	namespace string
	env       []string
}

func newPerson(t *testing.T, namespace string) *person {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ostinato")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "ostinato.dev/ostinato/cmd/ostinato")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build cmd/ostinato: %v\n%s", err, output)
	}
	return &person{t, program, namespace, append(os.Environ(),
		"KUBECONFIG="+stack.Stack.KubeconfigPath(), "TEMPORAL_ADDRESS="+stack.Stack.TemporalAddress())}
}

// run returns what the command printed, and its exit code.
func (p *person) run(arguments ...string) (output string, code int) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), p.program, append([]string{"--namespace", p.namespace, "--utc"}, arguments...)...)
	command.Env = p.env
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &printed
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return printed.String(), command.ProcessState.ExitCode()
}

// says runs a command that must succeed, until it prints every text.
func (p *person) says(texts []string, arguments ...string) {
	p.t.Helper()
	p.answers(0, texts, arguments...)
}

// answers runs a command until it ends with an exit code and prints every text.
func (p *person) answers(want int, texts []string, arguments ...string) {
	p.t.Helper()
	harness.Eventually(p.t, harness.Prompt, func(context.Context) error {
		output, code := p.run(arguments...)
		for _, text := range texts {
			if code != want || !strings.Contains(output, text) {
				return fmt.Errorf("ostinato %s: exit code %d, want %d, and %q in\n%s", strings.Join(arguments, " "), code, want, text, output)
			}
		}
		return nil
	})
}

// refuses runs a command once that must fail with a text.
func (p *person) refuses(code int, text string, arguments ...string) {
	p.t.Helper()
	if output, got := p.run(arguments...); got != code || !strings.Contains(output, text) {
		p.t.Errorf("ostinato %s: exit code %d, want %d, and %q in\n%s", strings.Join(arguments, " "), got, code, text, output)
	}
}

// The questions of docs/cookbook.md, each asked with one command.
func TestTheOstinatoCommand(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec(), harness.Policy(batchv1.ForbidConcurrent)))
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "breaks", harness.Yearly, harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(0))))
	awaitWorkflow(t, namespace, "hello")
	awaitWorkflow(t, namespace, "breaks")
	p := newPerson(t, namespace)

	p.says([]string{"NAME", "hello", "breaks"}, "get")
	p.says([]string{"hello"}, "next", "370d")
	p.answers(1, []string{"No time of the CronJob has come", "The next run is due at"}, "why", "hello")
	p.answers(1, []string{"names no run at that time"}, "why", "hello", "2098-11-02 02:03")

	p.says([]string{"job.batch/hello-", "created", "complete"}, "run", "hello", "--wait", "--by", "ada", "--note", "once more")
	p.says([]string{"Complete", "asked for by ada (claimed) through update"}, "runs", "hello")
	p.says([]string{"would be created (dry run)"}, "run", "hello", "--dry-run", "--env", "REGION=us", "--", "--day", "1")
	p.says([]string{"created", "complete"}, "run", "hello", "--wait", "--by", "bob", "--env", "REGION=us", "--", "--day", "1")
	p.says([]string{"args --day 1; env REGION", "by bob (claimed) through job"}, "runs", "hello")
	p.refuses(1, "failed: BackoffLimitExceeded", "run", "breaks", "--wait")
	p.refuses(1, "==> breaks-", "run", "breaks", "--logs")
	p.refuses(124, "has not ended within 1ms", "run", "hello", "--wait", "--timeout", "1ms")
	p.says([]string{"breaks", "BackoffLimitExceeded"}, "failed", "1h")
	p.says([]string{"✗"}, "get", "breaks")
	p.says([]string{"breaks", "Failing", "1 as they should be"}, "status")
	p.says([]string{"CronJob " + namespace + "/breaks", "└─ Job breaks-", "Failed (BackoffLimitExceeded)"}, "tree", "breaks")
	if _, err := stack.Stack.Kubectl(t.Context(), "delete", "jobs", "-n", namespace, "--all", "--cascade=foreground"); err != nil {
		t.Fatal(err)
	}
	p.says([]string{"has kept", "exit code 3"}, "logs", "breaks")

	p.says([]string{"/hello suspended"}, "suspend", "hello", "--by", "ada", "--reason", "an upgrade")
	p.answers(1, []string{"by ada", "through ostinato", "an upgrade", "To resume it: ostinato resume hello"}, "why", "hello", "2100-01-01 00:00")
	p.says([]string{"unchanged: it is suspended already"}, "suspend", "hello")
	p.says([]string{"/hello left suspended: not suspended by bob"}, "resume", "--all", "--by", "bob")
	p.says([]string{"/hello resumed"}, "resume", "--all", "--by", "ada", "--reason", "an upgrade")
	harness.Eventually(t, harness.Prompt, suspended(namespace, "hello", false))

	file := filepath.Join(t.TempDir(), "cronjobs.yaml")
	manifest := `apiVersion: batch.ostinato.dev/v1
kind: CronJob
metadata: {name: new}
spec:
  schedule: "0 2 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
`
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(manifest)
	p.says([]string{"/new: good; due at", "02:00:00 UTC"}, "check", "-f", file)
	write(strings.Replace(manifest, "0 2 * * *", "0 2 30 2 *", 1))
	p.refuses(1, "never fires", "check", "-f", file)
	write(strings.Replace(manifest, "restartPolicy: Never", "restartPolicy: Always", 1))
	p.refuses(1, "the API server refuses it", "check", "-f", file)
	p.refuses(1, "has no CronJob", "check", "-f", "/dev/null")
	p.refuses(1, "kustomize drops or leaves unpatched", "check", "-f", "../../../cmd/ostinato/internal/kustomized/testdata/production")
	p.refuses(1, "0 of 2 CronJobs need a correction, and 1 parts are Wrong", "check")
	p.refuses(1, "you may use every command in namespace "+namespace, "check")

	p.refuses(1, "not found", "why", "nobody")
	p.refuses(2, "name the CronJobs", "suspend")
	p.refuses(2, "name one with --namespace", "get", "hello", "-A")
	p.refuses(2, "leave the note out", "run", "hello", "--note", "why", "--env", "REGION=us")
	p.refuses(2, "is no time", "why", "hello", "yesterday")
	p.refuses(2, "is no length of time", "next", "soon")
	p.refuses(2, "accepts 1 arg", "runs")
	p.refuses(2, "unknown flag", "get", "--what")
}

// What the objects say is answered without Temporal, and by the rights of whoever asks.
func TestTheOstinatoCommandWithLess(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec()))
	awaitWorkflow(t, namespace, "hello")
	p := newPerson(t, namespace)
	p.says([]string{"complete"}, "run", "hello", "--wait")

	alone := *p
	alone.env = append(alone.env, "TEMPORAL_ADDRESS=127.0.0.1:1")
	alone.says([]string{"hello", "Complete"}, "get")
	alone.says([]string{"Complete"}, "runs", "hello")
	alone.answers(1, []string{"The next run is due at"}, "why", "hello")
	alone.says([]string{"created"}, "run", "hello", "--env", "REGION=us")
	alone.refuses(1, "reach Temporal at 127.0.0.1:1", "run", "hello")
	alone.refuses(1, "reach Temporal at 127.0.0.1:1", "backfill", "hello", "2026-01-01 00:00")

	for _, arguments := range [][]string{
		{"create", "role", "viewer", "--verb=get,list", "--resource=cronjobs.batch.ostinato.dev", "-n", namespace},
		{"create", "rolebinding", "viewer", "--role=viewer", "--user=ada", "-n", namespace},
	} {
		if _, err := stack.Stack.Kubectl(t.Context(), arguments...); err != nil {
			t.Fatal(err)
		}
	}
	p.says([]string{"hello"}, "get", "--as", "ada")
	p.answers(1, []string{"The next run is due at"}, "why", "hello", "--as", "ada")
	p.refuses(1, "forbidden", "suspend", "hello", "--as", "ada")
	p.refuses(1, "forbidden", "run", "hello", "--env", "REGION=us", "--as", "ada")
	p.refuses(1, "forbidden", "get", "-A", "--as", "ada")
}
