package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// judge runs the suite against the controller, prints what it says, and keeps it. It leaves nothing running. An error means
// that a spec failed that should not, or that nothing could be found out; then the logs stay, unless it was interrupted.
func judge(ctx context.Context, o options, stdout, log io.Writer) (err error) {
	if possible, missing := node.CanRunReal(); !possible {
		return fmt.Errorf("%s; the suite runs containers, so simulated Pods (NODE=kwok) can't stand in", missing)
	}
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return err
	}
	docs := filepath.Join(root, "docs")
	kept, err := loadColumns(docs)
	if err != nil {
		return err
	}
	p, err := prepare(ctx, o.controller, log)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ostinato-conformance-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() {
		if err == nil || ctx.Err() != nil {
			err = errors.Join(err, os.RemoveAll(dir))
			return
		}
		err = fmt.Errorf("%w\nlogs are in %s", errors.Join(err, removeState(dir)), dir)
	}()
	run, err := observe(ctx, o, p, dir, log)
	if len(run.Specs) > 0 {
		printRun(stdout, run)
	}
	if err != nil {
		return err
	}
	if !o.isPartial() {
		if err := keep(docs, run); err != nil {
			return err
		}
		fmt.Fprintln(stdout, "written: docs/conformance.md")
	}
	if failures := verdict(run, kept.builtin); len(failures) > 0 {
		return fmt.Errorf("failed, and must not (%d):\n  %s", len(failures), strings.Join(failures, "\n  "))
	}
	return nil
}

// observe runs the suite on a cluster of its own, which is gone when it returns.
func observe(ctx context.Context, o options, p programs, dir string, log io.Writer) (run Run, err error) {
	c, err := startCluster(ctx, dir, o.controller, p, log)
	if err != nil {
		return Run{}, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	gates, err := readGates(ctx, c.plane.RESTConfig())
	if err != nil {
		return Run{}, err
	}
	started := time.Now()
	report, err := runSuite(ctx, o, p, c, filepath.Join(dir, "suite"), log)
	if err != nil {
		return Run{}, err
	}
	run = Run{
		Controller: o.controller, Date: started.Format(time.DateOnly), Seconds: time.Since(started).Round(time.Second).Seconds(),
		Processes: o.processes, Command: o.command(), Machine: describeMachine(), Versions: versions(ctx, o.controller, p),
	}
	run.Specs, err = parseReport(report, gates)
	return run, err
}

// printRun prints what the suite says, specs that did not pass with the reason.
func printRun(out io.Writer, run Run) {
	for _, spec := range run.Specs {
		fmt.Fprintf(out, "%-14s %6.1f s  %s\n", spec.Outcome, spec.Seconds, spec.Name)
		if spec.Reason != "" {
			fmt.Fprintf(out, "%26s%s\n", "", spec.Reason)
		}
	}
	fmt.Fprintf(out, "%s: %s, in %s\n", run.Controller.title(), summary(run), seconds(run.Seconds))
}

// removeState keeps of a failed run's folder what a person reads, and not gigabytes of images and databases.
func removeState(dir string) error {
	var failures []error
	for _, state := range []string{"kubernetes/etcd", "node/run", "node/tmp", "node/var-lib", "ostinato/temporal"} {
		failures = append(failures, os.RemoveAll(filepath.Join(dir, state)))
	}
	return errors.Join(failures...)
}
