package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/command"
)

func newTools() *cobra.Command {
	var path string
	return command.New(&cobra.Command{
		Use:   "tools",
		Short: "Build the pinned tools into the cache, or one of them, and print where it is",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tools(cmd.Context(), path, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}, command.Settings{AddFlags: func(flags *command.Flags) {
		flags.Group("Tool").StringVar(&path, "path", "", "build this `tool` alone if it is missing, and print its path")
	}})
}

// tools builds everything that `make dev` and `make test` need, or the tool called path.
func tools(ctx context.Context, path string, stdout, stderr io.Writer) error {
	if path != "" {
		binaries, err := toolchain.Ensure(ctx, stderr, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, binaries[path])
		return nil
	}
	names := append([]string(nil), toolchain.ControlPlane...)
	names = append(names, toolchain.KwokNode...)
	names = append(names, toolchain.Clients...)
	names = append(names, toolchain.Lint...)
	names = append(names, toolchain.Monitoring...)
	names = append(names, toolchain.Drawing...)
	names = append(names, toolchain.Installing...)
	if runtime.GOOS == "linux" {
		names = append(names, toolchain.RealNode...)
		if possible, _ := toolchain.CanHaveNft(); possible {
			names = append(names, toolchain.Network...)
		}
	}
	if _, err := toolchain.Ensure(ctx, stderr, names...); err != nil {
		return err
	}
	_, err := devstack.BuildPrograms(ctx, stderr)
	return err
}
