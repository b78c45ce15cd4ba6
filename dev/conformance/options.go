package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

// focus selects the specs of CronJobs, of Jobs and of their TTL. Specs are selected by nothing else: none is skipped.
const focus = `\[sig-apps\] (CronJob|Job|TTLAfterFinished) `

type options struct {
	controller Controller
	// focus is a regular expression for the names of specs; empty means all that belong to the table.
	focus     string
	processes int
	timeout   time.Duration
}

// newCommand returns the command that calls run with the options that its flags give.
func newCommand(run func(ctx context.Context, o options, stdout, stderr io.Writer) error) *cobra.Command {
	var o options
	return command.New(&cobra.Command{
		Use:  "conformance",
		Long: "conformance judges Jobs by Kubernetes' own end-to-end suite.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}, command.Settings{AddFlags: o.addFlags, Validate: o.validate})
}

func (o *options) addFlags(flags *command.Flags) {
	suite := flags.Group("Suite")
	command.Choice(suite, &o.controller, "controller", Ostinato, []Controller{Ostinato, Builtin}, "whose Jobs to judge (builtin: kube-controller-manager's)")
	suite.StringVar(&o.focus, "focus", "", "run only the specs whose names match this regular expression, and leave the documentation as it is")
	suite.IntVar(&o.processes, "processes", 8, "how many specs to run at the same time")
	suite.DurationVar(&o.timeout, "timeout", 45*time.Minute, "how long the suite may take")
}

func (o *options) validate() error {
	var problems []error
	if _, err := regexp.Compile(o.focus); err != nil {
		problems = append(problems, fmt.Errorf("--focus: %w", err))
	}
	if o.processes < 1 || o.timeout < time.Minute {
		problems = append(problems, errors.New("--processes must be 1 or more, --timeout 1m or more"))
	}
	return errors.Join(problems...)
}

// isPartial tells a run that is not the whole table's.
func (o options) isPartial() bool { return o.focus != "" }

func (o options) selection() string {
	if o.isPartial() {
		return o.focus
	}
	return focus
}

// command is what a person types for the whole run.
func (o options) command() string {
	if o.controller == Builtin {
		return "make conformance CONTROLLER=builtin"
	}
	return "make conformance"
}
