package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/overview"
	"ostinato.dev/ostinato/internal/command"
)

// refreshInterval is how often the live table is drawn.
const refreshInterval = time.Second

// devSettings are what the flags of `devstack dev` set.
type devSettings struct {
	cluster  cluster
	node     devstack.NodeKind
	temporal devstack.TemporalKind
	dir      string
	sample   bool
}

func newDev() *cobra.Command {
	var s devSettings
	return command.New(&cobra.Command{
		Use:   "dev",
		Short: "Run a control plane, a node, Temporal, worker and bridge here, and show them live",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dev(cmd.Context(), s, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}, command.Settings{AddFlags: func(flags *command.Flags) {
		group := flags.Group("Stack")
		command.Choice(group, &s.cluster, "cluster", clusterAuto, []cluster{clusterAuto, clusterCurrent},
			"an own cluster unless KUBECONFIG names another, or the current context's without a question")
		addNode(group, &s.node)
		addTemporal(group, &s.temporal)
		group.StringVar(&s.dir, "data-dir", defaultStateDir(), "where state and logs are kept; starting again finds them")
		group.BoolVar(&s.sample, "sample", true, "apply deploy/samples/hello.yaml")
	}})
}

// dev runs a stack until it is interrupted and shows it live.
func dev(ctx context.Context, s devSettings, stdin io.Reader, stdout, stderr io.Writer) error {
	foreign, own, err := devstack.ForeignExports(s.dir, devstack.Exports{
		Kubeconfig: os.Getenv("KUBECONFIG"), TemporalAddress: os.Getenv("TEMPORAL_ADDRESS"),
	})
	if err != nil {
		return err
	}
	fmt.Fprint(stderr, again(own))
	kubeconfig, err := s.cluster.kubeconfig(foreign.Kubeconfig, slices.Contains(own, "KUBECONFIG"), stdin, stderr)
	if err != nil {
		return err
	}
	options := devstack.Options{
		Dir: s.dir, Node: s.node, Temporal: s.temporal, UsualPorts: true, Log: stderr,
		Kubeconfig: kubeconfig, TemporalAddress: foreign.TemporalAddress, Later: true,
		// The only bridge needs no lease, which it would lose while a laptop sleeps.
		BridgeArgs: []string{"--leader-elect=false"},
	}
	started := time.Now()
	stack, err := devstack.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "up after %s\n\n", time.Since(started).Round(time.Second))
	err = show(ctx, stack, s.sample, stdout)
	fmt.Fprintln(stdout, "stopping")
	return errors.Join(err, stack.Stop())
}

// again says which variables are no reason to look for a cluster or a Temporal server of the user's own.
func again(own []string) string {
	switch len(own) {
	case 0:
		return ""
	case 1:
		return own[0] + " is what this stack printed: starting it again.\n"
	default:
		return strings.Join(own, " and ") + " are those that this stack printed: starting it again.\n"
	}
}

func show(ctx context.Context, stack *devstack.Stack, sample bool, stdout io.Writer) error {
	if stack.ControlPlane != nil {
		if err := stack.ApplyPolicies(ctx); err != nil {
			return err
		}
	}
	if sample {
		if err := stack.ApplySample(ctx, "hello.yaml"); err != nil {
			return err
		}
	}
	view, err := newViewer(stack)
	if err != nil {
		return err
	}
	terminal := isTerminal(stdout)
	if !terminal {
		fmt.Fprint(stdout, guide(stack))
	}
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	var last string
	behind := buildBehind{stack: stack, since: time.Now(), failed: make(chan error, 1)}
	for {
		snapshot, err := view.snapshot(ctx)
		if err == nil {
			err = behind.build(ctx, snapshot)
		}
		if ctx.Err() != nil {
			return nil
		}
		if ended := stack.Ended(); ended != nil {
			return ended
		}
		switch {
		case err != nil:
			fmt.Fprintf(stdout, "%v\n", err)
		case terminal:
			fmt.Fprint(stdout, "\x1b[H\x1b[2J", guide(stack), "\n", overview.Table(snapshot))
		default:
			// Without a terminal a table is printed when a run changed, not each second.
			if states := runStates(snapshot); states != last {
				last = states
				fmt.Fprintf(stdout, "\n%s\n%s", snapshot.Now.Format(time.TimeOnly), overview.Table(snapshot))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// buildBehind builds what was left for later when the first run is Complete, or does not come: until then the run needs the
// processors.
type buildBehind struct {
	stack  *devstack.Stack
	since  time.Time
	begun  bool
	failed chan error
}

// firstRunPatience is how long the first run may take before the rest is built beside it: its minute comes, and its end.
const firstRunPatience = 90 * time.Second

// build begins the build when it is time, and returns its error once.
func (b *buildBehind) build(ctx context.Context, snapshot overview.Snapshot) error {
	complete := func(job batchv1.Job) bool { return overview.State(job) == "Complete" }
	if !b.begun && (slices.ContainsFunc(snapshot.Jobs, complete) || time.Since(b.since) > firstRunPatience) {
		b.begun = true
		go func() {
			if err := b.stack.BuildLater(ctx); err != nil && ctx.Err() == nil {
				b.failed <- fmt.Errorf("build the rest of the stack: %w", err)
			}
		}()
	}
	select {
	case err := <-b.failed:
		return err
	default:
		return nil
	}
}

// runStates is equal for two snapshots whose runs are in the same states.
func runStates(snapshot overview.Snapshot) string {
	var states strings.Builder
	for _, cronJob := range snapshot.CronJobs {
		fmt.Fprintln(&states, cronJob.Name, ptr.Deref(cronJob.Spec.Suspend, false))
	}
	for _, job := range snapshot.Jobs {
		fmt.Fprintln(&states, job.Name, overview.State(job))
	}
	return states.String()
}

// guide says where to look and what to try.
func guide(stack *devstack.Stack) string {
	var text strings.Builder
	if ui := stack.UIAddress(); ui != "" {
		fmt.Fprintf(&text, "Temporal UI   %s\n", ui)
	}
	fmt.Fprintf(&text, "Kubernetes    export KUBECONFIG=%s\n", stack.KubeconfigPath())
	fmt.Fprintf(&text, "Temporal      export %s\n", strings.Join(stack.TemporalAccess().Environment(), " "))
	fmt.Fprintf(&text, "Commands      export PATH=%s:$PATH%s\n", toolPath(stack), being(stack.ClientsReady()))
	text.WriteString(openToAll(stack.UIAddress() != "", stack.Cluster() != nil))
	if stack.NodeStatement != "" {
		fmt.Fprintln(&text, stack.NodeStatement)
	}
	text.WriteString(`
Try (in another terminal, after the exports):
  kubectl get cronjobs.batch.ostinato.dev,jobs
  temporal workflow signal --workflow-id cronjob/default/hello --name trigger
  temporal workflow signal --workflow-id cronjob/default/hello --name suspend --input '{"note": "maintenance"}'
Ctrl-C stops everything; starting again finds it as it was.
`)
	return text.String()
}

// openToAll says what of Temporal every user of this machine can use, if it is the stack's own. A cluster wants certificates,
// which its UI has. The rest of the stack is for its owner alone, as test/stack/doors shows.
func openToAll(own, cluster bool) string {
	switch {
	case !own:
		return ""
	case cluster:
		return "Open          every user of this machine can read all of Temporal by its UI\n"
	default:
		return "Open          every user of this machine can use Temporal and its UI: read, start, suspend and end runs\n"
	}
}

// being says that the clients are not there yet.
func being(ready bool) string {
	if ready {
		return ""
	}
	return "  # kubectl and temporal are built after the first run"
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
