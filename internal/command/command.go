// Package command is the command line that Ostinato's programs share, on cobra and pflag: flags in groups, environment
// variables in their place, mistakes told in one line each, shell completion.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Settings are what the flags of a command set.
type Settings struct {
	// AddFlags declares the flags, with their defaults.
	AddFlags func(*Flags)
	// Validate, where there is one, is called when every flag is set. It works out what follows from several of them
	// and returns every mistake, joined: each says in one line what to change.
	Validate func() error
	// Environment gives the flags variables; the zero value gives them none.
	Environment Environment
}

// New completes a command that takes flags and no arguments: cmd brings its name, its
// texts and RunE, which runs once the settings are valid.
func New(cmd *cobra.Command, settings Settings) *cobra.Command {
	var flags Flags
	settings.AddFlags(&flags)
	flags.addTo(cmd)
	settings.Environment.describe(cmd.Flags())

	cmd.Args = noArguments
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := settings.Environment.apply(cmd.Flags()); err != nil || settings.Validate == nil {
			return err
		}
		return settings.Validate()
	}
	cmd.RunE = Run(cmd.RunE)
	return House(cmd)
}

// Run returns what a command does whose errors are no mistakes on the command line: Execute returns 1 for them, unless
// Mistake or TimedOut has marked one.
func Run(run func(cmd *cobra.Command, arguments []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, arguments []string) error {
		err := run(cmd, arguments)
		if err == nil || errors.As(err, &exit{}) {
			return err
		}
		return exit{err, exitFailed}
	}
}

// Mistake marks an error that a command finds while it runs as a mistake on the command line, for which Execute returns 2.
func Mistake(err error) error { return exit{err, exitWrongUsage} }

// TimedOut marks an error as that of a time that ran out before the command had done its work, for which Execute returns 124.
func TimedOut(err error) error { return exit{err, exitTimedOut} }

// ErrNo is the error of a command that has printed its answer, and the answer is no: Execute returns 1 and prints nothing more.
var ErrNo = errors.New("no")

// NewParent completes a command that only has others below it.
func NewParent(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	var names []string
	for _, child := range children {
		names = append(names, child.Name())
	}
	cmd.AddCommand(children...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, arguments []string) error {
		if len(arguments) == 0 {
			printUsage(cmd.ErrOrStderr(), cmd)
			return fmt.Errorf("a command is missing; give %s", oneOf(names))
		}
		return fmt.Errorf("no command %q; give %s", arguments[0], oneOf(names))
	}
	return House(cmd)
}

// House gives a command what all of ours have: one that New or NewParent completes has it already.
func House(cmd *cobra.Command) *cobra.Command {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(explain)
	cmd.SetHelpFunc(printHelp)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { printUsage(cmd.OutOrStderr(), cmd); return nil })
	return cmd
}

// Exit codes of Execute.
const (
	exitFailed     = 1
	exitWrongUsage = 2
	exitTimedOut   = 124 // as that of timeout(1)
)

// exit is an error of a command that ran, with its exit code. Every other one is a mistake on the command line.
type exit struct {
	error
	code int
}

func (e exit) Unwrap() error { return e.error }

// Execute runs a command with its arguments (without the program's name) and returns
// the exit code: 0 for success and help, 1 when the command failed or its answer is no, 2 when it was
// called in a wrong way, 124 when a time ran out. What went wrong goes to stderr.
func Execute(ctx context.Context, cmd *cobra.Command, arguments []string, stdout, stderr io.Writer) int {
	cmd.SetArgs(slices.Concat([]string{}, arguments)) // nil would mean those of the process
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	called, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, ErrNo) {
		return exitFailed
	}
	if ended, ok := errors.AsType[exit](err); ok && ended.code != exitWrongUsage {
		fmt.Fprintf(stderr, "%s: %v\n", called.CommandPath(), err)
		return ended.code
	}
	for mistake := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(stderr, "%s: %s\n", called.CommandPath(), mistake)
	}
	return exitWrongUsage
}

// Main runs the program's command with its arguments and exits. SIGINT and SIGTERM end its context.
func Main(cmd *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(Execute(ctx, cmd, os.Args[1:], os.Stdout, os.Stderr))
}

func noArguments(cmd *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q: every setting is a flag, see %q", arguments[0], cmd.CommandPath()+" --help")
}

// oneOf lists alternatives in words.
func oneOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
