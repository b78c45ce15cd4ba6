package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Execute(ctx, newCommand(os.Args[1:], measure), os.Args[1:], os.Stdout, os.Stderr))
}

// measure works in a folder of its own, prints what was measured even when it was cut short, and leaves nothing running.
// The folder stays when something failed.
func measure(ctx context.Context, o options, out, log io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "ostinato-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
			return
		}
		err = fmt.Errorf("%w\nlogs are in %s", err, dir)
	}()
	if o.plot != "" {
		// Now, not after hours.
		if _, err := toolchain.Ensure(ctx, log, toolchain.Drawing...); err != nil {
			return err
		}
	}
	c, err := startCluster(ctx, dir, log)
	if err != nil {
		return err
	}
	b := &bench{options: o, cluster: c, log: log}
	r := report{date: time.Now(), machine: describeMachine(), options: o}
	measureErr := b.runTrials(ctx)
	r.results, r.versions = b.results, b.versions
	err = errors.Join(measureErr, c.stop())
	if len(r.results) > 0 {
		r.writeText(out)
		err = errors.Join(err, r.keep(o.out), r.draw(context.WithoutCancel(ctx), o.plot, log))
	}
	return err
}

// draw writes the curves to the file.
func (r report) draw(ctx context.Context, path string, log io.Writer) error {
	d := r.drawing()
	if path == "" || len(d.Panels) == 0 {
		return nil
	}
	return d.draw(ctx, path, log)
}

// keep writes the Markdown form to the file and copies profiles beside it.
func (r report) keep(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	r.writeMarkdown(file)
	if err := file.Close(); err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	for _, m := range r.results {
		for _, p := range m.profiles {
			data, err := os.ReadFile(p.file)
			if err == nil {
				err = os.WriteFile(stem+"-"+filepath.Base(p.file), data, 0o644)
			}
			if err != nil {
				return fmt.Errorf("keep the profile of %s: %w", p.process, err)
			}
		}
	}
	return nil
}
