package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/k8s"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Execute(ctx, newCommand(), os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command's flags.
type options struct {
	compare       comparison
	count, rounds int
}

// comparison is something that can be compared.
type comparison string

const (
	compareReleases comparison = "releases"
	compareRules    comparison = "rules"
)

// comparisons make the forms of what is compared.
var comparisons = map[comparison]func(ctx context.Context, s *server) ([]form, error){
	compareReleases: releases,
	compareRules:    rules,
}

// concurrency is how many requests are under way at a time.
const concurrency = 16

func newCommand() *cobra.Command {
	var o options
	return command.New(&cobra.Command{
		Use:  "requests",
		Long: "requests compares forms of one request by the processor time of kube-apiserver.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}, command.Settings{AddFlags: o.addFlags, Validate: o.validate})
}

func (o *options) addFlags(flags *command.Flags) {
	measurement := flags.Group("Measurement")
	command.Choice(measurement, &o.compare, "compare", compareReleases, []comparison{compareReleases, compareRules},
		"what to compare, releases of an ended Pod from its finalizer or writes of a CronJob's status with and without rules in the CRD")
	measurement.IntVar(&o.count, "count", 200, "how many requests of each form in a round")
	measurement.IntVar(&o.rounds, "rounds", 5, "how many rounds")
}

func (o *options) validate() error {
	if o.count < 1 || o.rounds < 1 {
		return errors.New("--count and --rounds: set them to 1 or more")
	}
	return nil
}

// form is one form of a request.
type form struct {
	name string
	// prepare makes what the requests of a round need; it is not measured.
	prepare func(ctx context.Context, round, count int) error
	// request makes the request of a number below count.
	request func(ctx context.Context, number int) error
}

// server is an API server and its processor time.
type server struct {
	*k8s.Clients
	plane *controlplane.ControlPlane
	pid   int
}

// run measures and prints.
func run(ctx context.Context, o options, out, log io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "ostinato-requests-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binaries, err := toolchain.Ensure(ctx, log, toolchain.ControlPlane...)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		Dir: dir, Binaries: binaries, Log: log,
		// What creates of Pods need, and nothing that would touch a Pod.
		ControllerManager: controlplane.ControllerManagerOptions{Enabled: true, Controllers: "serviceaccount-controller,root-ca-certificate-publisher-controller"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	s := &server{plane: plane}
	for _, process := range plane.Processes() {
		if process.Name() == "kube-apiserver" {
			s.pid = process.PID()
		}
	}
	if s.Clients, err = k8s.NewClients(plane.RESTConfig()); err != nil {
		return err
	}
	forms, err := comparisons[o.compare](ctx, s)
	if err != nil {
		return err
	}
	costs := make([][]time.Duration, len(forms))
	for round := range o.rounds {
		for i, form := range forms {
			cost, err := s.measure(ctx, form, round, o.count)
			if err != nil {
				return fmt.Errorf("%s: %w", form.name, err)
			}
			costs[i] = append(costs[i], cost)
		}
	}
	fmt.Fprintf(out, "processor time of kube-apiserver for a request; %d rounds of %d, %d at a time\n", o.rounds, o.count, concurrency)
	for i, form := range forms {
		slices.Sort(costs[i])
		median, first := costs[i][len(costs[i])/2], costs[0][len(costs[0])/2]
		fmt.Fprintf(out, "%-36s %5.2f ms (%.2f to %.2f), %.2f of the first\n",
			form.name, milliseconds(median), milliseconds(costs[i][0]), milliseconds(costs[i][len(costs[i])-1]), float64(median)/float64(first))
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// measure returns what a request of the form costs.
func (s *server) measure(ctx context.Context, form form, round, count int) (time.Duration, error) {
	if err := form.prepare(ctx, round, count); err != nil {
		return 0, fmt.Errorf("prepare: %w", err)
	}
	before, err := s.processorTime()
	if err != nil {
		return 0, err
	}
	if err := each(ctx, count, form.request); err != nil {
		return 0, err
	}
	after, err := s.processorTime()
	return (after - before) / time.Duration(count), err
}

// processorTime is what the API server has used.
func (s *server) processorTime() (time.Duration, error) {
	process, err := procfs.NewProc(s.pid)
	if err != nil {
		return 0, fmt.Errorf("look at kube-apiserver: %w", err)
	}
	stat, err := process.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at kube-apiserver: %w", err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}

// each makes requests, concurrency at a time.
func each(ctx context.Context, count int, request func(ctx context.Context, number int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for number := range count {
		group.Go(func() error { return request(ctx, number) })
	}
	return group.Wait()
}
