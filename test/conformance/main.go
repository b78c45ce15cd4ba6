package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0 where the controller holds what is asked of it, 1 where not or where that could not be
// found out, 2 for wrong usage.
func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(arguments, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "conformance:", err)
		return 2
	}
	if err := judge(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "conformance:", err)
		return 1
	}
	return 0
}
