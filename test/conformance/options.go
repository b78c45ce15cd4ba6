package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"time"
)

// focus selects the specs of Jobs and of their TTL. Specs are selected by nothing else: none is skipped.
const focus = `\[sig-apps\] (Job|TTLAfterFinished) `

type options struct {
	controller Controller
	// focus is a regular expression for the names of specs; empty means all that belong to the table.
	focus     string
	processes int
	timeout   time.Duration
}

func parseOptions(arguments []string, output io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("conformance", flag.ContinueOnError)
	set.SetOutput(output)
	controller := set.String("controller", string(Ostinato), "whose Jobs to judge: ostinato or builtin (kube-controller-manager)")
	set.StringVar(&o.focus, "focus", "", "run only the specs whose names match this regular expression, and leave the documentation as it is")
	set.IntVar(&o.processes, "processes", 8, "how many specs to run at the same time")
	set.DurationVar(&o.timeout, "timeout", 45*time.Minute, "how long the suite may take")
	if err := set.Parse(arguments); err != nil {
		return options{}, err
	}
	var problems []error
	if set.NArg() > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q", set.Arg(0)))
	}
	switch o.controller = Controller(*controller); o.controller {
	case Builtin, Ostinato:
	default:
		problems = append(problems, fmt.Errorf("--controller: %q is none of %s, %s", *controller, Ostinato, Builtin))
	}
	if _, err := regexp.Compile(o.focus); err != nil {
		problems = append(problems, fmt.Errorf("--focus: %w", err))
	}
	if o.processes < 1 || o.timeout < time.Minute {
		problems = append(problems, errors.New("--processes must be 1 or more, --timeout 1m or more"))
	}
	return o, errors.Join(problems...)
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
