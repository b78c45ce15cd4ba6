package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// tools builds everything that `make dev` and `make test` need, or one tool.
func tools(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("tools", flag.ContinueOnError)
	path := flags.String("path", "", "build this tool alone if it is missing, and print its path")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if *path != "" {
		binaries, err := toolchain.Ensure(ctx, stderr, *path)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, binaries[*path])
		return nil
	}
	names := append([]string(nil), toolchain.ControlPlane...)
	names = append(names, toolchain.KwokNode...)
	names = append(names, toolchain.Clients...)
	names = append(names, toolchain.Lint...)
	if runtime.GOOS == "linux" {
		names = append(names, toolchain.RealNode...)
	}
	if _, err := toolchain.Ensure(ctx, stderr, names...); err != nil {
		return err
	}
	_, err := devstack.BuildPrograms(ctx, stderr)
	return err
}
