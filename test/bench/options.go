package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
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
	// parallelism is that of the Job in scenario indexed.
	parallelism int
	// run is how long after the create of the Job the Pods of scenario together end; 0 follows the size.
	run     time.Duration
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
	// out is the file for the Markdown form; profiles are kept beside it. Empty writes none.
	out string
	// command is how to repeat the run.
	command string
}

// parseOptions reads the arguments (without the program's name). Usage goes to output.
func parseOptions(arguments []string, output io.Writer) (options, error) {
	o := options{command: strings.TrimSpace("go run ./test/bench " + strings.Join(arguments, " "))}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(output)
	sizes := set.String("sizes", "", "how many Jobs, CronJobs or Pods of the one Job, comma-separated; by default "+describeSizes())
	scenarioList := set.String("scenarios", scenarioJobs+","+scenarioCronJobs, describeScenarios())
	names := set.String("columns", columnNames(), "the controllers to measure, one after another")
	set.IntVar(&o.parallelism, "parallelism", 500, "how many Pods of the Job of scenario "+scenarioIndexed+" are there at a time")
	set.DurationVar(&o.run, "run", 0, "how long after the create of the Job the Pods of scenario "+scenarioTogether+" end; 0 means 30s and 15ms for each")
	set.BoolVar(&o.full, "full", false, fmt.Sprintf("measure the built-in controllers at default flags with more than %d too (minutes each)", slowLimit))
	set.BoolVar(&o.profile, "profile", true, "take CPU profiles of worker and Temporal while Ostinato runs the largest size")
	set.DurationVar(&o.profileTime, "profile-time", 20*time.Second, "the longest a profile may take")
	set.DurationVar(&o.lead, "lead", 0, "create CronJobs at least so long before they are due; 0 means 30s and 60ms for each")
	set.DurationVar(&o.timeout, "timeout", 0, "the longest one scenario may take; 0 means 2m and, for each object, 100ms (default flags: 1s)")
	set.DurationVar(&o.quiet, "quiet", 2*time.Minute, "the longest to wait, before each scenario, until nothing else uses the machine")
	set.BoolVar(&o.inMemory, "temporal-in-memory", false, "keep the Temporal server's data in memory instead of SQLite files")
	set.StringVar(&o.out, "out", "", "write the Markdown form to this file, and profiles beside it")
	if err := set.Parse(arguments); err != nil {
		return options{}, err
	}
	var problems []error
	if set.NArg() > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q", set.Arg(0)))
	}
	var err error
	if o.sizes, err = parseSizes(*sizes); err != nil {
		problems = append(problems, err)
	}
	if o.scenarios, err = parseNames(*scenarioList, scenarioNames()); err != nil {
		problems = append(problems, fmt.Errorf("--scenarios: %w", err))
	}
	if o.columns, err = parseColumns(*names); err != nil {
		problems = append(problems, fmt.Errorf("--columns: %w", err))
	}
	if o.profileTime < time.Second || o.lead < 0 || o.timeout < 0 || o.quiet < 0 || o.run < 0 {
		problems = append(problems, errors.New("--profile-time must be 1s or more, --lead, --timeout, --quiet and --run not negative"))
	}
	if o.parallelism < 1 {
		problems = append(problems, errors.New("--parallelism must be 1 or more"))
	}
	return o, errors.Join(problems...)
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	if text == "" {
		return nil, nil
	}
	for field := range strings.SplitSeq(text, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || size < 1 {
			return nil, fmt.Errorf("--sizes: %q is not a number above 0", field)
		}
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), nil
}

// parseNames reads a comma-separated list whose members must be known; the order is that of known.
func parseNames(text string, known []string) ([]string, error) {
	asked := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		name := strings.TrimSpace(field)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(known, ", "))
		}
		asked[name] = true
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !asked[name] }), nil
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

// runTime is how long after the create of the Job the Pods of scenario together end.
func (o options) runTime(size int) time.Duration {
	if o.run > 0 {
		return o.run
	}
	return 30*time.Second + time.Duration(size)*15*time.Millisecond
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
