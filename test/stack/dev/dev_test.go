// Package dev tests `devstack dev` through its front door: as a process whose output is read and that Ctrl-C ends.
package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
)

const (
	// startPatience bounds the start of a stack whose programs are built already, or nearly.
	startPatience = 14 * time.Minute
	// stopPatience bounds its end: its processes end one after another, each within 20 s.
	stopPatience = 8*20*time.Second + harness.Slack
)

// dev is a running `devstack dev`.
type dev struct {
	command *exec.Cmd
	output  output
	ended   chan struct{}
	err     error
}

// output is what a process has written so far.
type output struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (o *output) Write(data []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// start runs the program in a folder with a node of the kind and more flags, in a shell whose environment has the exports.
func start(t *testing.T, program, dir, node string, exports []string, flags ...string) *dev {
	t.Helper()
	arguments := append([]string{"dev", "--node=" + node, "--data-dir=" + dir}, flags...)
	d := &dev{command: exec.Command(program, arguments...), ended: make(chan struct{})}
	d.command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "KUBECONFIG=") || strings.HasPrefix(variable, "TEMPORAL_")
	}), exports...)
	d.command.Stdout, d.command.Stderr = &d.output, &d.output
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.err = d.command.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		if err := d.command.Process.Kill(); err == nil {
			<-d.ended
		}
		if t.Failed() {
			t.Logf("devstack dev wrote:\n%s", &d.output)
		}
	})
	return d
}

// awaitUp waits until everything runs and the table has the sample, and returns what the guide says to export.
func (d *dev) awaitUp(t *testing.T) (exports []string) {
	t.Helper()
	harness.Eventually(t, startPatience, func(context.Context) error {
		select {
		case <-d.ended:
			t.Fatalf("devstack dev ended: %v", d.err)
		default:
		}
		if text := d.output.String(); !strings.Contains(text, "up after ") || !strings.Contains(text, "default/hello") {
			return errors.New("the stack is not up")
		}
		return nil
	})
	for _, line := range regexp.MustCompile(`(?m) export (.*)$`).FindAllStringSubmatch(d.output.String(), -1) {
		exports = append(exports, strings.Fields(line[1])...)
	}
	return slices.DeleteFunc(exports, func(variable string) bool { return strings.HasPrefix(variable, "PATH=") })
}

func (d *dev) awaitEnd(t *testing.T) error {
	t.Helper()
	harness.Eventually(t, stopPatience, func(context.Context) error {
		select {
		case <-d.ended:
			return nil
		default:
			return errors.New("devstack dev runs")
		}
	})
	return d.err
}

// stop is Ctrl-C.
func (d *dev) stop(t *testing.T) {
	t.Helper()
	if err := d.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := d.awaitEnd(t); err != nil {
		t.Fatalf("devstack dev ended: %v", err)
	}
}

func build(t *testing.T) string { return buildProgram(t, "./dev/cmd/devstack") }

func buildProgram(t *testing.T, pkg string) string {
	t.Helper()
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), filepath.Base(pkg))
	command := exec.Command("go", "build", "-o", program, pkg)
	command.Dir = root
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return program
}

// checkIsGreen waits until ostinato check, in a shell with the exports, finds nothing wrong.
func checkIsGreen(t *testing.T, exports []string) {
	t.Helper()
	program := buildProgram(t, "./cmd/ostinato")
	harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
		command := exec.CommandContext(ctx, program, "check")
		command.Env = append(os.Environ(), exports...)
		if text, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("ostinato check: %w:\n%s", err, text)
		}
		return nil
	})
}

// Beside a cluster of the person's own run Temporal, worker and bridge, and nothing else.
func TestItRunsBesideTheCurrentCluster(t *testing.T) {
	program, folder := build(t), t.TempDir()
	tools, err := toolchain.Ensure(t.Context(), os.Stderr, "etcd", "kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := controlplane.Start(t.Context(), controlplane.Options{Dir: filepath.Join(folder, "cluster"), Binaries: tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	dir, kubeconfig := filepath.Join(folder, "state"), "KUBECONFIG="+cluster.KubeconfigPath()
	d := start(t, program, dir, "auto", []string{kubeconfig}, "--cluster=current")
	if exports := d.awaitUp(t); !slices.Contains(exports, kubeconfig) {
		t.Errorf("the guide says to export %q", exports)
	}
	if want := "The CRD and the sample go to the cluster of context "; !strings.HasPrefix(d.output.String(), want) {
		t.Errorf("it does not begin with %q", want)
	}
	for _, name := range []string{"kubernetes", "node"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("it has made a folder %s", name)
		}
	}
	d.stop(t)
}

// A stack starts again in the shell where what it printed was pasted, and finds everything as it was.
func TestItStartsAgainWhereItsExportsWerePasted(t *testing.T) {
	program, dir := build(t), filepath.Join(t.TempDir(), "state")
	first := start(t, program, dir, "kwok", nil)
	exports := first.awaitUp(t)
	const again = "starting it again"
	if strings.Contains(first.output.String(), again) {
		t.Errorf("the first start says %q", again)
	}
	if len(exports) != 2 || exports[0] != "KUBECONFIG="+filepath.Join(dir, "kubernetes", "kubeconfig") || !strings.HasPrefix(exports[1], "TEMPORAL_ADDRESS=127.0.0.1:") {
		t.Fatalf("the guide says to export %q", exports)
	}
	if want := "every user of this machine can use Temporal and its UI"; !strings.Contains(first.output.String(), want) {
		t.Errorf("the guide does not say %q", want)
	}
	checkIsGreen(t, exports)
	first.stop(t)

	// In the same shell a stack with TEMPORAL=postgres has been used before, and a profile of Temporal Cloud.
	shell := append(slices.Clone(exports), "TEMPORAL_TLS=true", "TEMPORAL_TLS_SERVER_CA_CERT_PATH="+filepath.Join(dir, "absent"), "TEMPORAL_PROFILE=cloud")
	second := start(t, program, dir, "kwok", shell)
	if got := second.awaitUp(t); !slices.Equal(got, exports) {
		t.Errorf("the second start says to export %q, the first %q", got, exports)
	}
	if want := "KUBECONFIG and TEMPORAL_ADDRESS are those that this stack printed: starting it again.\n"; !strings.HasPrefix(second.output.String(), want) {
		t.Errorf("the second start does not begin with %q", want)
	}

	for shell, exports := range map[string][]string{"the shell": shell, "another shell": nil} {
		third := start(t, program, dir, "kwok", exports)
		if err, want := third.awaitEnd(t), fmt.Sprintf("another stack runs in %s\n", dir); err == nil || !strings.HasSuffix(third.output.String(), want) {
			t.Errorf("beside one that runs, in %s: %v, and it does not end with %q", shell, err, want)
		}
	}
	second.stop(t)

	fourth := start(t, program, dir, "kwok", shell)
	if got := fourth.awaitUp(t); !slices.Equal(got, exports) {
		t.Errorf("after the starts beside it, it says to export %q, before %q", got, exports)
	}
	fourth.stop(t)
}
