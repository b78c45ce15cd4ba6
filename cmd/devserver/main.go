// Command devserver runs a Temporal cluster with its Web UI in one process, on SQLite files, for development and tests.
//
// It prints one line on stdout when it can be used:
//
//	ready frontend=127.0.0.1:7233 ui=http://127.0.0.1:8233
//
// and stops on SIGTERM or SIGINT. It can be killed at any time: started again on the same data directory and ports it
// goes on with the same namespace and workflows. Every flag can be set by an environment variable as well, such as
// OSTINATO_DEVSERVER_FRONTEND_PORT for --frontend-port; the flag wins.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/devstack/temporal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Execute(ctx, newCommand(os.LookupEnv, serve), os.Args[1:], os.Stdout, os.Stderr))
}

// The server makes much garbage on a small heap. Collecting it less often takes a tenth off its processor time; beyond
// the limit it is collected as often as needed to stay near it.
const (
	gcPercent   = 400
	memoryLimit = 1 << 30
)

// tuneMemory sets the garbage collector, unless Go's own environment variables do.
func tuneMemory(lookup func(string) (string, bool)) {
	if _, set := lookup("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := lookup("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// serve runs the server until ctx ends, and tells out once it can be used.
func serve(ctx context.Context, options temporal.Options, out io.Writer) error {
	tuneMemory(os.LookupEnv)
	server, err := temporal.Start(ctx, options)
	if err != nil {
		return err
	}
	_, printErr := fmt.Fprintln(out, readyLine(server.FrontendAddress(), server.UIAddress()))
	if printErr == nil {
		<-ctx.Done()
	}
	return errors.Join(printErr, server.Stop())
}

func readyLine(frontend, ui string) string {
	if ui == "" {
		ui = "none"
	}
	return fmt.Sprintf("ready frontend=%s ui=%s", frontend, ui)
}
