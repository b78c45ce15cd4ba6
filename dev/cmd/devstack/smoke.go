package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/await"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/devstack/overview"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// smokePatience covers two scheduled runs of a minutely CronJob with room to spare.
	smokePatience = 5 * time.Minute
	// triggerPatience is how long the bridge may need until the CronJob's workflow can be signalled.
	triggerPatience = 30 * time.Second
	// scheduledRuns is how many scheduled runs must complete.
	scheduledRuns = 2
	// sampleNamespace is where deploy/samples are.
	sampleNamespace = "default"
)

// rights is what worker and bridge may do in a smoke test.
type rights string

const (
	// administrator: everything.
	administrator rights = "administrator"
	// base: what deploy/base gives.
	base rights = "base"
	// namespaced: what deploy/base with components/namespaced gives in the sample's
	// namespace.
	namespaced rights = "namespaced"
)

// limit sets what worker and bridge may do; the admission policy is deploy/base's.
func (r rights) limit(options *devstack.Options) {
	if r == administrator {
		return
	}
	installation := manifests.Installation{Folder: manifests.Base}
	if r == namespaced {
		installation.Namespaces = []string{sampleNamespace}
	}
	options.WorkerArgs, options.BridgeArgs = installation.Arguments()
	options.Access = func(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
		_, worker, bridge, err = manifests.Install(ctx, stack, installation)
		return worker, bridge, err
	}
}

func newSmoke() *cobra.Command {
	var node devstack.NodeKind
	var temporal devstack.TemporalKind
	var given rights
	return command.New(&cobra.Command{
		Use:   "smoke",
		Short: "Try a stack without a person: three runs to Complete, then tear down",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return smoke(cmd.Context(), devstack.Options{Node: node, Temporal: temporal}, given, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}, command.Settings{AddFlags: func(flags *command.Flags) {
		group := flags.Group("Stack")
		addNode(group, &node)
		addTemporal(group, &temporal)
		command.Choice(group, &given, "rights", administrator, []rights{administrator, base, namespaced},
			"what worker and bridge may do, everything or what deploy/base gives, everywhere or in the sample's namespace only")
	}})
}

// smoke brings a stack up on free ports in a folder of its own, waits for
// scheduled runs and one triggered by signal, and tears everything down.
func smoke(ctx context.Context, options devstack.Options, given rights, stdout, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "ostinato-smoke-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	options.Dir, options.Log = dir, stderr
	given.limit(&options)
	stack, err := devstack.Start(ctx, options)
	if err != nil {
		return fmt.Errorf("%w\nlogs are in %s", err, filepath.Join(dir, "logs"))
	}
	if stack.NodeStatement != "" {
		fmt.Fprintln(stdout, stack.NodeStatement)
	}
	err = checkRuns(ctx, stack, stdout)
	if stopErr := stack.Stop(); err == nil && stopErr == nil {
		fmt.Fprintln(stdout, "smoke: passed, everything stopped")
		return os.RemoveAll(dir)
	} else {
		return fmt.Errorf("%w\nlogs are in %s", errors.Join(err, stopErr), filepath.Join(dir, "logs"))
	}
}

func checkRuns(ctx context.Context, stack *devstack.Stack, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, smokePatience)
	defer cancel()
	if err := stack.ApplySample(ctx, "hello.yaml"); err != nil {
		return err
	}
	view, err := newViewer(stack)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "waiting for two scheduled runs and one triggered by signal (up to three minutes)")
	if err := trigger(ctx, stack); err != nil {
		return err
	}
	snapshot, err := awaitRuns(ctx, view)
	fmt.Fprintf(stdout, "\n%s\n", overview.Table(snapshot))
	if err != nil {
		return err
	}
	if stack.NodeKind != devstack.NodeReal {
		return nil
	}
	for _, job := range snapshot.Jobs {
		if overview.State(job) != "Complete" {
			continue
		}
		lines, err := stack.Kubectl(ctx, "logs", "--namespace", job.Namespace, "job/"+job.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "logs of %s:\n  %s\n", job.Name, strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  "))
		if !strings.Contains(lines, "Hello from the Kubernetes cluster") {
			return fmt.Errorf("the container of %s did not print its line", job.Name)
		}
	}
	return checkEvidence(ctx, stack, stdout)
}

// trigger sends the signal as a person would, as soon as the CronJob has its
// workflow.
func trigger(ctx context.Context, stack *devstack.Stack) error {
	ctx, cancel := context.WithTimeout(ctx, triggerPatience)
	defer cancel()
	err := await.Success(ctx, 200*time.Millisecond, func(ctx context.Context) error {
		_, err := stack.Temporal(ctx, "workflow", "signal", "--workflow-id", "cronjob/default/hello", "--name", "trigger", "--input", `{"note": "smoke"}`)
		return err
	})
	if err != nil {
		return fmt.Errorf("trigger hello: %w", err)
	}
	return nil
}

// awaitRuns waits until enough runs are Complete, and returns what there was last.
func awaitRuns(ctx context.Context, view *viewer) (snapshot overview.Snapshot, err error) {
	err = await.Success(ctx, 250*time.Millisecond, func(ctx context.Context) error {
		now, err := view.snapshot(ctx)
		if err != nil {
			return err
		}
		snapshot = now
		if scheduled, manual := completeRuns(snapshot.Jobs); scheduled < scheduledRuns || manual < 1 {
			return fmt.Errorf("%d scheduled and %d triggered runs are Complete", scheduled, manual)
		}
		return nil
	})
	return snapshot, err
}

func completeRuns(jobs []batchv1.Job) (scheduled, manual int) {
	for _, job := range jobs {
		switch {
		case overview.State(job) != "Complete":
		case job.Annotations[names.InstantiateAnnotation] != "":
			manual++
		default:
			scheduled++
		}
	}
	return scheduled, manual
}
