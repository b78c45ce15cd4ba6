// Package documents runs the commands of the pages that a newcomer follows, in their order,
// on a cluster that has nothing of Ostinato.
package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
)

// pages are read in this order: the README's quick start starts what the others ask.
var pages = []string{"README.md", "docs/move.md", "docs/cookbook.md"}

// commandPatience bounds one block: the first compiles worker and bridge.
const commandPatience = 10 * time.Minute

// expectations are what a block that contains the text must print. Where what it prints comes
// by and by, the block is run until it does.
var expectations = map[string][]string{
	"ostinato why hello":                                  {"created at"},
	"ostinato run hello":                                  {"job.batch/hello-"},
	"job/default/fails --type describe":                   {`xitCode`, `3`},
	"diff <(kubectl kustomize":                            {"< apiVersion: batch/v1", "> apiVersion: batch.ostinato.dev/v1"},
	"ostinato move nightly --yes":                         {"+apiVersion: batch.ostinato.dev/v1", "default/nightly moved"},
	"ostinato move nightly --undo":                        {"-apiVersion: batch.ostinato.dev/v1", "default/nightly moved; the one of batch.ostinato.dev/v1 is deleted"},
	"ostinato get -A":                                     {"report", "hello", "OUTCOMES"},
	"ostinato status -A":                                  {"CronJobs"},
	"ostinato tree report":                                {"CronJob default/report", "Job report-"},
	"ostinato check -f deploy/samples":                    {"default/report: good"},
	"ostinato check -f deploy/testdata":                   {`namespaces "prod" not found`},
	"ostinato check ||":                                   {"temporal", "policies", "rights"},
	"ostinato next -A":                                    {"report", "hello"},
	"ostinato why report":                                 {"report-"},
	"cronjob/default/report --type ledger":                {"Started"},
	"ostinato backfill report":                            {"would start"},
	"--env REGION=us":                                     {"job.batch/report-", "created"},
	"ostinato export -A":                                  {"CronJobs exported", "default/report: 0 rows would be given back"},
	"ostinato logs job/fails":                             {"simulated by kwok"}, // its log; integration tests have one whose Pod is gone
	"ostinato suspend --all":                              {"default/hello suspended", "default/report suspended"},
	"ostinato resume --all":                               {"default/hello resumed", "default/report resumed"},
	"kubectl explain cronjobs.spec":                       {"pauseAfterFailures", "catchUp"},
	`.status.conditions[?(@.type=="NativeCronJobActive")`: {"hello"},
}

// newcomer is a shell in the repository, with the tools and the cluster of a stack.
type newcomer struct {
	root string
	env  []string
	// groups are the process groups of its commands. Some go on in the background.
	groups []int
}

// The commands work, one after the other, and do what the pages say.
func TestTheCommandsOfThePagesWork(t *testing.T) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	var commands []command
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		found, err := commandsOf(page, string(text))
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, found...)
	}
	stack, shell := arrive(t, root)
	met := map[string]bool{}
	for _, c := range commands {
		t.Logf("%s:%d\n%s", c.page, c.line, c.script)
		output := shell.run(t, c)
		for text, wants := range expectations {
			if !strings.Contains(c.script, text) {
				continue
			}
			met[text] = true
			harness.Eventually(t, harness.NextMinute, func(context.Context) error {
				for _, want := range wants {
					if !strings.Contains(output, want) {
						output = shell.run(t, c)
						return fmt.Errorf("%s:%d printed no %q:\n%s", c.page, c.line, want, output)
					}
				}
				return nil
			})
		}
		settle(t, stack, c.script)
	}
	for text := range expectations {
		if !met[text] {
			t.Errorf("no page has a command with %q", text)
		}
	}
}

// arrive starts a control plane and simulated Pods, and prepares a shell whose `temporal
// server start-dev` takes a free port.
func arrive(t *testing.T, root string) (*devstack.Stack, *newcomer) {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	dir := t.TempDir()
	stack, err := devstack.Start(t.Context(), devstack.Options{
		Dir: dir, Node: devstack.NodeKwok, TemporalAddress: address, Workers: -1, Bridges: -1, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := stack.Kubectl(t.Context(), "delete", "crd", "cronjobs.batch.ostinato.dev"); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	shim := fmt.Sprintf("#!/bin/sh\nif test \"$1 $2\" = \"server start-dev\"; then set -- \"$@\" --headless --ip=127.0.0.1 --port=%d --log-level=error; fi\nexec %s \"$@\"\n",
		port, stack.Tool("temporal"))
	if err := os.WriteFile(filepath.Join(bin, "temporal"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(root, "bin", "ostinato"), "./cmd/ostinato")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the ostinato command: %v\n%s", err, output)
	}
	shell := &newcomer{root: root, env: append(os.Environ(),
		"KUBECONFIG="+stack.KubeconfigPath(), "TEMPORAL_ADDRESS="+address,
		"PATH="+strings.Join([]string{bin, filepath.Join(root, "bin"), filepath.Dir(stack.Tool("kubectl")), os.Getenv("PATH")}, ":"),
	)}
	t.Cleanup(func() { shell.leave(t) })
	return stack, shell
}

// made finds commands of make, which other tests run: `make dev` is test/stack/dev, `make test` runs
// this one. Here they are looked up only.
var made = regexp.MustCompile(`(?m)^make `)

// asked finds questions whose answer may be no, which is exit code 1.
var asked = regexp.MustCompile(`(?m)^(ostinato why .*)$`)

// run runs a block and returns what it printed. What the block leaves in the background goes
// on until the test ends.
func (n *newcomer) run(t *testing.T, c command) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(t.Context(), commandPatience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-euc", "set -o pipefail\n"+asked.ReplaceAllString(made.ReplaceAllString(c.script, "make --dry-run "), "$1 || test $$? = 1"))
	shell.Dir, shell.Env, shell.Stdout, shell.Stderr = n.root, n.env, file, file
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = shell.Run()
	if shell.Process != nil {
		n.groups = append(n.groups, shell.Process.Pid)
	}
	output, readErr := os.ReadFile(file.Name())
	if err = errors.Join(err, readErr); err != nil {
		t.Fatalf("%s:%d: %v\n%s\n%s", c.page, c.line, err, c.script, output)
	}
	return string(output)
}

// leave ends what the blocks have left in the background.
func (n *newcomer) leave(t *testing.T) {
	for _, group := range n.groups {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			if err := syscall.Kill(-group, signal); errors.Is(err, syscall.ESRCH) {
				break
			}
			over := func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }
			if harness.AsSoonAs(t, harness.Prompt, over) {
				break
			}
		}
	}
}

// settle waits for what a command brings about, where the next ones rest on it.
func settle(t *testing.T, stack *devstack.Stack, script string) {
	t.Helper()
	has := func(what string, want string, args ...string) {
		harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error {
			output, err := stack.Kubectl(ctx, args...)
			if err == nil && !regexp.MustCompile(want).MatchString(output) {
				err = fmt.Errorf("%s: %q", what, output)
			}
			return err
		})
	}
	suspended := []string{"get", "ocj", "-A", "-o", "jsonpath={.items[*].spec.suspend}"}
	switch {
	case strings.Contains(script, "samples/hello.yaml"):
		has("no run of hello is Complete", "Complete", "get", "ocj", "hello", "-o", "jsonpath={.status.recentRuns[*].result}")
	case strings.Contains(script, "samples/report.yaml"):
		has("report did not run", "Started", "get", "ocj", "report", "-o", "jsonpath={.status.recentRuns[*].outcome}")
	case strings.Contains(script, "ostinato suspend --all"), strings.Contains(script, "--name suspend") && strings.Contains(script, "--query"):
		has("not all are suspended", "^true true$", suspended...)
	case strings.Contains(script, "ostinato resume --all"), strings.Contains(script, "--name resume") && strings.Contains(script, "--query"):
		has("not all are resumed", "^false false$", suspended...)
	case strings.Contains(script, "--name suspend"):
		has("hello is not suspended", "^true$", "get", "ocj", "hello", "-o", "jsonpath={.spec.suspend}")
	case strings.Contains(script, "--name resume"):
		has("hello is not resumed", "^false$", "get", "ocj", "hello", "-o", "jsonpath={.spec.suspend}")
	}
}
