// Command kwok is sigs.k8s.io/kwok made safe to start on a cluster that has Pods already, to run beside an API server that
// is killed, and to have on a machine with other users. Its two controllers otherwise build their expressions at the same
// moment, in tables that nothing guards, and now and then that ends the process; a request that was under way when its
// connection broke is not repeated; and its server, which wants no credentials, shows profiles.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

// run is kwok's own start, after fillTables and repeat.
func run() error {
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("find kwok's directory: %w", err)
	}
	if os.Args, err = repeat(os.Args, filepath.Join(home, ".kwok", "repeating")); err != nil {
		return err
	}
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	if err := fillTables(ctx); err != nil {
		return err
	}
	ctx, err = config.InitFlags(ctx, flags)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	config.GetKwokConfiguration(ctx).Options.EnableProfilingHandler = false
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}

// fillTables enters the types of Nodes and Pods in the tables of github.com/wzshiming/easycel, which are only read
// once a type is in them.
func fillTables(ctx context.Context) error {
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}} {
		if err := match(ctx, object); err != nil {
			return fmt.Errorf("prepare expressions for %T: %w", object, err)
		}
	}
	return nil
}

// match asks a new stage about an object, as a controller does with the first one it sees.
func match(ctx context.Context, object any) error {
	stage := &internalversion.Stage{Spec: internalversion.StageSpec{Selector: &internalversion.StageSelector{}}}
	stages, err := lifecycle.NewLifecycle([]*internalversion.Stage{stage})
	if err != nil {
		return err
	}
	matched, err := stages.Match(ctx, &lifecycle.Event{Data: object})
	if err == nil && matched == nil {
		err = errors.New("the stage for every object did not match")
	}
	return err
}
