// Command ostinato runs Ostinato on one machine: `ostinato dev` for a person,
// `ostinato smoke` for a script.
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

const usage = `Usage: ostinato <command> [flags]

Commands:
  dev     run a control plane, a node, Temporal, worker and bridge here, and show them live
  smoke   the same without a person: three runs to Complete, then tear down
  tools   build the pinned tools into the cache; with --path NAME print where one is

Run "ostinato <command> -h" for a command's flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0 success, 1 failure, 2 wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"dev": dev, "smoke": smoke, "tools": tools,
	}
	command, ok := commands[args[0]]
	switch {
	case args[0] == "help", args[0] == "-h", args[0] == "--help":
		fmt.Fprint(stdout, usage)
		return 0
	case !ok:
		fmt.Fprintf(stderr, "ostinato: no command %q\n\n%s", args[0], usage)
		return 2
	}
	err := command(ctx, args[1:], stdout, stderr)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "ostinato %s: %v\n", args[0], err)
		return 2
	default:
		fmt.Fprintf(stderr, "ostinato %s: %v\n", args[0], err)
		return 1
	}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

// parse reads a command's flags; no further arguments are allowed.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) error {
	flags.SetOutput(stderr)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	}
	return nil
}
