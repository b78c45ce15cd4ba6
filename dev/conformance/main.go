package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"ostinato.dev/ostinato/internal/command"
)

// The exit code is 0 where the controller holds what is asked of it, 1 where not or where that could not be found out,
// 2 for wrong usage.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Execute(ctx, newCommand(judge), os.Args[1:], os.Stdout, os.Stderr))
}
