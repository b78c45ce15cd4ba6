package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/internal/command"
)

// slowLimit is the largest size the built-in controllers at default flags are measured with unless --full is given:
// at three Jobs a second, 1,000 take more than five minutes.
const slowLimit = 300

// options are what the command line asks for.
type options struct {
	// sizes replace those of each scenario; empty leaves them.
	sizes     []int
	scenarios []string
	columns   []column
	// columnNames are the names of columns.
	columnNames []string
	// baseline is the folder of the worker and bridge that a column of their own measures; empty for none.
	baseline string
	// parallelism is that of the Job in scenario indexed.
	parallelism int
	// run is how long after the first create the Pods of scenarios together and running end; 0 follows the size.
	run time.Duration
	// repeats is how often everything is measured.
	repeats int
	// window is how long to look at what happens while nothing is to be done.
	window time.Duration
	// herds is how often the CronJobs are due; the last time is measured.
	herds   int
	full    bool
	profile bool
	// profileTime bounds a CPU profile.
	profileTime time.Duration
	// lead is how long before the due time CronJobs are created; 0 follows the size.
	lead time.Duration
	// timeout bounds one scenario from its first create or due time on; 0 follows the size and the column.
	timeout time.Duration
	// quiet is how long to wait for a quiet machine before a scenario.
	quiet time.Duration
	// inMemory keeps the Temporal server's data in memory instead of SQLite files.
	inMemory bool
	// temporal is which Temporal server Ostinato runs on.
	temporal devstack.TemporalKind
	// plot is the file for the curves; empty draws none.
	plot string
	// out is the file for the Markdown form; profiles are kept beside it. Empty writes none.
	out string
	// command is how to repeat the run.
	command string
}

// newCommand returns the command that calls run with the options that its flags give. Arguments are those it is to be
// executed with, for the command to repeat the run by.
func newCommand(arguments []string, run func(ctx context.Context, o options, stdout, stderr io.Writer) error) *cobra.Command {
	o := options{command: strings.TrimSpace("go run ./dev/bench " + strings.Join(arguments, " "))}
	return command.New(&cobra.Command{
		Use:  "bench",
		Long: "bench compares Ostinato with kube-controller-manager on one API server, and prints a table.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}, command.Settings{AddFlags: o.addFlags, Validate: o.complete})
}

func (o *options) addFlags(flags *command.Flags) {
	measurement := flags.Group("Measurement")
	measurement.IntSliceVar(&o.sizes, "sizes", nil, "how many Jobs, CronJobs or Pods of the one Job, comma-separated; by default "+describeSizes())
	measurement.StringSliceVar(&o.scenarios, "scenarios", []string{scenarioJobs, scenarioCronJobs}, describeScenarios())
	measurement.StringSliceVar(&o.columnNames, "columns", columnNames(), "the controllers to measure, one after another")
	measurement.IntVar(&o.repeats, "repeats", 3, "how often to measure everything, the columns by turns; tables show the median, the least and the most")
	measurement.StringVar(&o.baseline, "baseline", "", "measure the worker and bridge in this `folder` too, before the checkout's own")
	measurement.IntVar(&o.parallelism, "parallelism", 500, "how many Pods of the Job of scenario "+scenarioIndexed+" are there at a time")
	measurement.IntVar(&o.herds, "herds", 1, "how often CronJobs are due; the last time is measured")
	measurement.BoolVar(&o.full, "full", false, fmt.Sprintf("measure the built-in controllers at default flags with more than %d too (minutes each)", slowLimit))
	measurement.BoolVar(&o.inMemory, "temporal-in-memory", false, "keep the Temporal server's data in memory instead of SQLite files")
	command.Choice(measurement, &o.temporal, "temporal", devstack.TemporalEmbedded, devstack.TemporalKinds,
		"which Temporal server Ostinato runs on, one process on SQLite or a cluster on PostgreSQL with mTLS")

	times := flags.Group("Time")
	times.DurationVar(&o.run, "run", 0, "how long after the first create the Pods of scenarios "+scenarioTogether+" and "+scenarioRunning+
		" end; 0 means 30s, --window, and 15ms or 60ms for each (default flags: 1s)")
	times.DurationVar(&o.window, "window", 2*time.Minute, "how long scenarios "+scenarioIdle+" and "+scenarioRunning+" look at what happens while nothing is to be done")
	times.DurationVar(&o.lead, "lead", 0, "create CronJobs at least so long before they are due; 0 means 30s and 60ms for each")
	times.DurationVar(&o.timeout, "timeout", 0, "the longest one scenario may take; 0 means 2m and, for each object, 100ms (default flags: 1s)")
	times.DurationVar(&o.quiet, "quiet", 2*time.Minute, "the longest to wait, before each scenario, until nothing else uses the machine")

	output := flags.Group("Output")
	output.BoolVar(&o.profile, "profile", true, "take CPU profiles of worker and Temporal while Ostinato runs the largest size")
	output.DurationVar(&o.profileTime, "profile-time", 20*time.Second, "the longest a profile may take")
	output.StringVar(&o.plot, "plot", "", "draw when Jobs were created and Complete into this `file` (SVG)")
	output.StringVar(&o.out, "out", "", "write the Markdown form to this `file`, and profiles beside it")
}

// complete puts lists in their order and returns every mistake.
func (o *options) complete() error {
	var problems []error
	slices.Sort(o.sizes)
	if o.sizes = slices.Compact(o.sizes); len(o.sizes) > 0 && o.sizes[0] < 1 {
		problems = append(problems, fmt.Errorf("--sizes: %d is not a number above 0", o.sizes[0]))
	}
	var err error
	if o.scenarios, err = inOrder(o.scenarios, scenarioNames()); err != nil {
		problems = append(problems, fmt.Errorf("--scenarios: %w", err))
	}
	if o.columnNames, err = inOrder(o.columnNames, columnNames()); err != nil {
		problems = append(problems, fmt.Errorf("--columns: %w", err))
	}
	o.columns = slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !slices.Contains(o.columnNames, c.name) })
	if o.baseline != "" {
		for _, program := range []string{"worker", "bridge"} {
			if _, err := os.Stat(filepath.Join(o.baseline, program)); err != nil {
				problems = append(problems, fmt.Errorf("--baseline: build both programs into the folder: %w", err))
			}
		}
		at := slices.IndexFunc(o.columns, func(c column) bool { return c.ostinato })
		if at < 0 {
			at = len(o.columns)
		}
		o.columns = slices.Insert(o.columns, at, baseline(o.baseline))
	}
	if o.profileTime < time.Second || o.window < time.Second || o.lead < 0 || o.timeout < 0 || o.quiet < 0 || o.run < 0 {
		problems = append(problems, errors.New("--profile-time and --window must be 1s or more, --lead, --timeout, --quiet and --run not negative"))
	}
	if o.repeats < 1 {
		problems = append(problems, errors.New("--repeats must be 1 or more"))
	}
	if o.parallelism < 1 {
		problems = append(problems, errors.New("--parallelism must be 1 or more"))
	}
	if o.herds < 1 {
		problems = append(problems, errors.New("--herds must be 1 or more"))
	}
	if o.inMemory && o.temporal == devstack.TemporalPostgres {
		problems = append(problems, errors.New("--temporal-in-memory: a cluster on PostgreSQL has its data there; leave one of the two out"))
	}
	return errors.Join(problems...)
}

// inOrder returns the names that were asked for, each once, in the order of those that are known.
func inOrder(asked, known []string) ([]string, error) {
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !slices.Contains(asked, name) }), nil
}

// sizesOf returns the sizes a column is measured with in a scenario.
func (o options) sizesOf(c column, name string) []int {
	sizes := o.sizes
	if len(sizes) == 0 {
		sizes = scenarioOf(name).sizes
	}
	if !c.slow || o.full {
		return sizes
	}
	return slices.DeleteFunc(slices.Clone(sizes), func(size int) bool { return size > slowLimit })
}

// runTime is how long after the first create the Pods of scenarios together and running end.
func (o options) runTime(scenario string, c column, size int) time.Duration {
	each := 15 * time.Millisecond
	switch {
	case o.run > 0:
		return o.run
	case scenario == scenarioTogether:
		return 30*time.Second + time.Duration(size)*each
	case c.slow:
		each = time.Second
	default:
		each = 60 * time.Millisecond
	}
	return 30*time.Second + o.window + time.Duration(size)*each
}

// patience bounds one scenario.
func (o options) patience(c column, size int) time.Duration {
	switch {
	case o.timeout > 0:
		return o.timeout
	case c.slow:
		return 2*time.Minute + time.Duration(size)*time.Second
	default:
		return 2*time.Minute + time.Duration(size)*100*time.Millisecond
	}
}

// dueTime returns the whole minute at which CronJobs created from now on are due.
func (o options) dueTime(now time.Time, size int) time.Time {
	lead := o.lead
	if lead == 0 {
		lead = 30*time.Second + time.Duration(size)*60*time.Millisecond
	}
	return now.Add(lead).Truncate(time.Minute).Add(time.Minute)
}

// dueTimes returns the times at which CronJobs created from now on are due.
func (o options) dueTimes(now time.Time, size int) []time.Time {
	due := []time.Time{o.dueTime(now, size)}
	apart := (30*time.Second + time.Duration(size)*150*time.Millisecond + time.Minute - 1).Truncate(time.Minute)
	for len(due) < o.herds {
		due = append(due, due[len(due)-1].Add(apart))
	}
	return due
}
